//! What lies on the streams.

use anyhow::Result;
use async_nats::jetstream::Context;
use async_nats::jetstream::consumer::PullConsumer;
use common::messages::subject::Subject;

/// Messages that the workers have not settled yet.
pub(super) async fn backlog(context: &Context) -> Result<u64> {
    let mut messages = 0;
    for subject in Subject::ALL {
        let consumer: PullConsumer = context
            .get_consumer_from_stream(subject.consumer_name(), subject.stream_name(""))
            .await?;
        let info = consumer.cached_info();
        messages += info.num_pending + u64::try_from(info.num_ack_pending)?;
    }
    Ok(messages)
}

/// Streams keep what was settled for a week; in a benchmark that is only a full disk.
pub(super) async fn purge(context: &Context) -> Result<()> {
    for subject in Subject::ALL {
        context.get_stream(subject.stream_name("")).await?.purge().await?;
    }
    Ok(())
}

/// Messages of the funnel since the streams were made.
pub(super) async fn published(context: &Context) -> Result<u64> {
    let mut messages = 0;
    for subject in [Subject::Clicks, Subject::Leads, Subject::Sales] {
        let stream = context.get_stream(subject.stream_name("")).await?;
        messages += stream.cached_info().state.last_sequence;
    }
    Ok(messages)
}
