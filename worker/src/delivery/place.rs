//! Gives committed events their positions and queues their deliveries. Every process tries; one at a time holds the lock.

use std::sync::Arc;
use std::time::Duration;

use runtime::clock::Clock;
use runtime::crash_point::crash_point;
use runtime::lifecycle::Lifecycle;
use runtime::retry::{Delays, RetryPolicy, delays};
use sqlx::PgPool;
use storage::{StorageResult, outbound_events};
use tokio::sync::Notify;
use tokio::time::MissedTickBehavior;

const EVERY: Duration = Duration::from_millis(100);
/// Events a transaction.
const BATCH: i64 = 1_000;
const AFTER_FAILURE: RetryPolicy =
    RetryPolicy::until_shutdown(Duration::from_millis(200), Duration::from_secs(5));

/// Runs until shutdown.
pub(super) async fn run(pool: PgPool, clock: Clock, wake: Arc<Notify>, lifecycle: Lifecycle) {
    let mut rounds = tokio::time::interval(EVERY);
    rounds.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut failing: Option<Delays> = None;
    loop {
        tokio::select! {
            () = lifecycle.soft().cancelled() => return,
            _ = rounds.tick() => {}
        }
        let Err(error) = place(&pool, &clock, &wake, &lifecycle).await else {
            failing = None;
            continue;
        };
        tracing::warn!(%error, "placing events failed");
        let waits = failing.get_or_insert_with(|| delays(&AFTER_FAILURE));
        rounds.reset_after(waits.next().unwrap_or(AFTER_FAILURE.max_delay));
    }
}

/// Until no more than one batch is left.
async fn place(pool: &PgPool, clock: &Clock, wake: &Notify, lifecycle: &Lifecycle) -> StorageResult<()> {
    while !lifecycle.soft().is_cancelled() {
        let mut transaction = pool.begin().await?;
        let placed = outbound_events::place(&mut transaction, clock.now(), BATCH).await?;
        transaction.commit().await?;
        let placed = placed.unwrap_or(0);
        if placed > 0 {
            crash_point("delivery.after_place");
            wake.notify_one();
        }
        if placed < BATCH.unsigned_abs() {
            break;
        }
    }
    Ok(())
}
