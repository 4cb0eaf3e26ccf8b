//! The task that pulls messages without pause while a batch runs.
//!
//! Bounds: [`BUFFER_BYTES`] of payload and [`BUFFER_MESSAGES`] messages are buffered. A new request is made
//! only while the buffer can hold all of its messages, so that every message is read from the connection and
//! reported in progress as soon as it arrives. Both bounds are needed, because a message holds hundreds of
//! records under load and just one at low load. In either case the buffer must hold enough records for a
//! batch.
//!
//! A pull subscription can end, fail, or miss heartbeats (its consumer was recreated, a server returned with
//! an empty store). Then the task makes a new subscription, and never gives up before a shutdown: a worker
//! that stops pulling looks alive and does nothing.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use async_nats::jetstream::consumer::PullConsumer;
use async_nats::jetstream::{AckKind, Context, Message};
use bytes::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use super::in_flight::MessageId;
use super::pending_ack::{PendingAck, PendingAcks};
use super::pull::{self, Pull};
use crate::topology::{MAX_ACK_PENDING, Topology};
use messages::subject::Subject;
use runtime::retry::{Delays, RetryPolicy, delays};

/// Room for four pull requests: while one half of the messages is processed, the other half arrives.
const BUFFER_BYTES: u32 = 4 * pull::BYTES;
const BUFFER_MESSAGES: usize = 4 * pull::MESSAGES;

/// After this long without a message, the task asks the server whether messages wait.
const WATCHDOG: Duration = Duration::from_secs(10);

const PULL_AGAIN: RetryPolicy =
    RetryPolicy::until_shutdown(Duration::from_millis(100), Duration::from_secs(1));

/// A fetched message. Dropping it frees its permits.
pub(super) struct Arrived {
    pub(super) message: MessageId,
    pub(super) deliveries: u32,
    pub(super) payload: Bytes,
    pub(super) pending_ack: PendingAck,
    pub(super) _permits: OwnedSemaphorePermit,
}

pub(super) struct Fetcher {
    jetstream: Context,
    topology: Topology,
    subject: Subject,
    arrivals: mpsc::Sender<Arrived>,
    capacity: Arc<Semaphore>,
    pending_acks: Arc<PendingAcks>,
}

/// Why a pull subscription ended.
enum Left {
    /// A shutdown began, or the receiver was dropped.
    Finished,
    Failed(anyhow::Error),
}

impl Fetcher {
    pub(super) fn new(
        jetstream: Context,
        topology: Topology,
        subject: Subject,
        pending_acks: Arc<PendingAcks>,
    ) -> (Self, mpsc::Receiver<Arrived>) {
        let (arrivals, incoming) = mpsc::channel(BUFFER_MESSAGES);
        let capacity = Arc::new(Semaphore::new(BUFFER_BYTES as usize));
        (
            Self {
                jetstream,
                topology,
                subject,
                arrivals,
                capacity,
                pending_acks,
            },
            incoming,
        )
    }

    pub(super) async fn run(self, stop: CancellationToken) {
        let mut patience = delays(&PULL_AGAIN);
        while let Left::Failed(error) = self.pull(&mut patience, &stop).await {
            tracing::warn!(subject = %self.subject, error = format!("{error:#}"), "pulling again");
            let Some(delay) = patience.next() else { return };
            if stop.run_until_cancelled(self.wait(delay)).await.is_none() {
                return;
            }
        }
    }

    async fn wait(&self, delay: Duration) {
        sleep(delay).await;
        // The stream or the consumer may be gone: a server that lost its disk starts empty.
        if let Err(error) = self.topology.ensure_one(&self.jetstream, self.subject).await {
            tracing::warn!(subject = %self.subject, %error, "topology is not there yet");
        }
    }

    async fn pull(&self, patience: &mut Delays, stop: &CancellationToken) -> Left {
        let (consumer, mut pull) = match stop.run_until_cancelled(self.subscribe()).await {
            Some(Ok(subscribed)) => subscribed,
            Some(Err(error)) => return Left::Failed(error),
            None => return Left::Finished,
        };
        let left = self.follow(&consumer, &mut pull, patience, stop).await;
        pull.finish().await;
        left
    }

    async fn follow(
        &self,
        consumer: &PullConsumer,
        pull: &mut Pull,
        patience: &mut Delays,
        stop: &CancellationToken,
    ) -> Left {
        let mut quiet_since = Instant::now();
        loop {
            let has_capacity = self.has_capacity();
            let message = match stop.run_until_cancelled(pull.next(has_capacity)).await {
                None => return Left::Finished,
                Some(Err(error)) => return Left::Failed(error),
                Some(Ok(message)) => message,
            };
            if let Some(message) = message {
                *patience = delays(&PULL_AGAIN);
                if !self.deliver(message).await {
                    return Left::Finished;
                }
                quiet_since = Instant::now();
            } else if !has_capacity {
                quiet_since = Instant::now();
            } else if quiet_since.elapsed() >= WATCHDOG {
                match is_stalled(consumer).await {
                    Ok(false) => *patience = delays(&PULL_AGAIN),
                    Ok(true) => return Left::Failed(anyhow::anyhow!("messages wait but none is delivered")),
                    Err(error) => return Left::Failed(error),
                }
                quiet_since = Instant::now();
            }
        }
    }

    /// Whether the buffer has room for two pull requests.
    fn has_capacity(&self) -> bool {
        self.capacity.available_permits() >= 2 * pull::BYTES as usize
            && self.arrivals.capacity() >= 2 * pull::MESSAGES
    }

    async fn subscribe(&self) -> anyhow::Result<(PullConsumer, Pull)> {
        let (name, stream) = (
            self.subject.consumer_name(),
            self.topology.stream_name(self.subject),
        );
        let consumer: PullConsumer = self
            .jetstream
            .get_consumer_from_stream(&name, &stream)
            .await
            .context("no consumer")?;
        let pull = Pull::begin(&self.jetstream, &consumer).await?;
        Ok((consumer, pull))
    }

    /// Returns `false` when the loop behind the channel has ended.
    async fn deliver(&self, message: Message) -> bool {
        let (id, deliveries) = match message.info() {
            Ok(info) => (
                MessageId {
                    sequence: info.stream_sequence,
                    stored_at: info.published,
                },
                u32::try_from(info.delivered).unwrap_or(u32::MAX),
            ),
            Err(error) => {
                tracing::error!(subject = %self.subject, error, "not a JetStream message");
                return true;
            }
        };
        let (message, acker) = message.split();
        let pending_ack = self.pending_acks.take(acker);
        let bytes = u32::try_from(message.payload.len())
            .unwrap_or(u32::MAX)
            .clamp(1, BUFFER_BYTES);
        let Ok(permits) = Arc::clone(&self.capacity).acquire_many_owned(bytes).await else {
            return false;
        };
        let arrived = Arrived {
            message: id,
            deliveries,
            payload: message.payload,
            pending_ack,
            _permits: permits,
        };
        let Err(refused) = self.arrivals.send(arrived).await else {
            return true;
        };
        refused.0.pending_ack.acknowledge(AckKind::Nak(None)).await;
        false
    }
}

/// Whether messages are pending although fewer are in flight than the consumer allows.
async fn is_stalled(consumer: &PullConsumer) -> anyhow::Result<bool> {
    let info = consumer
        .get_info()
        .await
        .context("cannot ask about the consumer")?;
    let may_hold_more = i64::try_from(info.num_ack_pending).is_ok_and(|held| held < MAX_ACK_PENDING);
    Ok(info.num_pending > 0 && may_hold_more)
}
