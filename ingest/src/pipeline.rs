//! The edge's way into the pipeline and back: find a place, publish a record, wait for its outcome.

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

use crate::claims::{ClaimError, ClaimRequest, Claimed, Claims};
use crate::error::ApiError;
use crate::waiting::Places;

/// Everything a route needs of the bus.
#[derive(Debug, Clone)]
pub struct Pipeline {
    pub clicks: Lane,
    pub leads: Lane,
    pub refunds: Lane,
    pub test_events: Lane,
    pub test_chains: Lane,
    /// Sales are claimed before they are published.
    pub claims: Claims,
    pub sales: Places,
    pub inbox: ReplyInbox,
    /// How long a caller waits for the outcome before it is told that it is unknown.
    pub answer_within: Duration,
}

/// A noun's publisher, and the places of those who wait for it.
#[derive(Debug, Clone)]
pub struct Lane {
    pub publisher: Publisher,
    pub places: Places,
}

/// Encodes a record once; every later hop only concatenates it.
pub fn encode(record: &impl Serialize, failed: &'static str) -> Result<Box<RawValue>, ApiError> {
    to_raw_value(record)
        .map(trace::attach)
        .map_err(|error| ApiError::internal(failed, error))
}

/// A tracking route's noun, whose places its callers wait in. Those in test mode have others, but are turned away with
/// the rest: which they are is not known before they are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Noun {
    Click,
    Lead,
    Sale,
    Refund,
}

impl Pipeline {
    pub const fn places(&self, noun: Noun) -> &Places {
        match noun {
            Noun::Click => &self.clicks.places,
            Noun::Lead => &self.leads.places,
            Noun::Sale => &self.sales,
            Noun::Refund => &self.refunds.places,
        }
    }

    /// Shows how many wait for what.
    pub fn show(&self, sources: Sources) -> Sources {
        let lanes = [
            &self.clicks,
            &self.leads,
            &self.refunds,
            &self.test_events,
            &self.test_chains,
        ];
        let places = lanes.into_iter().map(|lane| &lane.places);
        places.fold(self.sales.show(sources), |sources, places| places.show(sources))
    }

    /// Publishes a record that has no outcome.
    pub async fn tell(
        &self,
        lane: &Lane,
        record: Box<RawValue>,
        failed: &'static str,
    ) -> Result<(), ApiError> {
        let _place = lane.places.take()?;
        publish(lane, record, Instant::now() + self.answer_within, failed).await
    }

    /// Publishes a record and waits for what a worker makes of it.
    pub async fn ask<O: DeserializeOwned>(
        &self,
        lane: &Lane,
        event_id: EventId,
        record: Box<RawValue>,
        failed: &'static str,
    ) -> Result<O, ApiError> {
        let _place = lane.places.take()?;
        let deadline = Instant::now() + self.answer_within;
        // Before publishing: the outcome may be faster than the acknowledgement.
        let waiter = self.inbox.expect(event_id.get());
        publish(lane, record, deadline, failed).await?;
        outcome(&lane.places, waiter, deadline, failed).await
    }

    /// Claims a sale and waits for its outcome; `None` when its transaction_id is taken.
    pub async fn sell<O: DeserializeOwned>(
        &self,
        sale: ClaimRequest,
        failed: &'static str,
    ) -> Result<Option<O>, ApiError> {
        let _place = self.sales.take()?;
        let deadline = Instant::now() + self.answer_within;
        // Before claiming: the outcome may be faster than the answer to the claim.
        let waiter = self.inbox.expect(sale.claim.event_id.get());
        let claiming = trace::child_span("claim");
        let claimed = timeout_at(deadline, self.claims.claim(sale))
            .await
            .map_err(|_| too_late(&self.sales, failed))?;
        drop(claiming);
        match claimed.map_err(|error| not_claimed(error, failed))? {
            Claimed::Won => outcome(&self.sales, waiter, deadline, failed).await.map(Some),
            Claimed::Taken => Ok(None),
        }
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
        .map_err(|_| too_late(&lane.places, failed))?
        .map_err(|error| not_published(error, failed))
}

/// Waits for an outcome. Without one the work goes on and the caller is told that the answer is unknown.
async fn outcome<O: DeserializeOwned>(
    places: &Places,
    waiter: Waiter,
    deadline: Instant,
    failed: &'static str,
) -> Result<O, ApiError> {
    let _waiting = trace::child_span("outcome");
    let left = deadline.saturating_duration_since(Instant::now());
    let raw = waiter.wait(left).await.ok_or_else(|| too_late(places, failed))?;
    crash_point("ingest.before_answer");
    serde_json::from_str(raw.get()).map_err(|error| ApiError::internal(failed, error))
}

fn too_late(places: &Places, failed: &'static str) -> ApiError {
    places.leave_unanswered();
    ApiError::internal(failed, anyhow::anyhow!("no outcome before the deadline"))
}

/// Nothing was accepted when a queue was full; otherwise it is unknown.
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
