//! Folds the rollups' deltas into their days, about once a second. Every worker tries; one at a time holds the lock.

use std::time::Duration;

use runtime::lifecycle::Lifecycle;
use runtime::retry::{Delays, RetryPolicy, delays};
use sqlx::PgPool;
use storage::{StorageResult, rollups};
use tokio::time::MissedTickBehavior;

const EVERY: Duration = Duration::from_secs(1);
/// Deltas a transaction: enough to keep up with any worker, few enough to be done within milliseconds.
const BATCH: i64 = 5_000;
/// While folding fails nothing is lost or late: readers add the remaining deltas.
const AFTER_FAILURE: RetryPolicy =
    RetryPolicy::until_shutdown(Duration::from_secs(1), Duration::from_secs(30));

/// Runs until shutdown.
pub async fn run(pool: PgPool, lifecycle: Lifecycle) {
    let mut rounds = tokio::time::interval(EVERY);
    rounds.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut failing: Option<Delays> = None;
    loop {
        tokio::select! {
            () = lifecycle.soft().cancelled() => return,
            _ = rounds.tick() => {}
        }
        let Err(error) = fold(&pool, &lifecycle).await else {
            failing = None;
            continue;
        };
        tracing::warn!(%error, "folding rollups failed");
        let waits = failing.get_or_insert_with(|| delays(&AFTER_FAILURE));
        rounds.reset_after(waits.next().unwrap_or(AFTER_FAILURE.max_delay));
    }
}

/// Until no delta is left that was there at the start.
async fn fold(pool: &PgPool, lifecycle: &Lifecycle) -> StorageResult<()> {
    while rollups::fold(pool, BATCH).await? >= BATCH.unsigned_abs() && !lifecycle.soft().is_cancelled() {}
    Ok(())
}
