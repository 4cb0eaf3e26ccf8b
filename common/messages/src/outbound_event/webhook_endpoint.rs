//! `endpoint.disabled`.

use chrono::{DateTime, Utc};
use serde::Serialize;

use super::example_time;
use crate::instant::as_instant_if_any;

/// A webhook endpoint that is sent nothing any more. The program's other endpoints learn of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct EndpointDisabled {
    pub program_id: i64,
    pub endpoint_id: i64,
    pub url: String,
    /// `gone`: it answered 410. `failing`: all deliveries failed for five days. `by_hand`: by the advertiser or an operator.
    pub reason: String,
    /// The first failure since the last success.
    #[serde(serialize_with = "as_instant_if_any")]
    pub failing_since: Option<DateTime<Utc>>,
}

impl EndpointDisabled {
    pub fn example(program_id: i64) -> Self {
        Self {
            program_id,
            endpoint_id: 9,
            url: "https://shop.example/hooks".to_owned(),
            reason: "failing".to_owned(),
            failing_since: Some(example_time()),
        }
    }
}
