//! `processor_event.needs_review`.

use chrono::{DateTime, Utc};
use serde::Serialize;

use super::example_time;
use crate::instant::as_instant;

/// An event of a payment processor that nothing follows from until a person has looked at it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ProcessorEventNeedsReview {
    pub program_id: i64,
    /// As the processor names it.
    pub processor_event_id: String,
    /// The processor's type of it.
    pub kind: String,
    /// `review`: it may change money, and the service decides nothing about it. `stuck`: it cannot be handled.
    pub state: String,
    pub reason: Option<String>,
    /// When the processor sent it.
    #[serde(serialize_with = "as_instant")]
    pub received_at: DateTime<Utc>,
}

impl ProcessorEventNeedsReview {
    pub fn example(program_id: i64) -> Self {
        Self {
            program_id,
            processor_event_id: "evt_1Qx".to_owned(),
            kind: "charge.refunded".to_owned(),
            state: "stuck".to_owned(),
            reason: Some("currency_differs".to_owned()),
            received_at: example_time(),
        }
    }
}
