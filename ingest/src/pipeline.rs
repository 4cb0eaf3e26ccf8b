//! The edge's way into the pipeline and back: publish a record, wait for its outcome.

use std::time::Duration;

use common::bus::publish::{PublishError, Publisher};
use common::bus::reply::{ReplyInbox, Waiter};
use common::domain::ids::EventId;
use common::runtime::batch::SubmitError;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::{RawValue, to_raw_value};
use tokio::time::Instant;

use crate::claims::{ClaimError, Claims};
use crate::error::ApiError;

/// Everything a route needs of the bus.
#[derive(Debug, Clone)]
pub struct Pipeline {
    pub clicks: Publisher,
    pub leads: Publisher,
    pub refunds: Publisher,
    pub test_events: Publisher,
    /// Sales are claimed before they are published.
    pub claims: Claims,
    pub inbox: ReplyInbox,
    /// How long a caller waits for the outcome before it is told that it is unknown.
    pub answer_within: Duration,
}

/// Encodes a record once; every later hop only concatenates it.
pub fn encode(record: &impl Serialize, failed: &'static str) -> Result<Box<RawValue>, ApiError> {
    to_raw_value(record).map_err(|error| ApiError::internal(failed, error))
}

impl Pipeline {
    /// Publishes a record and waits for what a worker makes of it.
    pub async fn ask<O: DeserializeOwned>(
        &self,
        publisher: &Publisher,
        event_id: EventId,
        record: Box<RawValue>,
        failed: &'static str,
    ) -> Result<O, ApiError> {
        let deadline = Instant::now() + self.answer_within;
        // Before publishing: the outcome may be faster than the acknowledgement.
        let waiter = self.inbox.expect(event_id.get());
        publisher
            .publish(record)
            .await
            .map_err(|error| not_published(error, failed))?;
        outcome(waiter, deadline, failed).await
    }
}

/// Waits for an outcome. Without one the work goes on and the caller is told that the answer is unknown.
pub async fn outcome<O: DeserializeOwned>(
    waiter: Waiter,
    deadline: Instant,
    failed: &'static str,
) -> Result<O, ApiError> {
    let left = deadline.saturating_duration_since(Instant::now());
    let raw = waiter
        .wait(left)
        .await
        .ok_or_else(|| ApiError::internal(failed, anyhow::anyhow!("no outcome before the deadline")))?;
    serde_json::from_str(raw.get()).map_err(|error| ApiError::internal(failed, error))
}

/// Nothing was accepted when a queue was full; otherwise it is unknown.
pub fn not_published(error: PublishError, failed: &'static str) -> ApiError {
    match error {
        PublishError::Overloaded => ApiError::Overloaded,
        error => ApiError::internal(failed, error),
    }
}

pub fn not_claimed(error: ClaimError, failed: &'static str) -> ApiError {
    match error {
        ClaimError::Submit(SubmitError::Overloaded) => ApiError::Overloaded,
        error => ApiError::internal(failed, error),
    }
}
