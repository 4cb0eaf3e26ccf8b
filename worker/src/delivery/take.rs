//! Takes due deliveries, as many as there are free slots, and starts an attempt for each.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;
use domain::sealed::SealingKeys;
use runtime::clock::Clock;
use runtime::crash_point::crash_point;
use runtime::lifecycle::Lifecycle;
use runtime::retry::{Delays, RetryPolicy, delays};
use sqlx::PgPool;
use storage::StorageResult;
use storage::outbound::webhook_health::{self, Target};
use storage::outbound::webhook_queue::{self, DueDelivery, Room};
use tokio::sync::{Notify, mpsc};
use tokio::time::MissedTickBehavior;

use super::attempt::Attempt;
use super::client::Client;
use super::finish::Attempted;
use super::in_flight::InFlight;

/// Interval of rounds without a wake-up, for deliveries that become due.
const EVERY: Duration = Duration::from_millis(100);
/// When woken, the loop takes deliveries only if at least this fraction (one in `LEAST_SHARE`) of all slots
/// is free: taking many at once costs little more than taking one.
const LEAST_SHARE: usize = 8;
const AFTER_FAILURE: RetryPolicy =
    RetryPolicy::until_shutdown(Duration::from_millis(200), Duration::from_secs(5));

pub(super) struct Taker {
    pub(super) pool: PgPool,
    pub(super) clock: Clock,
    pub(super) keys: Arc<SealingKeys>,
    pub(super) client: Client,
    pub(super) lease: TimeDelta,
    pub(super) loopback_allowed: bool,
    pub(super) in_flight: InFlight,
    /// Notified when events were placed or deliveries finished.
    pub(super) wake: Arc<Notify>,
    pub(super) results: mpsc::Sender<Attempted>,
}

impl Taker {
    /// Runs until shutdown. Then attempts in flight finish, and no more deliveries are taken.
    pub(super) async fn run(self, lifecycle: Lifecycle) {
        let mut rounds = tokio::time::interval(EVERY);
        rounds.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut failing: Option<Delays> = None;
        loop {
            let least = tokio::select! {
                biased;
                () = lifecycle.soft().cancelled() => return,
                _ = rounds.tick() => 1,
                () = self.wake.notified(), if failing.is_none() => self.in_flight.max / LEAST_SHARE,
            };
            let Err(error) = self.take_all(least.max(1), &lifecycle).await else {
                failing = None;
                continue;
            };
            tracing::warn!(%error, "taking deliveries failed");
            let waits = failing.get_or_insert_with(|| delays(&AFTER_FAILURE));
            rounds.reset_after(waits.next().unwrap_or(AFTER_FAILURE.max_delay));
        }
    }

    /// Takes deliveries while at least `least` slots are free and deliveries are due.
    async fn take_all(&self, least: usize, lifecycle: &Lifecycle) -> StorageResult<()> {
        while !lifecycle.soft().is_cancelled() && self.in_flight.free() >= least {
            if self.take(lifecycle).await? == 0 {
                break;
            }
        }
        Ok(())
    }

    async fn take(&self, lifecycle: &Lifecycle) -> StorageResult<usize> {
        let now = self.clock.now();
        let free = self.in_flight.room();
        let room = Room {
            now,
            leased_until: now + self.lease,
            deliveries: count(free.all),
            struggling: count(free.struggling),
            additional: count(free.additional),
            endpoints: &free.endpoints,
        };
        let mut transaction = self.pool.begin().await?;
        let due = webhook_queue::take_due(&mut transaction, &room).await?;
        if due.is_empty() {
            return Ok(0);
        }
        let endpoints: BTreeSet<i64> = due.iter().map(|delivery| delivery.endpoint_id.get()).collect();
        let endpoints: Vec<i64> = endpoints.into_iter().collect();
        let targets = webhook_health::targets(&mut transaction, &self.keys, &endpoints, now).await?;
        transaction.commit().await?;
        crash_point("delivery.after_take");
        let taken = due.len();
        for delivery in due {
            if let Some(target) = targets.get(&delivery.endpoint_id) {
                self.start(delivery, target, lifecycle);
            }
        }
        Ok(taken)
    }

    /// Starts an attempt. A delivery that is not started stays leased, and is due again when the lease ends.
    fn start(&self, delivery: DueDelivery, target: &Target, lifecycle: &Lifecycle) {
        let endpoint_id = delivery.endpoint_id;
        let secrets = match &target.secrets {
            Ok(secrets) => secrets.clone(),
            Err(error) => {
                tracing::error!(%endpoint_id, %error, "delivery not possible");
                return;
            }
        };
        let Some(slot) = self.in_flight.begin(endpoint_id) else {
            return;
        };
        let attempt = Attempt {
            delivery,
            url: target.url.clone(),
            secrets,
            client: self.client.clone(),
            clock: self.clock.clone(),
            loopback_allowed: self.loopback_allowed,
            slot,
        };
        let results = self.results.clone();
        lifecycle.tasks().spawn(async move {
            // The receiver is missing only after a hard shutdown.
            let _ = results.send(attempt.run().await).await;
        });
    }
}

fn count(slots: usize) -> i64 {
    i64::try_from(slots).unwrap_or(i64::MAX)
}
