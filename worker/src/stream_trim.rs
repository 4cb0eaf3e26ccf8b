//! Keeps room in the streams, for as long as this worker runs. Every worker does it; two at once do no harm.

use std::time::Duration;

use async_nats::jetstream::Context;
use bus::stream_trim::{TrimError, trim};
use bus::topology::Topology;
use messages::subject::Subject;
use runtime::lifecycle::Lifecycle;

/// Half a stream is far more than comes in within this time.
const EVERY: Duration = Duration::from_secs(2);

pub async fn run(jetstream: Context, topology: Topology, lifecycle: Lifecycle) {
    let mut rounds = tokio::time::interval(EVERY);
    rounds.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            () = lifecycle.soft().cancelled() => return,
            _ = rounds.tick() => {}
        }
        // What failed is tried again in the next round.
        if let Err(error) = round(&jetstream, &topology).await {
            tracing::warn!(%error, "making room in the streams failed");
        }
    }
}

async fn round(jetstream: &Context, topology: &Topology) -> Result<(), TrimError> {
    for subject in Subject::ALL {
        let messages = trim(jetstream, topology, subject).await?;
        if messages > 0 {
            tracing::info!(%subject, messages, "settled messages made room");
        }
    }
    Ok(())
}
