//! `dateFrom` and `dateTo` of a query: ISO 8601, a day or an instant.

use chrono::{DateTime, Utc};
use domain::reports::days::Moment;

use crate::http::query::Query;
use crate::management::prelude::*;

const RULE: &str = "must be an ISO 8601 date of the years 1970 to 9999";

pub const REVERSED: ApiError = ApiError::refusal("dateFrom must not be after dateTo");
pub const FROM_AFTER_TO: ApiError = ApiError::refusal("from must not be after to");

pub fn date_from(query: &Query) -> Result<Option<Moment>, ApiError> {
    query.parsed("dateFrom", RULE, Moment::parse)
}

pub fn date_to(query: &Query) -> Result<Option<Moment>, ApiError> {
    query.parsed("dateTo", RULE, Moment::parse)
}

/// `from` is inclusive, `until` is exclusive. An absent date sets no bound.
#[derive(Debug, Clone, Copy)]
pub struct Span {
    pub from: DateTime<Utc>,
    pub until: DateTime<Utc>,
}

impl Span {
    /// Both dates are inclusive, and each may be absent.
    pub fn of(query: &Query) -> Result<Self, ApiError> {
        Self::between(date_from(query)?, date_to(query)?, REVERSED)
    }

    pub fn whole() -> Self {
        Self {
            from: DateTime::UNIX_EPOCH,
            until: latest(),
        }
    }

    /// Like [`Self::of`], for the names `from` and `to`.
    pub fn from_to(query: &Query) -> Result<Self, ApiError> {
        let moment = |name| query.parsed(name, RULE, Moment::parse);
        Self::between(moment("from")?, moment("to")?, FROM_AFTER_TO)
    }

    fn between(from: Option<Moment>, to: Option<Moment>, reversed: ApiError) -> Result<Self, ApiError> {
        if let (Some(from), Some(to)) = (from, to)
            && from.start() >= to.end()
        {
            return Err(reversed);
        }
        Ok(Self {
            from: from.map_or(DateTime::UNIX_EPOCH, Moment::start),
            until: to.map_or_else(latest, Moment::end),
        })
    }
}

/// Later than every event.
fn latest() -> DateTime<Utc> {
    Moment::parse("9999-12-31").map_or(DateTime::UNIX_EPOCH, Moment::end)
}
