//! New customer ids without a round trip: from a leased block, with the next one already at hand.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use domain::ids::CustomerId;
use runtime::lifecycle::Lifecycle;
use runtime::postgres;
use runtime::retry::{RetryPolicy, delays, retry};
use sqlx::PgPool;
use storage::StorageError;
use storage::customer_ids::lease;
use tokio::sync::Notify;

const RETRY_LEASE: RetryPolicy =
    RetryPolicy::until_shutdown(Duration::from_millis(100), Duration::from_secs(1));

#[derive(Debug, Clone)]
pub struct CustomerIds {
    blocks: Arc<Mutex<Blocks>>,
    used_up: Arc<Notify>,
}

#[derive(Debug)]
struct Blocks {
    current: Range<i64>,
    next: Option<Range<i64>>,
}

impl CustomerIds {
    /// Leases two blocks and keeps one in reserve until shutdown.
    pub async fn start(pool: PgPool, lifecycle: &Lifecycle) -> anyhow::Result<Self> {
        let first = || {
            retry(
                &postgres::STARTUP_RETRY,
                || lease(&pool),
                StorageError::is_transient,
            )
        };
        let blocks = Blocks {
            current: first().await?,
            next: Some(first().await?),
        };
        let ids = Self {
            blocks: Arc::new(Mutex::new(blocks)),
            used_up: Arc::new(Notify::new()),
        };
        let (stop, refill) = (lifecycle.soft().clone(), ids.clone().refill(pool));
        lifecycle
            .tasks()
            .spawn(async move { stop.run_until_cancelled(refill).await });
        Ok(ids)
    }

    /// The next id; `None` when both blocks are used up and Postgres has not given another.
    pub fn next(&self) -> Option<CustomerId> {
        let mut blocks = self.blocks.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(id) = blocks.current.next() {
            return Some(CustomerId::new(id));
        }
        blocks.current = blocks.next.take()?;
        self.used_up.notify_one();
        blocks.current.next().map(CustomerId::new)
    }

    async fn refill(self, pool: PgPool) {
        loop {
            self.used_up.notified().await;
            let mut pauses = delays(&RETRY_LEASE);
            let block = loop {
                match lease(&pool).await {
                    Ok(block) => break block,
                    Err(error) => tracing::warn!(%error, "leasing customer ids failed, trying again"),
                }
                tokio::time::sleep(pauses.next().unwrap_or(RETRY_LEASE.max_delay)).await;
            };
            self.blocks.lock().unwrap_or_else(PoisonError::into_inner).next = Some(block);
        }
    }
}
