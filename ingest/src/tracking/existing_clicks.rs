//! Looks up the customer of a visitor's existing click_id.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use domain::ids::{CustomerId, ProgramId};
use domain::tracking::click_id::{ClickId, ClickIdCodec};
use runtime::batch::{Batcher, Bounds};
use runtime::lifecycle::Lifecycle;
use runtime::retry::{self, RetryPolicy};
use sqlx::PgPool;
use storage::tracking::customers::{CustomerIdentity, identities_from_pool};

/// A click must not wait for a slow database: after this time it is recorded for a new customer.
const ANSWER_WITHIN: Duration = Duration::from_millis(250);
/// How long after its click a click_id may still be missing from the table.
const CLICK_MAY_LAG: TimeDelta = TimeDelta::seconds(5);
/// Retries the lookup of such a click_id, as often as [`ANSWER_WITHIN`] allows.
const RETRY: RetryPolicy = RetryPolicy {
    first_delay: Duration::from_millis(10),
    max_delay: Duration::from_millis(80),
    max_attempts: 10,
    max_elapsed: Some(ANSWER_WITHIN),
};

#[derive(Debug, Clone)]
pub struct ExistingClicks {
    lookups: Batcher<ClickId, Option<CustomerIdentity>>,
}

impl ExistingClicks {
    pub fn start(pool: PgPool, codec: Arc<ClickIdCodec>, lifecycle: &Lifecycle) -> Self {
        let bounds = Bounds {
            name: "existing_clicks",
            queue: 4096,
            max_records: 512,
            max_weight: usize::MAX,
            in_flight: 2,
            pace: Duration::ZERO,
        };
        let lookups = Batcher::spawn(
            lifecycle.tasks(),
            bounds,
            |_| 1,
            move |click_ids| look_up(pool.clone(), Arc::clone(&codec), click_ids),
        );
        Self { lookups }
    }

    /// The customer of this program with exactly this click_id. A click_id that is forged, malformed, of
    /// another program, or not looked up in time counts as absent.
    pub async fn customer_of(
        &self,
        program_id: ProgramId,
        text: &str,
        now: DateTime<Utc>,
    ) -> Option<(CustomerId, ClickId)> {
        let click_id = ClickId::parse(text)?;
        let found = tokio::time::timeout(ANSWER_WITHIN, self.find(&click_id, now));
        let found = found.await.ok()??;
        (found.program_id == program_id).then_some((found.customer_id, click_id))
    }

    /// A click is written after its answer, so the lookup of a recently issued click_id is retried.
    async fn find(&self, click_id: &ClickId, now: DateTime<Utc>) -> Option<CustomerIdentity> {
        let age = now.timestamp_millis().saturating_sub(click_id.issued_at_ms());
        let may_be_in_flight = age.abs() < CLICK_MAY_LAG.num_milliseconds();
        let mut delays = retry::delays(&RETRY);
        loop {
            let found = self.lookups.submit(click_id.clone()).await.ok()?;
            if found.is_some() || !may_be_in_flight {
                return found;
            }
            tokio::time::sleep(delays.next()?).await;
        }
    }
}

async fn look_up(
    pool: PgPool,
    codec: Arc<ClickIdCodec>,
    click_ids: Vec<ClickId>,
) -> Vec<Option<CustomerIdentity>> {
    let candidates: Vec<i64> = click_ids
        .iter()
        .flat_map(|click_id| codec.decode(click_id))
        .map(CustomerId::get)
        .collect();
    let found: HashMap<String, CustomerIdentity> = match identities_from_pool(&pool, &candidates).await {
        Ok(found) => found
            .into_iter()
            .map(|customer| (customer.click_id.clone(), customer))
            .collect(),
        Err(error) => {
            tracing::warn!(%error, "lookup of existing click_ids failed, their clicks get new customers");
            HashMap::new()
        }
    };
    click_ids
        .iter()
        .map(|click_id| found.get(click_id.as_str()).cloned())
        .collect()
}
