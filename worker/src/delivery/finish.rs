//! Writes the results of all ended attempts: first the health of the endpoints, then the deliveries.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use domain::ids::WebhookEndpointId;
use domain::programs::webhook_attempt::Outcome;
use runtime::clock::Clock;
use runtime::crash_point::crash_point;
use runtime::lifecycle::Lifecycle;
use runtime::retry::{RetryPolicy, delays};
use sqlx::{Connection, PgPool};
use storage::outbound::webhook_health::{self, Health};
use storage::outbound::webhook_queue::{self, FinishedDelivery};
use storage::{Retryable, StorageError, StorageResult};
use tokio::sync::{Notify, mpsc};

use super::disable;
use super::in_flight::Slot;

/// Results per transaction.
const BATCH: usize = 512;
const RETRY: RetryPolicy = RetryPolicy::until_shutdown(Duration::from_millis(50), Duration::from_secs(2));

/// The result of an attempt. It keeps its slot until it is written.
#[derive(Debug)]
pub(super) struct Attempted {
    pub(super) endpoint_id: WebhookEndpointId,
    pub(super) is_replay: bool,
    /// `None` if no attempt was made.
    pub(super) outcome: Option<Outcome>,
    pub(super) finished: FinishedDelivery,
    #[expect(dead_code, reason = "its place is free when it is dropped")]
    pub(super) slot: Slot,
}

pub(super) struct Finisher {
    pub(super) pool: PgPool,
    pub(super) clock: Clock,
    pub(super) wake: Arc<Notify>,
}

impl Finisher {
    /// Runs until the last attempt has handed over its result, or until a hard shutdown.
    pub(super) async fn run(self, mut results: mpsc::Receiver<Attempted>, lifecycle: Lifecycle) {
        let mut batch = Vec::with_capacity(BATCH);
        while results.recv_many(&mut batch, BATCH).await > 0 {
            tokio::select! {
                () = lifecycle.hard().cancelled() => return,
                () = self.finish_all(&batch) => {}
            }
            batch.clear();
            self.wake.notify_one();
        }
    }

    async fn finish_all(&self, batch: &[Attempted]) {
        if self.until_written(batch).await.is_ok() {
            return;
        }
        // One result cannot be written. Written one by one, only that delivery stays leased, to be retried.
        for one in batch {
            if let Err(error) = self.until_written(std::slice::from_ref(one)).await {
                let delivery_id = one.finished.id;
                tracing::error!(delivery_id, %error, "delivery cannot be finished");
            }
        }
    }

    /// Retries until the batch is written. Returns only errors that no retry can fix.
    async fn until_written(&self, batch: &[Attempted]) -> StorageResult<()> {
        let mut waits = delays(&RETRY);
        loop {
            let error = match self.finish(batch).await {
                Ok(()) => return Ok(()),
                Err(error) => error,
            };
            if error.retryable() == Retryable::Never {
                return Err(error);
            }
            tracing::warn!(%error, "finishing deliveries failed");
            tokio::time::sleep(waits.next().unwrap_or(RETRY.max_delay)).await;
        }
    }

    /// Deleting an endpoint locks first the endpoint, then its deliveries. Two transactions keep this code
    /// from holding these locks in the opposite order, which could deadlock.
    async fn finish(&self, batch: &[Attempted]) -> StorageResult<()> {
        let now = self.clock.now();
        self.note_health(batch, now).await?;
        let finished: Vec<FinishedDelivery> = batch.iter().map(|one| one.finished.clone()).collect();
        let mut transaction = self.pool.begin().await?;
        webhook_queue::finish(&mut transaction, &finished, now).await?;
        crash_point("delivery.before_finish");
        transaction.commit().await.map_err(StorageError::from)?;
        crash_point("delivery.after_finish");
        Ok(())
    }

    /// Runs before the deliveries are written. If that fails, both are written again, with the same health.
    async fn note_health(&self, batch: &[Attempted], now: DateTime<Utc>) -> StorageResult<()> {
        let mut connection = self.pool.acquire().await?;
        webhook_health::note(&mut connection, &health(batch)).await?;
        let gone = gone(batch);
        if gone.is_empty() {
            return Ok(());
        }
        let mut transaction = connection.begin().await?;
        let disabled = webhook_health::disable_gone(&mut transaction, &gone, now).await?;
        disable::announce(&mut transaction, &self.clock, &disabled).await?;
        transaction.commit().await.map_err(StorageError::from)
    }
}

/// The health of the endpoints, in the order of their ids. Replays do not count.
fn health(batch: &[Attempted]) -> Vec<Health> {
    let mut by_endpoint: BTreeMap<WebhookEndpointId, Health> = BTreeMap::new();
    for one in batch.iter().filter(|one| !one.is_replay) {
        let (Some(outcome), Some(at)) = (one.outcome, one.finished.attempted_at) else {
            continue;
        };
        let health = by_endpoint.entry(one.endpoint_id).or_insert(Health {
            endpoint_id: one.endpoint_id,
            success_at: None,
            failure_at: None,
        });
        let last: &mut Option<DateTime<Utc>> = match outcome {
            Outcome::Delivered => &mut health.success_at,
            Outcome::Failed { .. } | Outcome::Gone => &mut health.failure_at,
        };
        *last = (*last).max(Some(at));
    }
    by_endpoint.into_values().collect()
}

fn gone(batch: &[Attempted]) -> Vec<i64> {
    let gone = batch
        .iter()
        .filter(|one| one.outcome == Some(Outcome::Gone) && !one.is_replay);
    gone.map(|one| one.endpoint_id.get()).collect()
}
