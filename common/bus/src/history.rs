//! Reads what a stream has stored since a given time, settled or not: for recovery.

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

/// Reading fails after this long without a message: a worker may have removed settled messages that were
/// still to be read. Nothing is lost, and the read can be repeated.
const SILENCE: Duration = Duration::from_secs(30);

/// Returns the number of messages stored from `since` until now, and their payloads, oldest first. Reading
/// acknowledges nothing.
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
    // The count ends the read; otherwise it would wait for new messages. If workers remove settled messages,
    // fewer than counted arrive.
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
