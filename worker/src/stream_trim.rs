//! Deletes settled messages from the streams. Every worker does; concurrent trims do no harm.

use std::time::Duration;

use async_nats::jetstream::Context;
use bus::stream_trim::{TrimError, trim};
use bus::topology::Topology;
use messages::subject::Subject;
use runtime::lifecycle::Lifecycle;
use runtime::rounds::repeat;

/// Within this time a stream receives far less than it can hold.
const EVERY: Duration = Duration::from_secs(2);

pub async fn run(jetstream: Context, topology: Topology, lifecycle: Lifecycle) {
    repeat("trimming streams", EVERY, &lifecycle, || {
        round(&jetstream, &topology)
    })
    .await;
}

async fn round(jetstream: &Context, topology: &Topology) -> Result<(), TrimError> {
    for subject in Subject::ALL {
        let messages = trim(jetstream, topology, subject).await?;
        if messages > 0 {
            tracing::info!(%subject, messages, "settled messages trimmed");
        }
    }
    Ok(())
}
