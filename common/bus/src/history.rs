//! What a stream holds from a moment on, settled or not: for recovery.

use std::time::Duration;

use anyhow::{Context as _, anyhow};
use async_nats::jetstream::Context;
use async_nats::jetstream::consumer::DeliverPolicy;
use async_nats::jetstream::consumer::pull::OrderedConfig;
use bytes::Bytes;
use chrono::{DateTime, Utc};
use futures::{Stream, StreamExt, stream};
use messages::subject::Subject;
use tokio::time::timeout;

use super::topology::Topology;

/// After which reading fails: nothing is lost, and it can be repeated. A worker may have removed the settled messages that were still to be read.
const SILENCE: Duration = Duration::from_secs(30);

/// The payloads of the messages stored from `since` until now, oldest first, and how many they are. Reading acknowledges
/// nothing.
pub async fn read(
    jetstream: &Context,
    topology: &Topology,
    subject: Subject,
    since: DateTime<Utc>,
) -> anyhow::Result<(usize, impl Stream<Item = anyhow::Result<Bytes>>)> {
    let stream = jetstream
        .get_stream(topology.stream_name(subject))
        .await
        .context("no stream")?;
    let from_then_on = OrderedConfig {
        deliver_policy: DeliverPolicy::ByStartTime { start_time: since },
        ..OrderedConfig::default()
    };
    let consumer = stream
        .create_consumer(from_then_on)
        .await
        .context("cannot read the stream")?;
    let stored = usize::try_from(consumer.cached_info().num_pending)?;
    let messages = consumer.messages().await.context("cannot read the stream")?;
    // Without a bound the reader waits for messages to come. Those left may be fewer than there were, when workers remove settled ones.
    let payloads = stream::try_unfold((messages, stored), async |(mut messages, left)| {
        if left == 0 {
            return Ok(None);
        }
        let next = timeout(SILENCE, messages.next());
        let Some(message) = next.await.context("the stream is silent: repeat the command")? else {
            return Ok(None);
        };
        let message = message.context("cannot read a message")?;
        let info = message.info().map_err(|error| anyhow!(error))?;
        let left = usize::try_from(info.pending)?.min(left - 1);
        Ok(Some((message.payload.clone(), (messages, left))))
    });
    Ok((stored, payloads))
}
