//! New customer ids without a round trip: they come from a leased block, and the next block is in reserve.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use chrono::{DateTime, Utc};
use domain::ids::CustomerId;
use domain::tracking::click_id::{ClickId, ClickIdCodec};
use runtime::lifecycle::Lifecycle;
use runtime::postgres;
use runtime::retry::{RetryPolicy, delays, retry};
use sqlx::PgPool;
use storage::StorageError;
use storage::tracking::customer_ids::lease;
use tokio::sync::Notify;

use crate::http::error::ApiError;

const RETRY_LEASE: RetryPolicy =
    RetryPolicy::until_shutdown(Duration::from_millis(100), Duration::from_secs(1));

#[derive(Debug, Clone)]
pub struct CustomerIds {
    codec: Arc<ClickIdCodec>,
    blocks: Arc<Mutex<Blocks>>,
    used_up: Arc<Notify>,
}

#[derive(Debug)]
struct Blocks {
    current: Range<i64>,
    next: Option<Range<i64>>,
}

impl CustomerIds {
    /// Leases two blocks, and keeps one in reserve until shutdown.
    pub async fn start(
        pool: PgPool,
        codec: Arc<ClickIdCodec>,
        lifecycle: &Lifecycle,
    ) -> anyhow::Result<Self> {
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
            codec,
            blocks: Arc::new(Mutex::new(blocks)),
            used_up: Arc::new(Notify::new()),
        };
        let (stop, refill) = (lifecycle.soft().clone(), ids.clone().refill(pool));
        lifecycle
            .tasks()
            .spawn(async move { stop.run_until_cancelled(refill).await });
        Ok(ids)
    }

    /// An unused id, and its click_id. `Overloaded` if both blocks are used up and PostgreSQL has not leased
    /// another.
    pub fn issue(&self, issued_at: DateTime<Utc>) -> Result<(CustomerId, ClickId), ApiError> {
        let customer_id = self.next().ok_or(ApiError::Overloaded)?;
        let click_id = self.codec.encode(customer_id, issued_at.timestamp_millis());
        Ok((customer_id, click_id))
    }

    pub fn codec(&self) -> &ClickIdCodec {
        &self.codec
    }

    fn next(&self) -> Option<CustomerId> {
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
                    Err(error) => tracing::warn!(%error, "lease of customer ids failed, retrying"),
                }
                tokio::time::sleep(pauses.next().unwrap_or(RETRY_LEASE.max_delay)).await;
            };
            self.blocks.lock().unwrap_or_else(PoisonError::into_inner).next = Some(block);
        }
    }
}
