//! The edge's way through the pipeline: acquire a permit, publish a record, wait for its outcome.

use std::time::Duration;

use bus::publish::{PublishError, Publisher};
use bus::reply::{ReplyInbox, Waiter};
use domain::ids::EventId;
use runtime::crash_point::crash_point;
use runtime::metrics::serve::Sources;
use runtime::trace;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::{RawValue, to_raw_value};
use tokio::time::{Instant, timeout_at};

use crate::http::error::ApiError;
use crate::tracking::claims::{ClaimError, ClaimRequest, Claims};
use crate::tracking::concurrency_limit::{ConcurrencyLimit, Share};

/// The parts of the bus that routes use.
#[derive(Debug, Clone)]
pub struct Pipeline {
    pub clicks: Lane,
    pub leads: Lane,
    pub refunds: Lane,
    pub test_events: Lane,
    pub test_chains: Lane,
    /// Sales are claimed before they are published.
    pub claims: Claims,
    pub sales: ConcurrencyLimit,
    pub inbox: ReplyInbox,
    /// How long a caller waits for the outcome. After that, the answer says that the outcome is unknown.
    pub answer_within: Duration,
}

/// A noun's publisher, and the limit of callers that wait for its outcomes.
#[derive(Debug, Clone)]
pub struct Lane {
    pub publisher: Publisher,
    pub limit: ConcurrencyLimit,
}

/// Encodes a record once; every later hop only concatenates it.
pub fn encode(record: &impl Serialize, failed: &'static str) -> Result<Box<RawValue>, ApiError> {
    to_raw_value(record)
        .map(trace::attach)
        .map_err(|error| ApiError::internal(failed, error))
}

/// The kind of a tracking request. Requests in test mode wait under a limit of their own, but the general limit
/// can refuse them first, because test mode is not known before the body is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Noun {
    Click,
    Lead,
    Sale,
    Refund,
}

impl Pipeline {
    pub const fn limit(&self, noun: Noun) -> &ConcurrencyLimit {
        match noun {
            Noun::Click => &self.clicks.limit,
            Noun::Lead => &self.leads.limit,
            Noun::Sale => &self.sales,
            Noun::Refund => &self.refunds.limit,
        }
    }

    pub fn show(&self, sources: Sources) -> Sources {
        let lanes = [
            &self.clicks,
            &self.leads,
            &self.refunds,
            &self.test_events,
            &self.test_chains,
        ];
        let limits = lanes.into_iter().map(|lane| &lane.limit);
        limits.fold(self.sales.show(sources), |sources, limit| limit.show(sources))
    }

    pub async fn publish(
        &self,
        lane: &Lane,
        share: Share,
        record: &(impl Serialize + Sync),
        failed: &'static str,
    ) -> Result<(), ApiError> {
        let record = encode(record, failed)?;
        let deadline = Instant::now() + self.answer_within;
        let _permit = lane.limit.acquire(share).await?;
        publish(lane, record, deadline, failed).await
    }

    pub async fn publish_and_await<O: DeserializeOwned>(
        &self,
        lane: &Lane,
        share: Share,
        event_id: EventId,
        record: &(impl Serialize + Sync),
        failed: &'static str,
    ) -> Result<O, ApiError> {
        let record = encode(record, failed)?;
        let deadline = Instant::now() + self.answer_within;
        let _permit = lane.limit.acquire(share).await?;
        // Registered before publishing, because the outcome may arrive before the acknowledgement.
        let waiter = self.inbox.expect(event_id.get());
        publish(lane, record, deadline, failed).await?;
        outcome(&lane.limit, waiter, deadline, failed).await
    }

    /// Claims a sale and waits for its outcome; `None` if its transaction_id is taken.
    pub async fn claim_and_await<O: DeserializeOwned>(
        &self,
        sale: ClaimRequest,
        failed: &'static str,
    ) -> Result<Option<O>, ApiError> {
        let deadline = Instant::now() + self.answer_within;
        let _permit = self.sales.acquire(Some(sale.claim.program_id)).await?;
        // Registered before claiming, because the outcome may arrive before the answer to the claim.
        let waiter = self.inbox.expect(sale.claim.event_id.get());
        let claiming = trace::child_span("claim");
        let claimed = timeout_at(deadline, self.claims.claim(sale))
            .await
            .map_err(|_| too_late(&self.sales, failed))?;
        drop(claiming);
        if !claimed.map_err(|error| not_claimed(error, failed))? {
            return Ok(None);
        }
        outcome(&self.sales, waiter, deadline, failed).await.map(Some)
    }
}

async fn publish(
    lane: &Lane,
    record: Box<RawValue>,
    deadline: Instant,
    failed: &'static str,
) -> Result<(), ApiError> {
    let _publishing = trace::child_span("publish");
    timeout_at(deadline, lane.publisher.publish(record))
        .await
        .map_err(|_| too_late(&lane.limit, failed))?
        .map_err(|error| not_published(error, failed))
}

/// Waits for an outcome. After the deadline the work goes on, and the caller gets an unknown outcome.
async fn outcome<O: DeserializeOwned>(
    limit: &ConcurrencyLimit,
    waiter: Waiter,
    deadline: Instant,
    failed: &'static str,
) -> Result<O, ApiError> {
    let _waiting = trace::child_span("outcome");
    let left = deadline.saturating_duration_since(Instant::now());
    let raw = waiter.wait(left).await.ok_or_else(|| too_late(limit, failed))?;
    crash_point("ingest.before_answer");
    serde_json::from_str(raw.get()).map_err(|error| ApiError::internal(failed, error))
}

fn too_late(limit: &ConcurrencyLimit, failed: &'static str) -> ApiError {
    limit.count_unanswered();
    ApiError::internal(failed, anyhow::anyhow!("no outcome before the deadline"))
}

/// A full queue accepted nothing; after any other error the outcome is unknown.
fn not_published(error: PublishError, failed: &'static str) -> ApiError {
    match error {
        PublishError::Overloaded => ApiError::Overloaded,
        error => ApiError::internal(failed, error),
    }
}

fn not_claimed(error: ClaimError, failed: &'static str) -> ApiError {
    if error.is_overload() {
        ApiError::Overloaded
    } else {
        ApiError::internal(failed, error)
    }
}
