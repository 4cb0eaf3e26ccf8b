//! Delivers outcomes to the requests that wait for them.
//!
//! Each ingest process subscribes to its own subject and keeps a table of waiters by event id. A worker packs
//! outcomes by destination and publishes them without acknowledgement. A lost outcome costs its caller an
//! answer ("unknown"), never a record, so it is not worth a round trip.
//!
//! Ordering: a waiter registers before its record is published; otherwise a fast worker's reply finds no
//! waiter.

use std::collections::BTreeMap;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_nats::{Client, PublishError, SubscribeError, Subscriber};
use futures::StreamExt;
use serde_json::value::RawValue;
use tokio::sync::oneshot;
use tokio::time::timeout;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;
use uuid::Uuid;

use super::topology::Topology;
use messages::envelope::{self, EventOutcome};
use runtime::retry::{RetryPolicy, delays};

/// Bytes of outcomes in one message: half of the server's default `max_payload`.
const MAX_ANSWER_BYTES: usize = 512 * 1024;

/// Number of locks of the waiter table, so that requests on different cores rarely contend.
const SHARDS: usize = 16;

const RESUBSCRIBE: RetryPolicy =
    RetryPolicy::until_shutdown(Duration::from_millis(50), Duration::from_secs(2));

/// One outcome, and the inbox that waits for it.
#[derive(Debug, Clone)]
pub struct Reply {
    pub reply_to: Arc<str>,
    pub event_id: Uuid,
    pub outcome: Box<RawValue>,
}

/// Why the inbox could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum InboxError {
    #[error("cannot subscribe to the reply subject: {0}")]
    Subscribe(#[from] SubscribeError),
    #[error("the subscription did not reach the server: {0}")]
    Flush(#[from] async_nats::client::FlushError),
}

/// Receives the outcomes of the records this process published. Closes when the last clone is dropped.
#[derive(Debug, Clone)]
pub struct ReplyInbox {
    subject: Arc<str>,
    waiters: Arc<Waiters>,
    _open: Arc<DropGuard>,
}

impl ReplyInbox {
    /// Subscribes, and returns once the server has the subscription. `instance` must be unique per process.
    pub async fn spawn(
        tasks: &TaskTracker,
        client: Client,
        topology: &Topology,
        instance: Uuid,
    ) -> Result<Self, InboxError> {
        let subject: Arc<str> = topology.reply_subject(instance).into();
        let waiters = Arc::new(Waiters::default());
        let closed = CancellationToken::new();
        let subscriber = client.subscribe(subject.to_string()).await?;
        client.flush().await?;
        let listen = listen(client, Arc::clone(&subject), Arc::clone(&waiters), subscriber);
        let until_closed = closed.clone();
        tasks.spawn(async move { until_closed.run_until_cancelled(listen).await });
        Ok(Self {
            subject,
            waiters,
            _open: Arc::new(closed.drop_guard()),
        })
    }

    /// The `reply_to` of this instance's messages.
    pub fn subject(&self) -> &str {
        &self.subject
    }

    /// Registers a waiter for the outcome of `event_id`. Call it before publishing the record.
    pub fn expect(&self, event_id: Uuid) -> Waiter {
        Waiters::register(&self.waiters, event_id)
    }
}

/// Waits for one outcome. Dropping it removes it from the table.
#[derive(Debug)]
pub struct Waiter {
    event_id: Uuid,
    outcome: oneshot::Receiver<Box<RawValue>>,
    waiters: Arc<Waiters>,
}

impl Waiter {
    /// Returns the outcome, or `None` if it did not arrive within `deadline`. The outcome is then unknown,
    /// not a refusal.
    pub async fn wait(mut self, deadline: Duration) -> Option<Box<RawValue>> {
        timeout(deadline, &mut self.outcome).await.ok()?.ok()
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        self.outcome.close();
        self.waiters.forget(self.event_id);
    }
}

#[derive(Default)]
struct Waiters {
    shards: [Mutex<Shard>; SHARDS],
}

type Shard = HashMap<Uuid, oneshot::Sender<Box<RawValue>>>;

impl fmt::Debug for Waiters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let waiting: usize = self.shards.iter().map(|shard| lock(shard).len()).sum();
        f.debug_struct("Waiters").field("waiting", &waiting).finish()
    }
}

impl Waiters {
    fn register(this: &Arc<Self>, event_id: Uuid) -> Waiter {
        let (sender, outcome) = oneshot::channel();
        this.shard(event_id).insert(event_id, sender);
        Waiter {
            event_id,
            outcome,
            waiters: Arc::clone(this),
        }
    }

    fn wake(&self, EventOutcome { event_id, outcome }: EventOutcome) {
        let waiter = self.shard(event_id).remove(&event_id);
        // A waiter is missing after its deadline, and for a redelivered record.
        if let Some(waiter) = waiter {
            let _ = waiter.send(outcome);
        }
    }

    /// Removes a waiter whose receiver is closed, but not a later waiter for the same id.
    fn forget(&self, event_id: Uuid) {
        let mut shard = self.shard(event_id);
        if shard.get(&event_id).is_some_and(oneshot::Sender::is_closed) {
            shard.remove(&event_id);
        }
    }

    #[expect(clippy::indexing_slicing, reason = "a remainder of the length is an index")]
    fn shard(&self, event_id: Uuid) -> MutexGuard<'_, Shard> {
        // The low bits of a UUIDv7 are random.
        let [.., low] = *event_id.as_bytes();
        lock(&self.shards[usize::from(low) % SHARDS])
    }
}

fn lock(shard: &Mutex<Shard>) -> MutexGuard<'_, Shard> {
    // A panic cannot leave a map operation incomplete.
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn listen(client: Client, subject: Arc<str>, waiters: Arc<Waiters>, mut subscriber: Subscriber) {
    loop {
        while let Some(message) = subscriber.next().await {
            match envelope::decode_replies(&message.payload) {
                Ok(batch) => batch
                    .outcomes
                    .into_iter()
                    .for_each(|outcome| waiters.wake(outcome)),
                Err(error) => tracing::error!(%error, "cannot read an answer"),
            }
        }
        tracing::warn!(subject = &*subject, "reply subscription ended; subscribing again");
        let Some(again) = resubscribe(&client, &subject).await else {
            return;
        };
        subscriber = again;
    }
}

async fn resubscribe(client: &Client, subject: &str) -> Option<Subscriber> {
    for delay in delays(&RESUBSCRIBE) {
        // The delay comes first: a subscription that ends at once must not become a tight loop.
        tokio::time::sleep(delay).await;
        match client.subscribe(subject.to_owned()).await {
            Ok(subscriber) => return Some(subscriber),
            Err(error) => tracing::warn!(subject, %error, "cannot subscribe"),
        }
    }
    None
}

/// Sends outcomes, packed by destination. Returns once they are written to the connection.
pub async fn send_replies(client: &Client, replies: Vec<Reply>) -> Result<(), SendError> {
    if replies.is_empty() {
        return Ok(());
    }
    let mut destinations: BTreeMap<Arc<str>, Vec<EventOutcome>> = BTreeMap::new();
    for Reply {
        reply_to,
        event_id,
        outcome,
    } in replies
    {
        destinations
            .entry(reply_to)
            .or_default()
            .push(EventOutcome { event_id, outcome });
    }
    for (reply_to, outcomes) in destinations {
        for answer in split(&outcomes) {
            client
                .publish(reply_to.to_string(), envelope::encode_replies(answer))
                .await?;
        }
    }
    Ok(client.flush().await?)
}

/// Why outcomes may not have been sent.
#[derive(Debug, thiserror::Error)]
pub enum SendError {
    #[error("cannot publish outcomes: {0}")]
    Publish(#[from] PublishError),
    #[error("cannot flush outcomes: {0}")]
    Flush(#[from] async_nats::client::FlushError),
}

fn split(outcomes: &[EventOutcome]) -> impl Iterator<Item = &[EventOutcome]> {
    let mut rest = outcomes;
    std::iter::from_fn(move || {
        let mut weight = 0;
        let taken = rest.iter().take_while(|outcome| {
            weight += outcome.packed_size();
            weight <= MAX_ANSWER_BYTES
        });
        let count = taken.count().max(1);
        let (answer, remaining) = rest.split_at_checked(count)?;
        rest = remaining;
        Some(answer)
    })
}

#[cfg(test)]
mod tests;
