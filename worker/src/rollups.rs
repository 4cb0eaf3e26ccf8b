//! Folds the deltas of rollups into days, about once a second. Every worker tries; one at a time holds the
//! lock.

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

/// Runs until shutdown.
pub async fn run(pool: PgPool, lifecycle: Lifecycle) {
    repeat("folding rollups", EVERY, &lifecycle, || fold(&pool, &lifecycle)).await;
}

/// Folds batches until one is not full.
async fn fold(pool: &PgPool, lifecycle: &Lifecycle) -> StorageResult<()> {
    while rollups::fold(pool, BATCH).await? >= BATCH.unsigned_abs() && !lifecycle.soft().is_cancelled() {}
    Ok(())
}
