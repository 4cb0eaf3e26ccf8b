//! Brings deliveries forward that wait behind many deliveries of one customer: more than a take looks at.

use std::sync::atomic::AtomicI64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use domain::ids::WebhookEndpointId;
use runtime::clock::Clock;
use runtime::lifecycle::Lifecycle;
use runtime::rounds::repeat;
use sqlx::PgPool;
use storage::outbound::webhook_queue;
use storage::{StorageError, StorageResult};

const EVERY: Duration = Duration::from_secs(1);
/// Endpoints per round. Looking at a thousand deliveries of each costs less than a millisecond.
const BATCH: i64 = 50;

/// Runs until shutdown. Every delivery process runs it; a second one finds nothing to do.
pub(super) async fn run(pool: PgPool, clock: Clock, lifecycle: Lifecycle) {
    let last = AtomicI64::new(0);
    let round = || async {
        let after = WebhookEndpointId::new(last.load(Relaxed));
        last.store(bring_forward(&pool, &clock, after).await?, Relaxed);
        StorageResult::Ok(())
    };
    repeat("bringing deliveries forward", EVERY, &lifecycle, round).await;
}

/// Handles the next endpoints after `after`. Returns the last of them, after which the next round begins.
async fn bring_forward(pool: &PgPool, clock: &Clock, after: WebhookEndpointId) -> StorageResult<i64> {
    let mut transaction = pool.begin().await?;
    let endpoints = webhook_queue::endpoints(&mut transaction, after, BATCH).await?;
    let brought = webhook_queue::bring_forward(&mut transaction, &endpoints, clock.now()).await?;
    transaction.commit().await.map_err(StorageError::from)?;
    if brought > 0 {
        tracing::debug!(deliveries = brought, "brought deliveries forward");
    }
    let is_full = i64::try_from(endpoints.len()).is_ok_and(|count| count == BATCH);
    let last = endpoints.last().copied().filter(|_| is_full);
    Ok(last.unwrap_or(0))
}
