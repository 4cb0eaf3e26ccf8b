//! Stores events. Concurrent events share a batch.
//!
//! Phases of a batch:
//!
//! 1. *store*, in one transaction: the inbox rows, of which only new ones continue, and the claims of their
//!    sales. Each row contains its whole event, so from here on the relay can finish it after any crash.
//! 2. *answer*, while the next batch is stored.
//! 3. *publish* the new records, packed.
//!
//! A batch holds the events that arrived while the previous batch was stored, within the bounds below. It
//! runs in its own tasks: a sender that disconnects cancels nothing.

use std::sync::Arc;
use std::time::Duration;

use runtime::batch::{BatchError, Batcher, Bounds};
use runtime::clock::Clock;
use runtime::crash_point::crash_point;
use runtime::lifecycle::Lifecycle;
use runtime::retry::{RetryPolicy, retry};
use sqlx::PgPool;
use storage::processor::processor_events::{self, NewProcessorEvent, Received};
use storage::{StorageError, StorageResult};
use tokio::sync::Semaphore;
use tokio_util::task::TaskTracker;

use crate::claim::claim;
use crate::records::{Outgoing, Records, Streams};
use crate::review;

const MAX_REQUESTS: usize = 256;
const MAX_BYTES: usize = 4 << 20;
const QUEUE: usize = 1024;
/// One batch commits while the next one is computed. With more concurrent batches, each would be smaller.
const IN_FLIGHT: usize = 2;
/// Limit of batches being published at once. Two or three while JetStream keeps up; the relay publishes the
/// records of batches beyond the limit.
const PUBLISHED_AT_ONCE: usize = 16;
/// Interval between two small batches: each is a transaction, and a processor does not need its answer
/// sooner.
pub const PACE: Duration = Duration::from_millis(5);
/// A database that restarts or fails over closes every pooled connection, and detecting a deadlock takes a
/// second. Storing is idempotent, so it is retried, well within the time that senders wait for the answer.
pub const RETRY: RetryPolicy = RetryPolicy {
    first_delay: Duration::from_millis(20),
    max_delay: Duration::from_millis(200),
    max_attempts: 20,
    max_elapsed: Some(Duration::from_secs(4)),
};

/// An event for one program: its inbox row and its records.
#[derive(Debug)]
pub struct Arrival {
    pub event: NewProcessorEvent,
    pub records: Records,
}

/// After an error the event may have been stored or not.
pub type Stored = Result<(), BatchError<StorageError>>;

#[derive(Debug, Clone)]
pub struct Inbox(Batcher<Vec<Arrival>, Stored>);

impl Inbox {
    pub fn start(pool: PgPool, streams: Streams, clock: Clock, lifecycle: &Lifecycle) -> Self {
        let bounds = Bounds {
            name: "processor events",
            queue: QUEUE,
            max_records: MAX_REQUESTS,
            max_weight: MAX_BYTES,
            in_flight: IN_FLIGHT,
            pace: PACE,
        };
        let weigh =
            |arrivals: &Vec<Arrival>| arrivals.iter().map(|arrival| arrival.event.payload.len()).sum();
        let storing = Storing {
            pool,
            streams,
            clock,
            tasks: lifecycle.tasks().clone(),
            publishing: Arc::new(Semaphore::new(PUBLISHED_AT_ONCE)),
        };
        Self(Batcher::spawn(
            lifecycle.tasks(),
            bounds,
            weigh,
            move |requests| store_and_publish(storing.clone(), requests),
        ))
    }

    /// Returns once all arrivals of one request are durable. Stores all of them or none.
    pub async fn receive(&self, arrivals: Vec<Arrival>) -> Stored {
        self.0.submit(arrivals).await?
    }
}

/// The dependencies of a batch.
#[derive(Clone)]
struct Storing {
    pool: PgPool,
    streams: Streams,
    clock: Clock,
    tasks: TaskTracker,
    publishing: Arc<Semaphore>,
}

impl Storing {
    fn publish_meanwhile(self, outgoing: Outgoing) {
        let Ok(place) = self.publishing.try_acquire_owned() else {
            tracing::warn!("JetStream is slow, the relay publishes the records of these events");
            return;
        };
        self.tasks.spawn(async move {
            self.streams.publish(&outgoing).await;
            crash_point("webhook-consumer.after_publish");
            drop(place);
        });
    }
}

async fn store_and_publish(storing: Storing, requests: Vec<Vec<Arrival>>) -> Vec<Stored> {
    let answers = requests.len();
    let (events, records): (Vec<NewProcessorEvent>, Vec<Records>) = requests
        .into_iter()
        .flatten()
        .map(|arrival| (arrival.event, arrival.records))
        .unzip();
    let attempt = || store(&storing, &events, &records);
    match retry(&RETRY, attempt, StorageError::is_transient).await {
        Ok(outgoing) => {
            crash_point("webhook-consumer.after_commit");
            storing.publish_meanwhile(outgoing);
            crash_point("webhook-consumer.before_answer");
            vec![Ok(()); answers]
        }
        Err(error) => vec![Err(BatchError::failed(error)); answers],
    }
}

async fn store(
    storing: &Storing,
    events: &[NewProcessorEvent],
    records: &[Records],
) -> StorageResult<Outgoing> {
    let mut transaction = storing.pool.begin().await?;
    let Received { new, mut for_review } = processor_events::receive(&mut transaction, events).await?;
    let fresh = records
        .iter()
        .zip(new)
        .filter(|(_, new)| *new)
        .map(|(records, _)| records.clone())
        .collect();
    let outgoing = claim(&mut transaction, fresh, |_| false, &mut for_review).await?;
    review::add_events(&mut transaction, &storing.clock, for_review).await?;
    transaction.commit().await?;
    Ok(outgoing)
}
