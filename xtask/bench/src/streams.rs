//! The content of the streams.

use anyhow::Result;
use async_nats::jetstream::Context;
use async_nats::jetstream::stream::RawMessageErrorKind;
use messages::envelope;
use messages::subject::Subject;

/// Deletes settled messages, which would fill the disk.
pub(super) async fn purge(context: &Context) -> Result<()> {
    for subject in Subject::ALL {
        context.get_stream(subject.stream_name("")).await?.purge().await?;
    }
    Ok(())
}

/// Streams of the funnel's requests.
pub(super) const FUNNEL: [Subject; 3] = [Subject::Clicks, Subject::Leads, Subject::Sales];
/// Size of the sample.
const SAMPLE: u64 = 400;

/// The last message of each stream of the [`FUNNEL`].
pub(super) async fn last_messages(context: &Context) -> Result<[u64; FUNNEL.len()]> {
    let mut last = [0; FUNNEL.len()];
    for (last, subject) in last.iter_mut().zip(FUNNEL) {
        let stream = context.get_stream(subject.stream_name("")).await?;
        *last = stream.cached_info().state.last_sequence;
    }
    Ok(last)
}

/// Records in a message, of messages evenly spread between two; ascending.
pub(super) async fn records_a_message(
    context: &Context,
    subject: Subject,
    after: u64,
    last: u64,
) -> Result<Vec<usize>> {
    let stream = context.get_stream(subject.stream_name("")).await?;
    let count = last - after;
    let mut sizes = Vec::new();
    for number in 0..count.min(SAMPLE) {
        let sequence = after + 1 + number * count / count.min(SAMPLE);
        match stream.get_raw_message(sequence).await {
            Ok(message) => sizes.push(envelope::decode(&message.payload)?.records.len()),
            // Settled, and removed by a worker.
            Err(error) if error.kind() == RawMessageErrorKind::NoMessageFound => {}
            Err(error) => return Err(error.into()),
        }
    }
    sizes.sort_unstable();
    Ok(sizes)
}
