//! Trims settled messages from streams that fill up.
//!
//! Streams keep messages up to a limit and refuse new ones when full. Without trimming, a busy week would end
//! in refusals, although most records were settled long ago. Only messages below the consumer's ack floor are
//! removed: all of them were acknowledged, and a worker acknowledges after its commit. The server may lose
//! acks; then the floor falls back, and less is trimmed. Settled messages stay until a quarter of the stream
//! is used, for inspection and recovery ([`super::history`]). While no worker runs nothing is trimmed, and
//! three quarters of the stream take what arrives.

use async_nats::jetstream::Context;
use async_nats::jetstream::consumer::PullConsumer;
use async_nats::jetstream::context::GetStreamError;
use async_nats::jetstream::stream::{ConsumerError, PurgeError, Stream};

use super::topology::Topology;
use messages::subject::Subject;

/// Why a stream could not be trimmed.
#[derive(Debug, thiserror::Error)]
pub enum TrimError {
    #[error("cannot look at the stream: {0}")]
    Stream(#[from] GetStreamError),
    #[error("cannot look at its consumer: {0}")]
    Consumer(#[from] ConsumerError),
    #[error("cannot purge it: {0}")]
    Purge(#[from] PurgeError),
}

/// Settled messages stay until a stream exceeds this fraction (one in `KEPT`) of its size.
const KEPT: i64 = 4;

/// Removes settled messages from a stream that is more than a quarter full. Returns the number of removed
/// messages.
pub async fn trim(jetstream: &Context, topology: &Topology, subject: Subject) -> Result<u64, TrimError> {
    let stream = jetstream.get_stream(topology.stream_name(subject)).await?;
    let kept = u64::try_from(topology.max_bytes(subject) / KEPT).unwrap_or(u64::MAX);
    if stream.cached_info().state.bytes <= kept {
        return Ok(0);
    }
    remove_settled(jetstream, &stream, subject).await
}

/// Removes settled messages, however full the stream is. Returns the number of removed messages.
pub async fn remove_settled(
    jetstream: &Context,
    stream: &Stream,
    subject: Subject,
) -> Result<u64, TrimError> {
    let info = stream.cached_info();
    let consumer: PullConsumer = jetstream
        .get_consumer_from_stream(subject.consumer_name(), &info.config.name)
        .await?;
    let settled = consumer.cached_info().ack_floor.stream_sequence;
    if settled < info.state.first_sequence {
        return Ok(0);
    }
    // The given sequence number itself stays.
    let purged = stream.purge().sequence(settled + 1).await?;
    Ok(purged.purged)
}
