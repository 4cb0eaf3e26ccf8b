//! Folds the deltas of rollups into days, about once a second: one worker at a time, by a lock.

use std::time::Duration;

use runtime::lifecycle::Lifecycle;
use runtime::rounds::repeat;
use sqlx::PgPool;
use storage::StorageResult;
use storage::reads::rollups;

/// While folding fails, nothing is lost or late: readers add the remaining deltas.
const EVERY: Duration = Duration::from_secs(1);
/// Deltas per transaction: enough to keep up with any worker, few enough to take only milliseconds.
const BATCH: i64 = 5_000;

pub async fn run(pool: PgPool, lifecycle: Lifecycle) {
    repeat("folding rollups", EVERY, &lifecycle, || fold(&pool, &lifecycle)).await;
}

async fn fold(pool: &PgPool, lifecycle: &Lifecycle) -> StorageResult<()> {
    while rollups::fold(pool, BATCH).await? >= BATCH.unsigned_abs() && !lifecycle.soft().is_cancelled() {}
    Ok(())
}
