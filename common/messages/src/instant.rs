//! The form of times in answers, webhooks and notifications: ISO 8601 in UTC, with milliseconds.

use chrono::{DateTime, SecondsFormat, Utc};
use serde::{Serialize, Serializer};

pub fn instant(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::Millis, true)
}

/// [`instant`], for `#[serde(serialize_with)]`.
pub fn as_instant<S: Serializer>(at: &DateTime<Utc>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&instant(*at))
}

/// [`instant`] or null.
pub fn as_instant_if_any<S: Serializer>(
    at: &Option<DateTime<Utc>>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    at.map(instant).serialize(serializer)
}
