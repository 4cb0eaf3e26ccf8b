//! Deletes settled messages from the streams while this worker runs. Every worker does; two at once do no harm.

use std::time::Duration;

use async_nats::jetstream::Context;
use bus::stream_trim::{TrimError, trim};
use bus::topology::Topology;
use messages::subject::Subject;
use runtime::lifecycle::Lifecycle;
use runtime::rounds::repeat;

/// Far less than a stream holds arrives within this time.
const EVERY: Duration = Duration::from_secs(2);

/// Runs until shutdown.
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
