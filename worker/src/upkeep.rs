//! Slow, regular work: approvals, partitions, forgetting. Every worker does it; the statements skip each other's rows.

use std::time::Duration;

use common::runtime::clock::Clock;
use common::runtime::lifecycle::Lifecycle;
use common::storage::{StorageResult, commissions, partitions, refused_events};
use sqlx::PgPool;

const EVERY: Duration = Duration::from_mins(1);
const ROWS_A_ROUND: i64 = 10_000;
/// This month and the two after it: a worker that is down for weeks leaves no gap.
const MONTHS_AHEAD: i32 = 3;

/// Runs until shutdown, the first round at once.
pub async fn run(pool: PgPool, clock: Clock, lifecycle: Lifecycle) {
    let mut rounds = tokio::time::interval(EVERY);
    loop {
        tokio::select! {
            () = lifecycle.soft().cancelled() => return,
            _ = rounds.tick() => {}
        }
        if let Err(error) = round(&pool, &clock).await {
            tracing::warn!(%error, "upkeep round failed");
        }
    }
}

async fn round(pool: &PgPool, clock: &Clock) -> StorageResult<()> {
    let now = clock.now();
    partitions::ensure(pool, now.date_naive(), MONTHS_AHEAD).await?;
    let approved = commissions::approve_held(pool, now, ROWS_A_ROUND).await?;
    let forgotten = refused_events::forget_old(pool, ROWS_A_ROUND).await?;
    if approved + forgotten > 0 {
        tracing::info!(approved, forgotten, "upkeep");
    }
    Ok(())
}
