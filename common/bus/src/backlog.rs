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

/// How far the messages of a stream are settled, as sequence numbers. All messages up to `settled` are
/// settled; some later ones may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    pub settled: u64,
    pub newest: u64,
}

impl Backlog {
    pub fn of(jetstream: Context, topology: &Topology, subject: Subject) -> Self {
        Self {
            jetstream,
            stream: topology.stream_name(subject),
            consumer: subject.consumer_name(),
        }
    }

    /// When the oldest unsettled message was stored; `None` when all messages are settled. Everything stored
    /// before that time is committed.
    pub async fn oldest(&self) -> anyhow::Result<Option<DateTime<Utc>>> {
        let consumer = self.consumer().await?;
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

    pub async fn position(&self) -> anyhow::Result<Position> {
        let consumer = self.consumer().await?;
        let state = consumer.cached_info();
        let newest = state.delivered.stream_sequence + state.num_pending;
        let all_are = state.num_pending == 0 && state.num_ack_pending == 0;
        Ok(Position {
            settled: if all_are {
                newest
            } else {
                state.ack_floor.stream_sequence
            },
            newest,
        })
    }

    async fn consumer(&self) -> anyhow::Result<PullConsumer> {
        self.jetstream
            .get_consumer_from_stream(&self.consumer, &self.stream)
            .await
            .context("no consumer")
    }
}
