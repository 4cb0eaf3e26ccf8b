//! One pull subscription: requests that wait at the server, and the messages that it sends for them.
//!
//! The client library has a stream for this. Dropping that stream loses messages that were sent and not yet
//! read: each is missing until its acknowledgement times out, which is longer than callers wait. Here the end
//! of a subscription gives such messages back ([`Pull::finish`]).
//!
//! Bounds: [`MESSAGES`] and [`BYTES`] per request. The next request is made when half of one is left and the
//! buffer has capacity. So the server never waits for us, and at most two requests are outstanding.

use std::str::FromStr;
use std::time::Duration;

use anyhow::{Context as _, bail};
use async_nats::jetstream::consumer::PullConsumer;
use async_nats::jetstream::{AckKind, Context, Message};
use async_nats::{HeaderMap, StatusCode, Subscriber};
use futures::StreamExt;
use serde_json::json;
use tokio::time::{Instant, timeout};

pub(super) const MESSAGES: usize = 512;

/// Bytes the server may send per request. Well above the largest message, which otherwise would never be
/// sent.
pub(super) const BYTES: u32 = 2 << 20;

const EXPIRES: Duration = Duration::from_secs(30);

/// How often the server reports that it has no message.
const HEARTBEAT: Duration = Duration::from_secs(5);

/// Longest wait of [`Pull::next`] while there is capacity.
const GLANCE: Duration = Duration::from_millis(250);

/// Interval between two checks while there is no capacity.
const NO_CAPACITY: Duration = Duration::from_millis(10);

/// How long the end of a subscription waits for messages already sent.
const LAST_WORDS: Duration = Duration::from_secs(1);

pub(super) struct Pull {
    jetstream: Context,
    /// Subject of the requests. Messages arrive at `inbox`.
    next: String,
    inbox: String,
    subscriber: Subscriber,
    /// Messages requested that neither arrived nor expired.
    messages: usize,
    bytes: u32,
    last_activity: Instant,
    connects: u64,
}

impl Pull {
    pub(super) async fn begin(jetstream: &Context, consumer: &PullConsumer) -> anyhow::Result<Self> {
        let client = jetstream.client();
        let info = consumer.cached_info();
        let inbox = client.new_inbox();
        Ok(Self {
            next: format!("$JS.API.CONSUMER.MSG.NEXT.{}.{}", info.stream_name, info.name),
            subscriber: client
                .subscribe(inbox.clone())
                .await
                .context("cannot subscribe")?,
            inbox,
            messages: 0,
            bytes: 0,
            last_activity: Instant::now(),
            connects: connects(jetstream),
            jetstream: jetstream.clone(),
        })
    }

    /// Returns `None` when no message arrives within a moment. An error ends the subscription. Without
    /// capacity nothing more is requested.
    ///
    /// Dropping the future loses no message.
    pub(super) async fn next(&mut self, has_capacity: bool) -> anyhow::Result<Option<Message>> {
        let wait = if has_capacity { GLANCE } else { NO_CAPACITY };
        loop {
            if has_capacity {
                self.ask().await?;
            } else {
                // The server sends heartbeats only while a request waits.
                self.last_activity = Instant::now();
            }
            match timeout(wait, self.subscriber.next()).await {
                Ok(Some(message)) => {
                    self.last_activity = Instant::now();
                    if let Some(message) = self.take(message)? {
                        return Ok(Some(message));
                    }
                }
                Ok(None) => bail!("pull subscription ended"),
                // Another server, or the same one with an empty store, does not know our requests.
                Err(_) if connects(&self.jetstream) != self.connects => bail!("the connection was renewed"),
                Err(_) if self.last_activity.elapsed() > 2 * HEARTBEAT => {
                    bail!("missed heartbeats of the server")
                }
                Err(_) => return Ok(None),
            }
        }
    }

    async fn ask(&mut self) -> anyhow::Result<()> {
        if self.messages > MESSAGES / 2 && self.bytes > BYTES / 2 {
            return Ok(());
        }
        let request = json!({
            "batch": MESSAGES, "max_bytes": BYTES, "expires": EXPIRES.as_nanos(), "idle_heartbeat": HEARTBEAT.as_nanos(),
        });
        self.jetstream
            .client()
            .publish_with_reply(self.next.clone(), self.inbox.clone(), request.to_string().into())
            .await
            .context("cannot pull")?;
        self.messages += MESSAGES;
        self.bytes += BYTES;
        Ok(())
    }

    /// Returns `None` for a status message about a request.
    fn take(&mut self, message: async_nats::Message) -> anyhow::Result<Option<Message>> {
        let description = message.description.as_deref().unwrap_or_default();
        match message.status {
            None | Some(StatusCode::OK) => {
                self.settle(1, u32::try_from(message.length).unwrap_or(u32::MAX));
                return Ok(Some(Message {
                    message,
                    context: self.jetstream.clone(),
                }));
            }
            Some(StatusCode::IDLE_HEARTBEAT) => {}
            Some(StatusCode::TIMEOUT | StatusCode::REQUEST_TERMINATED) if !is_final(description) => {
                let headers = message.headers.as_ref();
                self.settle(
                    left(headers, "Nats-Pending-Messages").unwrap_or(MESSAGES),
                    left(headers, "Nats-Pending-Bytes").unwrap_or(BYTES),
                );
            }
            Some(status) => bail!("pull refused: {status} {description}"),
        }
        Ok(None)
    }

    fn settle(&mut self, messages: usize, bytes: u32) {
        self.messages = self.messages.saturating_sub(messages);
        self.bytes = self.bytes.saturating_sub(bytes);
    }

    /// Gives back messages that were sent before the server saw the end of the subscription.
    pub(super) async fn finish(mut self) {
        if let Err(error) = self.subscriber.drain().await {
            tracing::debug!(%error, "cannot drain a pull subscription");
        }
        while let Ok(Some(message)) = timeout(LAST_WORDS, self.subscriber.next()).await {
            if let Ok(Some(message)) = self.take(message) {
                give_back(&message).await;
            }
        }
        if let Err(error) = self.jetstream.client().flush().await {
            tracing::debug!(%error, "cannot flush");
        }
    }
}

/// Lets the server redeliver the message to another worker at once.
async fn give_back(message: &Message) {
    if let Err(error) = message.ack_with(AckKind::Nak(None)).await {
        tracing::warn!(error, "cannot give a message back");
    }
}

/// Number of connections made so far.
fn connects(jetstream: &Context) -> u64 {
    let statistics = jetstream.client().statistics();
    statistics.connects.load(std::sync::atomic::Ordering::Relaxed)
}

/// Whether the server would refuse the same request again.
fn is_final(description: &str) -> bool {
    [
        "Consumer Deleted",
        "Consumer is push based",
        "Exceeded MaxRequest",
    ]
    .iter()
    .any(|reason| description.starts_with(reason))
}

fn left<N: FromStr>(headers: Option<&HeaderMap>, name: &str) -> Option<N> {
    headers?.get(name)?.as_str().parse().ok()
}
