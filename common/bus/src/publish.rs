//! Publishing: records in, packed messages out.
//!
//! Phases: a record queues ([`Batcher`]); a message is packed from all queued records; the message is
//! published and its JetStream acknowledgement awaited; every record in it gets that answer. A publish
//! without an answer is repeated under the same `Nats-Msg-Id`, so that the stream stores it once.
//!
//! Bounds: [`MAX_RECORDS`] and [`MAX_MESSAGE_BYTES`] a message, [`IN_FLIGHT`] messages, [`QUEUE`] waiting
//! records, and [`PATIENCE`] until the caller gets an error. An error other than a refusal means *unknown*:
//! the record may still be stored.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_nats::jetstream::Context;
use async_nats::jetstream::context::PublishError as NatsError;
use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::{Error as JetStreamError, ErrorCode};
use bytes::Bytes;
use futures::future::{BoxFuture, try_join_all};
use serde_json::value::RawValue;
use tokio::time::timeout;
use tokio_util::task::TaskTracker;

use super::topology::Topology;
use messages::envelope;
use messages::subject::Subject;
use runtime::batch::{Batcher, Bounds, SubmitError};
use runtime::metrics::PUBLISH_FAILURES;
use runtime::retry::{RetryPolicy, retry};

/// With this many records, the fsync of a message costs each record little.
pub const MAX_RECORDS: usize = 256;

/// Half of the server's default `max_payload`.
pub const MAX_MESSAGE_BYTES: usize = 512 * 1024;

/// Largest record that fits in a message of its own.
pub const MAX_RECORD_BYTES: usize = 900 * 1024;

const QUEUE: usize = 16_384;

/// One message is being stored while the next one is on its way.
const IN_FLIGHT: usize = 2;

/// An acknowledgement normally takes milliseconds, so a lost one is soon repeated.
const ATTEMPT: Duration = Duration::from_millis(800);

/// Covers the time from the first attempt to the error.
const PATIENCE: RetryPolicy = RetryPolicy {
    first_delay: Duration::from_millis(25),
    max_delay: Duration::from_millis(250),
    max_attempts: 5,
    max_elapsed: Some(Duration::from_secs(2)),
};

/// Why a record may not be stored.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PublishError {
    /// Too many records wait in this process. Nothing was sent.
    #[error("publish queue is full")]
    Overloaded,
    /// No acknowledgement arrived in time. The record may be stored or not.
    #[error("publish was not acknowledged: {0}")]
    Unacknowledged(Arc<str>),
    /// The stream refused the message for lack of space. Nothing was stored.
    #[error("stream is full: {0}")]
    Full(Arc<str>),
    /// The record exceeds the size of a message. Nothing was sent.
    #[error("a record of {bytes} bytes does not fit in a message")]
    TooLarge { bytes: usize },
    /// The publisher ended before it answered.
    #[error("publisher has ended")]
    Closed,
}

impl PublishError {
    fn is_transient(&self) -> bool {
        matches!(self, Self::Unacknowledged(_))
    }

    /// The metric label.
    const fn reason(&self) -> &'static str {
        match self {
            Self::Full(_) => "full",
            Self::Unacknowledged(_) => "unacknowledged",
            Self::Overloaded | Self::TooLarge { .. } | Self::Closed => "other",
        }
    }
}

/// Publishes the records of one [`Subject`]. Clones share one queue.
#[derive(Debug, Clone)]
pub struct Publisher {
    batcher: Batcher<Box<RawValue>, Result<(), PublishError>>,
    route: Arc<Route>,
}

#[derive(Debug)]
struct Route {
    jetstream: Context,
    subject: String,
    noun: &'static str,
    /// Makes this publisher's message ids distinct from all others.
    origin: u64,
    messages: AtomicU64,
}

impl Publisher {
    /// Starts a publisher on `tasks`. It ends when its last clone is dropped. Outcomes go to `reply_to`, if
    /// callers wait for them.
    pub fn spawn(
        tasks: &TaskTracker,
        jetstream: Context,
        topology: &Topology,
        subject: Subject,
        reply_to: Option<String>,
    ) -> Self {
        let route = Arc::new(Route {
            jetstream,
            subject: topology.subject(subject),
            noun: subject.noun(),
            origin: rand::random(),
            messages: AtomicU64::new(0),
        });
        let bounds = Bounds {
            name: subject.noun(),
            queue: QUEUE,
            max_records: MAX_RECORDS,
            max_weight: MAX_MESSAGE_BYTES,
            in_flight: IN_FLIGHT,
            pace: Duration::ZERO,
        };
        let lane = Arc::clone(&route);
        let batcher = Batcher::<Box<RawValue>, _>::spawn(
            tasks,
            bounds,
            |record| weigh(record),
            move |records: Vec<Box<RawValue>>| {
                let payload = envelope::encode(reply_to.as_deref(), &records);
                let lane = Arc::clone(&lane);
                async move { vec![lane.store(payload).await; records.len()] }
            },
        );
        Self { batcher, route }
    }

    /// Returns `Ok` once JetStream has acknowledged the message that holds `record`. Dropping the future does
    /// not withdraw the record.
    pub async fn publish(&self, record: Box<RawValue>) -> Result<(), PublishError> {
        fits(&record)?;
        self.batcher.submit(record).await.map_err(|error| match error {
            SubmitError::Overloaded => PublishError::Overloaded,
            SubmitError::Closed => PublishError::Closed,
        })?
    }

    /// Publishes records that arrived together, packed with other waiting records. After an error some may be
    /// stored.
    pub async fn publish_all(&self, records: Vec<Box<RawValue>>) -> Result<(), PublishError> {
        try_join_all(records.into_iter().map(|record| self.publish(record))).await?;
        Ok(())
    }

    /// Publishes records that already form a batch, in as few messages as the bounds allow. Bypasses the
    /// queue. After an error, the messages before the failed one are stored.
    pub async fn publish_packed(
        &self,
        records: &[Box<RawValue>],
        reply_to: Option<&str>,
    ) -> Result<(), PublishError> {
        records.iter().try_for_each(|record| fits(record))?;
        for message in pack(records) {
            self.route.store(envelope::encode(reply_to, message)).await?;
        }
        Ok(())
    }

    /// Publishes an original message that could not be split into records. Bypasses the queue.
    pub async fn publish_message(&self, payload: Bytes) -> Result<(), PublishError> {
        if payload.len() > MAX_RECORD_BYTES {
            return Err(PublishError::TooLarge { bytes: payload.len() });
        }
        self.route.store(payload).await
    }

    /// Publishes a message without records, to prove that the stream stores and acknowledges. Workers
    /// acknowledge it and do nothing. Bypasses the queue.
    pub async fn probe(&self) -> Result<(), PublishError> {
        self.route.store(envelope::encode(None, &[])).await
    }

    /// Returns a readiness check that publishes a [`probe`](Self::probe) and reports whether it was
    /// acknowledged.
    pub fn acknowledges(self) -> impl Fn() -> BoxFuture<'static, bool> {
        move || {
            let publisher = self.clone();
            Box::pin(async move { publisher.probe().await.is_ok() })
        }
    }
}

impl Route {
    async fn store(&self, payload: Bytes) -> Result<(), PublishError> {
        let number = self.messages.fetch_add(1, Ordering::Relaxed);
        let id = format!("{:016x}-{number}", self.origin);
        let attempt = || async {
            match timeout(ATTEMPT, self.attempt(&id, payload.clone())).await {
                Ok(result) => result.map_err(|error| classify(&error)),
                Err(_) => Err(PublishError::Unacknowledged("no answer".into())),
            }
        };
        let result = retry(&PATIENCE, attempt, PublishError::is_transient).await;
        if let Err(error) = &result {
            PUBLISH_FAILURES.with([self.noun, error.reason()]).inc();
            tracing::warn!(subject = self.subject, bytes = payload.len(), %error, "publish failed");
        }
        result
    }

    async fn attempt(&self, id: &str, payload: Bytes) -> Result<(), NatsError> {
        let message = PublishMessage::build().payload(payload).message_id(id);
        // The first future hands the message to the connection; the second is JetStream's acknowledgement.
        self.jetstream
            .send_publish(self.subject.clone(), message)
            .await?
            .await?;
        Ok(())
    }
}

fn weigh(record: &RawValue) -> usize {
    record.get().len() + 1
}

fn fits(record: &RawValue) -> Result<(), PublishError> {
    let bytes = weigh(record);
    if bytes > MAX_RECORD_BYTES {
        Err(PublishError::TooLarge { bytes })
    } else {
        Ok(())
    }
}

/// Splits `records` into messages within the bounds. A record above the limit gets a message of its own.
fn pack(records: &[Box<RawValue>]) -> impl Iterator<Item = &[Box<RawValue>]> {
    let mut rest = records;
    std::iter::from_fn(move || {
        let mut weight = 0;
        let taken = rest.iter().take(MAX_RECORDS).take_while(|record| {
            weight += weigh(record);
            weight <= MAX_MESSAGE_BYTES
        });
        let count = taken.count().max(1);
        let (message, remaining) = rest.split_at_checked(count)?;
        rest = remaining;
        Some(message)
    })
}

/// A refusal for lack of space is definite. After every other error the record may be stored or not.
fn classify(error: &NatsError) -> PublishError {
    let refusal = std::error::Error::source(error).and_then(|source| source.downcast_ref::<JetStreamError>());
    match (error.kind(), refusal) {
        (_, Some(refusal)) if is_want_of_space(refusal) => PublishError::Full(refusal.to_string().into()),
        _ => PublishError::Unacknowledged(error.to_string().into()),
    }
}

fn is_want_of_space(refusal: &JetStreamError) -> bool {
    match refusal.error_code() {
        // This code also covers a failing disk, after which the message may be stored or not.
        ErrorCode::STREAM_STORE_FAILED => refusal.to_string().contains("maximum"),
        ErrorCode::INSUFFICIENT_RESOURCES
        | ErrorCode::STORAGE_RESOURCES_EXCEEDED
        | ErrorCode::ACCOUNT_RESOURCES_EXCEEDED => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests;
