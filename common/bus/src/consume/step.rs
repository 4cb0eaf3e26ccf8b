//! The interface between the loop and a worker step.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use chrono::{DateTime, Utc};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use uuid::Uuid;

use crate::reply::Reply;
use messages::subject::Subject;

/// One record as a step sees it.
#[derive(Debug, Clone)]
pub struct Delivered<R> {
    pub record: R,
    /// The reply inbox that waits for the outcome, if any.
    pub reply_to: Option<Arc<str>>,
    /// Number of deliveries of the record's message, including this one.
    pub deliveries: u32,
    /// When the message was stored in the stream, by the server's clock.
    pub stored_at: DateTime<Utc>,
    /// A step has postponed the record since this delivery.
    pub postponed: bool,
}

/// A step's result for one record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Settled, whatever its outcome.
    Done,
    /// Not possible yet: the record is offered again in a later batch. The step decides when it stops
    /// waiting.
    Later,
}

/// A committed batch.
#[derive(Debug, Default)]
pub struct Processed {
    /// One verdict per record, in the order of the records.
    pub verdicts: Vec<Verdict>,
    /// Replies, also to callers of records that are not in this batch.
    pub replies: Vec<Reply>,
}

/// Why no record of a batch was committed. The step chooses the kind, because it knows the cause.
#[derive(Debug, thiserror::Error)]
pub enum StepError {
    /// The store is down: no record can be settled for now.
    #[error("transient: {0:#}")]
    Transient(anyhow::Error),
    /// The store works, but something blocks one of the records: a lock, a key, a timeout. The other records
    /// may be settled without it.
    #[error("blocked: {0:#}")]
    Blocked(anyhow::Error),
    /// At least one of the records can never succeed.
    #[error("permanent: {0:#}")]
    Permanent(anyhow::Error),
}

impl StepError {
    /// The metric label.
    pub(super) const fn kind(&self) -> &'static str {
        match self {
            Self::Transient(_) => "transient",
            Self::Blocked(_) => "blocked",
            Self::Permanent(_) => "permanent",
        }
    }
}

/// A record or a whole message that can never be processed as it is.
#[derive(Debug, Clone)]
pub struct DeadLetter {
    /// The NATS subject of its message.
    pub subject: String,
    /// The record's JSON, or the raw message if it could not be split into records.
    pub payload: Bytes,
    pub event_id: Option<Uuid>,
    pub reason: String,
    pub deliveries: u32,
}

impl DeadLetter {
    pub(super) fn record(subject: &str, raw: &RawValue, reason: String, deliveries: u32) -> Self {
        #[derive(Deserialize)]
        struct Identified {
            event_id: Uuid,
        }
        let event_id = serde_json::from_str::<Identified>(raw.get())
            .ok()
            .map(|record| record.event_id);
        let payload = Bytes::copy_from_slice(raw.get().as_bytes());
        Self {
            subject: subject.to_owned(),
            payload,
            event_id,
            reason,
            deliveries,
        }
    }
}

/// A worker step: takes records of one noun, and yields rows and outcomes.
pub trait Step: Send + Sync + 'static {
    type Record: DeserializeOwned + Clone + Send + Sync + 'static;
    const SUBJECT: Subject;

    /// Minimum interval between the starts of two batches while few records arrive, for steps whose callers
    /// do not wait: a batch costs the same for one record as for many.
    const PACE: Duration = Duration::ZERO;

    /// Settles the whole batch in one transaction: committed when this returns `Ok`, rolled back otherwise.
    /// Must be idempotent: any record may have been settled before.
    fn run(
        &self,
        batch: &[Delivered<Self::Record>],
    ) -> impl Future<Output = Result<Processed, StepError>> + Send;

    /// Stores a dead letter, in a transaction of its own.
    fn dead_letter(&self, letter: DeadLetter) -> impl Future<Output = Result<(), StepError>> + Send;
}
