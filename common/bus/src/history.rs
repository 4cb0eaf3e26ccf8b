//! What a stream holds from a moment on, settled or not: for recovery.

use anyhow::Context as _;
use async_nats::jetstream::Context;
use async_nats::jetstream::consumer::DeliverPolicy;
use async_nats::jetstream::consumer::pull::OrderedConfig;
use bytes::Bytes;
use chrono::{DateTime, Utc};
use futures::{Stream, StreamExt};
use messages::subject::Subject;

use super::topology::Topology;

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
    // Without a bound the reader waits for messages to come.
    let payloads = messages
        .take(stored)
        .map(|message| Ok(message.context("cannot read a message")?.payload.clone()));
    Ok((stored, payloads))
}
