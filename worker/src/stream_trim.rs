//! Deletes settled messages from the streams while this worker runs. Every worker does; two at once do no harm.

use std::time::Duration;

use async_nats::jetstream::Context;
use bus::stream_trim::{TrimError, trim};
use bus::topology::Topology;
use messages::subject::Subject;
use runtime::lifecycle::Lifecycle;

/// Far less than a stream holds arrives within this time.
const EVERY: Duration = Duration::from_secs(2);

pub async fn run(jetstream: Context, topology: Topology, lifecycle: Lifecycle) {
    let mut rounds = tokio::time::interval(EVERY);
    rounds.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            () = lifecycle.soft().cancelled() => return,
            _ = rounds.tick() => {}
        }
        // The next round retries.
        if let Err(error) = round(&jetstream, &topology).await {
            tracing::warn!(%error, "stream trim failed");
        }
    }
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
