//! Periodic work: approvals, partitions, retention. Every worker does it; the statements skip rows that
//! another worker has locked.

use std::convert::Infallible;
use std::time::Duration;

use chrono::{DateTime, Datelike, Days, Months, NaiveDate, TimeDelta, Utc};
use domain::ids::EventId;
use runtime::clock::Clock;
use runtime::lifecycle::Lifecycle;
use runtime::rounds::repeat;
use sqlx::PgPool;
use storage::StorageResult;
use storage::money::commissions;
use storage::operations::partitions;
use storage::outbound::{emails, event_streams};
use storage::people::{cli_logins, one_time_links, sessions};
use storage::processor::processor_events;
use storage::tracking::{refused_events, visitor_retention};

const EVERY: Duration = Duration::from_mins(1);
/// Bounds how long a statement holds its locks, and how long a shutdown waits for it.
const ROWS_A_STATEMENT: i64 = 10_000;
/// Bounds how long other work waits. Handles twice as many customers a minute as 5,000 clicks a second
/// create.
const SLICES_OF_CUSTOMERS: usize = 60;
/// This month and the next two, or today and two weeks. So a worker that is down for days leaves no gap.
const MONTHS_AHEAD: i32 = 3;
const DAYS_AHEAD: i32 = 15;
/// How long outbound events can be replayed and read again.
const OUTBOUND_EVENTS_KEPT: Days = Days::new(30);
/// How long an event stream without readers is written. After that its cursors are too old.
const UNREAD_STREAMS_KEPT: TimeDelta = TimeDelta::days(30);

/// How long the result of a login can be looked up.
const LOGINS_KEPT: TimeDelta = TimeDelta::days(1);
/// How long rows remember that an e-mail was sent, or that a link for a new password was used.
const EMAILS_KEPT: TimeDelta = TimeDelta::days(30);
/// How long ended sessions are kept, because the audit log refers to them.
const ENDED_SESSIONS_KEPT: TimeDelta = TimeDelta::days(90);
/// Longer than streams keep messages, which could repeat a refused record.
pub(crate) const REFUSALS_KEPT: TimeDelta = TimeDelta::days(8);
/// Longer than any processor redelivers an event.
pub(crate) const PROCESSOR_EVENTS_KEPT: TimeDelta = TimeDelta::days(30);

#[derive(Debug)]
pub struct Upkeep {
    pub pool: PgPool,
    pub clock: Clock,
    pub lifecycle: Lifecycle,
    pub retention: Retention,
}

/// How long single events are kept, in addition to the current month or day.
#[derive(Debug, Clone, Copy)]
pub enum Retention {
    Forever,
    Months(Months),
    /// With this retention, partitions are days, too.
    Days(Days),
}

impl Retention {
    /// The first day to keep: the first of a month, or any day.
    fn horizon(self, now: DateTime<Utc>) -> Option<NaiveDate> {
        match self {
            Self::Forever => None,
            Self::Months(kept) => now.date_naive().with_day(1)?.checked_sub_months(kept),
            Self::Days(kept) => now.date_naive().checked_sub_days(kept),
        }
    }

    async fn make_partitions(self, pool: &PgPool, now: DateTime<Utc>) -> StorageResult<()> {
        let today = now.date_naive();
        match self {
            Self::Forever | Self::Months(_) => partitions::ensure(pool, today, MONTHS_AHEAD).await,
            Self::Days(_) => partitions::ensure_days(pool, today, DAYS_AHEAD).await,
        }
    }
}

impl Upkeep {
    /// Runs until shutdown. The first round starts at once.
    pub async fn run(self) {
        let round = || async {
            self.round(self.clock.now()).await;
            Ok::<_, Infallible>(())
        };
        repeat("upkeep", EVERY, &self.lifecycle, round).await;
    }

    async fn round(&self, now: DateTime<Utc>) {
        self.tidy_up(now).await;
        let Some(horizon) = self.retention.horizon(now) else {
            return;
        };
        let retired = retire(&self.pool, horizon).await;
        let all_are_gone = matches!(retired, Ok(strays) if strays < ROWS_A_STATEMENT.unsigned_abs());
        report("old events dropped", retired);
        // Only after all old events are gone: no event may remain without its customer.
        if all_are_gone {
            self.drop_visitors(now, horizon).await;
        }
    }

    /// Runs each kind of work separately: one that fails must not stop the others.
    async fn tidy_up(&self, now: DateTime<Utc>) {
        let pool = &self.pool;
        let partitions = self.retention.make_partitions(pool, now).await;
        report("event partitions made", partitions.map(|()| 0));
        let outbound = self.keep_outbound_days(now.date_naive()).await;
        report("days of outbound events dropped", outbound);
        let streams = |limit| event_streams::turn_off_unread(pool, now - UNREAD_STREAMS_KEPT, limit);
        self.finish("event streams turned off that nobody reads", streams)
            .await;
        let mint = || EventId::new(self.clock.mint());
        let held = |limit| commissions::approve_held(pool, now, limit, mint);
        self.finish("commissions approved", held).await;
        let refusals = |limit| refused_events::forget(pool, now - REFUSALS_KEPT, limit);
        self.finish("old refusals forgotten", refusals).await;
        let logins = |limit| cli_logins::forget(pool, now - LOGINS_KEPT, limit);
        self.finish("old CLI logins forgotten", logins).await;
        let ended = |limit| sessions::forget(pool, now - ENDED_SESSIONS_KEPT, limit);
        self.finish("ended sessions forgotten", ended).await;
        let expired = |limit| emails::give_up_expired(pool, now, limit);
        self.finish("expired e-mails given up", expired).await;
        let sent = |limit| emails::forget(pool, now - EMAILS_KEPT, limit);
        self.finish("old e-mails forgotten", sent).await;
        let links = |limit| one_time_links::forget(pool, now - EMAILS_KEPT, limit);
        self.finish("old one-time links forgotten", links).await;
        let horizon = now - PROCESSOR_EVENTS_KEPT;
        let parked = |limit| processor_events::give_up_parked(pool, horizon, limit);
        self.finish("processor events given up that waited for a sale", parked)
            .await;
        let old = |limit| processor_events::forget(pool, horizon, limit);
        self.finish("old processor events forgotten", old).await;
    }

    async fn keep_outbound_days(&self, today: NaiveDate) -> StorageResult<u64> {
        partitions::ensure_outbound_days(&self.pool, today, DAYS_AHEAD).await?;
        let mut dropped = 0;
        if let Some(horizon) = today.checked_sub_days(OUTBOUND_EVENTS_KEPT) {
            while partitions::retire_outbound_day(&self.pool, horizon)
                .await?
                .is_some()
            {
                dropped += 1;
            }
        }
        Ok(dropped)
    }

    async fn drop_visitors(&self, now: DateTime<Utc>, horizon: NaiveDate) {
        let mut visitors = 0;
        for _ in 0..SLICES_OF_CUSTOMERS {
            if self.lifecycle.soft().is_cancelled() {
                break;
            }
            match visitor_retention::drop_some(&self.pool, now, horizon, ROWS_A_STATEMENT).await {
                Ok(Some(dropped)) => visitors += dropped,
                Ok(None) => break,
                Err(error) => {
                    report("visitors dropped", Err(error));
                    break;
                }
            }
        }
        report("visitors dropped", Ok(visitors));
    }

    /// Repeats a statement until it handles fewer rows than its limit, to keep up with any rate of sales.
    async fn finish<F>(&self, what: &'static str, mut handle: impl FnMut(i64) -> F)
    where
        F: Future<Output = StorageResult<u64>>,
    {
        let full = ROWS_A_STATEMENT.unsigned_abs();
        while !self.lifecycle.soft().is_cancelled() {
            let handled = handle(ROWS_A_STATEMENT).await;
            let more = matches!(handled, Ok(rows) if rows >= full);
            report(what, handled);
            if !more {
                return;
            }
        }
    }
}

/// Uses one transaction per partition: each drop blocks all clicks for a moment.
async fn retire(pool: &PgPool, horizon: NaiveDate) -> StorageResult<u64> {
    while let Some(partition) = partitions::retire(pool, horizon).await? {
        tracing::info!(partition, "upkeep: old events dropped");
    }
    partitions::retire_strays(pool, horizon, ROWS_A_STATEMENT).await
}

/// The next round retries.
fn report(what: &'static str, done: StorageResult<u64>) {
    match done {
        Ok(0) => {}
        Ok(rows) => tracing::info!(what, rows, "upkeep"),
        Err(error) => tracing::warn!(what, %error, "upkeep failed"),
    }
}
