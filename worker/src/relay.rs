//! Publishes open claims that a dead process left behind, and the notifications of the outbox.
//!
//! Both loops take due rows (`FOR UPDATE SKIP LOCKED`, so several workers share the work) and publish them.
//! Taking a claim postpones its next publication, so that a failed one is retried. An outbox row is deleted
//! by the commit that follows its publication; after a crash, it is published again. Effects are idempotent.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use bus::publish::Publisher;
use messages::subject::Subject;
use runtime::crash_point::crash_point;
use runtime::lifecycle::Lifecycle;
use runtime::metrics::RELAYED;
use serde_json::value::RawValue;
use sqlx::PgPool;
use storage::operations::outbox;
use storage::tracking::claims;
use tokio::sync::Notify;

/// Claims are due two seconds after they were made. Checking each second keeps the delay near that.
const EVERY: Duration = Duration::from_secs(1);
const BATCH: i64 = 256;
/// First pause between two publications of one claim; it doubles each time.
const CLAIM_PAUSE: Duration = Duration::from_secs(4);

#[derive(Debug)]
pub struct Relay {
    pub pool: PgPool,
    pub sales: Publisher,
    pub notifications: Publisher,
    pub outbox_filled: Arc<Notify>,
}

impl Relay {
    pub async fn run(self, lifecycle: Lifecycle) {
        let mut ticks = tokio::time::interval(EVERY);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = lifecycle.soft().cancelled() => return,
                _ = ticks.tick() => report("open claims", self.relay_claims().await),
                () = self.outbox_filled.notified() => {}
            }
            report("outbox", self.relay_notifications().await);
        }
    }

    /// Publishes due claims, each with the reply inbox that may still wait for its outcome.
    async fn relay_claims(&self) -> anyhow::Result<()> {
        loop {
            let due = claims::take_open(&self.pool, BATCH, CLAIM_PAUSE).await?;
            let taken = due.len();
            let mut by_inbox: BTreeMap<Option<String>, Vec<Box<RawValue>>> = BTreeMap::new();
            for claim in due {
                let record = RawValue::from_string(claim.payload).context("a claim's payload is not JSON")?;
                by_inbox.entry(claim.reply_to).or_default().push(record);
            }
            for (reply_to, records) in by_inbox {
                self.sales.publish_packed(&records, reply_to.as_deref()).await?;
            }
            if taken > 0 {
                crash_point("worker.after_relay");
                RELAYED.with(["claims"]).inc_by(taken as u64);
                tracing::info!(claims = taken, "relayed open claims");
            }
            if taken < usize::try_from(BATCH).unwrap_or(usize::MAX) {
                return Ok(());
            }
        }
    }

    async fn relay_notifications(&self) -> anyhow::Result<()> {
        loop {
            let mut transaction = self.pool.begin().await?;
            let unsent = outbox::lock_unsent(&mut transaction, Subject::Notifications.noun(), BATCH).await?;
            if unsent.is_empty() {
                return Ok(());
            }
            let ids: Vec<i64> = unsent.iter().map(|message| message.id).collect();
            let records = unsent
                .into_iter()
                .map(|message| RawValue::from_string(message.payload))
                .collect::<Result<Vec<_>, _>>()
                .context("an outbox row is not JSON")?;
            self.notifications.publish_packed(&records, None).await?;
            crash_point("worker.after_outbox_publish");
            outbox::remove(&mut transaction, &ids).await?;
            transaction.commit().await?;
            RELAYED.with(["notifications"]).inc_by(ids.len() as u64);
        }
    }
}

/// The next round retries.
fn report(what: &str, round: anyhow::Result<()>) {
    if let Err(error) = round {
        tracing::warn!(error = format!("{error:#}"), what, "relay round failed");
    }
}
