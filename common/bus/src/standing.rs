//! For operators: how far workers have read a stream, and how to rewind it.

use anyhow::Context as _;
use async_nats::jetstream::Context;
use async_nats::jetstream::consumer::PullConsumer;
use messages::subject::Subject;

use super::topology::{Topology, consumer_is_missing, stream_is_missing};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    NoStream,
    /// A starting service creates the consumer, which then reads the whole stream.
    NoConsumer {
        stored: u64,
    },
    Reading {
        stored: u64,
        /// Messages not delivered yet.
        waiting: u64,
        /// Messages delivered and not acknowledged.
        in_flight: u64,
    },
}

impl Standing {
    pub async fn of(jetstream: &Context, topology: &Topology, subject: Subject) -> anyhow::Result<Self> {
        let name = topology.stream_name(subject);
        let stream = match jetstream.get_stream(&name).await {
            Ok(found) => found,
            Err(error) if stream_is_missing(&error) => return Ok(Self::NoStream),
            Err(error) => return Err(error).with_context(|| format!("cannot look at stream {name}")),
        };
        let stored = stream.cached_info().state.messages;
        let consumer: PullConsumer = match jetstream
            .get_consumer_from_stream(subject.consumer_name(), &name)
            .await
        {
            Ok(found) => found,
            Err(error) if consumer_is_missing(&error) => return Ok(Self::NoConsumer { stored }),
            Err(error) => {
                return Err(error).with_context(|| format!("cannot look at the consumer of {name}"));
            }
        };
        let info = consumer.cached_info();
        Ok(Self::Reading {
            stored,
            waiting: info.num_pending,
            in_flight: info.num_ack_pending as u64,
        })
    }

    pub const fn is_settled(self) -> bool {
        matches!(
            self,
            Self::Reading {
                waiting: 0,
                in_flight: 0,
                ..
            }
        )
    }
}

/// Deletes the consumer of a stream. Running workers recreate it within a second, others when they start. The
/// new consumer delivers what the stream holds, from its beginning.
pub async fn rewind(jetstream: &Context, topology: &Topology, subject: Subject) -> anyhow::Result<()> {
    let name = topology.stream_name(subject);
    let deleted = jetstream.delete_consumer_from_stream(subject.consumer_name(), &name);
    match deleted.await {
        Ok(_) => Ok(()),
        Err(error) if consumer_is_missing(&error) => Ok(()),
        Err(error) => Err(error).with_context(|| format!("cannot delete the consumer of {name}")),
    }
}
