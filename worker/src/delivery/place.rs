//! Gives committed events their positions and queues their deliveries, one process at a time.

use std::sync::Arc;
use std::time::Duration;

use runtime::clock::Clock;
use runtime::crash_point::crash_point;
use runtime::lifecycle::Lifecycle;
use runtime::rounds::repeat;
use sqlx::PgPool;
use storage::StorageResult;
use storage::outbound::outbound_events;
use tokio::sync::Notify;

const EVERY: Duration = Duration::from_millis(100);
/// Events per transaction.
const BATCH: i64 = 1_000;

pub(super) async fn run(pool: PgPool, clock: Clock, wake: Arc<Notify>, lifecycle: Lifecycle) {
    let round = || place(&pool, &clock, &wake, &lifecycle);
    repeat("placing events", EVERY, &lifecycle, round).await;
}

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
