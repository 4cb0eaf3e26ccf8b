//! The oldest unsettled message of a stream.

use anyhow::Context as _;
use async_nats::jetstream::Context;
use async_nats::jetstream::consumer::PullConsumer;
use chrono::{DateTime, Utc};

use super::topology::Topology;
use messages::subject::Subject;

/// The unsettled messages of one stream.
#[derive(Debug, Clone)]
pub struct Backlog {
    jetstream: Context,
    stream: String,
    consumer: String,
}

impl Backlog {
    pub fn of(jetstream: Context, topology: &Topology, subject: Subject) -> Self {
        Self {
            jetstream,
            stream: topology.stream_name(subject),
            consumer: subject.consumer_name(),
        }
    }

    /// When the oldest message was stored that is not settled; `None` when all of them are. Everything that was stored before
    /// is committed.
    pub async fn oldest(&self) -> anyhow::Result<Option<DateTime<Utc>>> {
        let consumer: PullConsumer = self
            .jetstream
            .get_consumer_from_stream(&self.consumer, &self.stream)
            .await
            .context("no consumer")?;
        let state = consumer.cached_info();
        if state.num_pending == 0 && state.num_ack_pending == 0 {
            return Ok(None);
        }
        let stream = self.jetstream.get_stream_no_info(&self.stream).await?;
        let message = stream
            .get_raw_message(state.ack_floor.stream_sequence + 1)
            .await
            .context("the oldest message is not there")?;
        Ok(Some(message.time))
    }
}
