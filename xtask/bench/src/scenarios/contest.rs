//! The service and what it is held against, side by side on the same servers.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Result;
use harness::progress::{Step, note};
use harness::services::INGEST;
use sqlx::PgPool;

use super::Effort;
use crate::ceilings;
use crate::load::{Load, Requests};
use crate::market::Market;
use crate::outcome::{Outcome, float, median};
use crate::place::{Measured, Place};
use crate::report::{Report, Row};
use crate::requests::{Sales, Target};
use crate::serve::What;
use crate::usage::{resident, shown};

/// Connections at once: the lesser and the greater number of the goals.
pub(super) const FEW: usize = 64;
pub(super) const MANY: usize = 1_000;
/// The rival's pools, as they suit it best.
const POOL_SPREAD: &str = "16";
const POOL_HOT: &str = "4";

/// Of sales, and of clicks.
const WARMING_UP: Duration = Duration::from_secs(1);

pub(super) struct Contest {
    pub(super) ingest: SocketAddr,
    pub(super) constant: SocketAddr,
    pub(super) rival: SocketAddr,
    pub(super) rival_hot: SocketAddr,
    ceiling: (PgPool, Market),
    rivals: PgPool,
    pub(super) effort: Effort,
    /// Unlike for any other load.
    runs: u32,
}

impl Contest {
    pub(super) fn open(place: &mut Place<'_>, effort: Effort) -> Result<Self> {
        let (url, rivals, _) = place.other_database("rival")?;
        let (_, pool, market) = place.other_database("ceiling")?;
        let of_pool = |size| [("DATABASE_URL", url.as_str()), ("POOL", size)];
        place.start("worker", "worker")?;
        let mut contest = Self {
            constant: place.start_other("constant", What::Constant, &[])?,
            rival: place.start_other("rival", What::Rival, &of_pool(POOL_SPREAD))?,
            rival_hot: place.start_other("rival-hot", What::Rival, &of_pool(POOL_HOT))?,
            ingest: place.start(INGEST, INGEST)?,
            ceiling: (pool, market),
            rivals,
            effort,
            runs: 0,
        };
        contest.warm_up(place)?;
        Ok(contest)
    }

    /// A little of everything: statements that were prepared on empty tables are planned again afterwards, as they are within
    /// the first minute elsewhere. Nobody is measured by plans for no rows.
    fn warm_up(&mut self, place: &mut Place<'_>) -> Result<()> {
        let step = Step::start("Warming up");
        for statement in ["ALTER SYSTEM SET autovacuum = off", "SELECT pg_reload_conf()"] {
            place
                .runtime
                .block_on(sqlx::raw_sql(statement).execute(&place.pool))?;
        }
        let market = place.market.clone();
        for address in [self.ingest, self.rival] {
            let load = Load::closed(address, FEW, WARMING_UP);
            let mut sales = Sales::new(&market, Target::Spread, &self.run_name());
            place.run(&load, &mut sales)?;
            let mut clicks = place.clicks(Target::Spread);
            place.run(&load, &mut clicks)?;
        }
        self.tidy(place)?;
        step.done("plans are for tables with rows");
        Ok(())
    }

    /// Everything settled, and done what autovacuum does elsewhere: it would befall one measurement and not the other.
    pub(super) fn tidy(&self, place: &mut Place<'_>) -> Result<()> {
        place.settle()?;
        for pool in [&place.pool, &self.rivals] {
            place
                .runtime
                .block_on(sqlx::raw_sql("VACUUM (ANALYZE)").execute(pool))?;
        }
        place.checkpoint()
    }

    /// Of one load.
    pub(super) fn length(&self) -> Duration {
        Duration::from_secs(if self.effort.quick { 3 } else { 8 })
    }

    /// A name for the ids of one load.
    pub(super) fn run_name(&mut self) -> String {
        self.runs += 1;
        format!("r{}", self.runs)
    }

    /// As fast as it goes, with so many connections.
    pub(super) fn closed(
        &self,
        place: &mut Place<'_>,
        name: &str,
        address: SocketAddr,
        connections: usize,
        requests: &mut dyn Requests,
    ) -> Result<Measured> {
        place.checkpoint()?;
        let load = Load::closed(address, connections, self.length());
        let measured = place.run(&load, requests)?;
        let rate = measured.outcome.rate();
        tell(&format!("{name}, {connections} at once: {rate:.0}/s"), &measured);
        Ok(measured)
    }

    /// At a fixed rate.
    pub(super) fn open_loop(
        &self,
        place: &mut Place<'_>,
        name: &str,
        address: SocketAddr,
        rate: f64,
        requests: &mut dyn Requests,
    ) -> Result<Outcome> {
        place.checkpoint()?;
        let load = Load::open(address, 4 * FEW, rate, self.length());
        let measured = place.run(&load, requests)?;
        tell(
            &format!("{name}, {rate:.0}/s: {}", measured.outcome.all()),
            &measured,
        );
        Ok(measured.outcome)
    }

    /// (J), (C), (S) and (F), for the page: goals name only some of them.
    pub(super) fn stages(&self, place: &mut Place<'_>, report: &mut Report) -> Result<()> {
        let (pool, market) = &self.ceiling;
        let context = place.jetstream()?;
        let (mut jetstream, mut clicks, mut disk) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..self.effort.rounds() {
            jetstream.push(
                place
                    .runtime
                    .block_on(ceilings::jetstream(&context, self.length()))?,
            );
            clicks.push(
                place
                    .runtime
                    .block_on(ceilings::clicks(pool, market, self.length()))?,
            );
            disk.push(ceilings::fdatasync(&place.area.dir, self.length() / 4)?);
        }
        report.add(Row::of("(J) JetStream, clicks packed", median(&jetstream), "/s"));
        report.add(Row::of("(C) Postgres, clicks in batches", median(&clicks), "/s"));
        report.add(Row::of("(F) one fdatasync", median(&disk), "ms"));
        Ok(())
    }

    /// (S)
    pub(super) fn sale_batches(&self, place: &Place<'_>) -> Result<f64> {
        let (pool, market) = &self.ceiling;
        place.checkpoint()?;
        let rate = place
            .runtime
            .block_on(ceilings::sales(pool, market, self.length()))?;
        note(format_args!("(S) sales in batches: {rate:.0}/s"));
        Ok(rate)
    }

    /// MiB of the edge and the worker: peaks so far.
    pub(super) fn memory(place: &Place<'_>) -> Vec<(&'static str, f64)> {
        of_both(place, |(_, peak)| peak)
    }

    pub(super) fn memory_now(place: &Place<'_>) -> Vec<(&'static str, f64)> {
        of_both(place, |(now, _)| now)
    }
}

fn of_both(place: &Place<'_>, which: fn((f64, f64)) -> f64) -> Vec<(&'static str, f64)> {
    ["ingest", "worker"]
        .into_iter()
        .filter_map(|name| Some((name, which(resident(&place.running.process(name)?)))))
        .collect()
}

fn tell(what: &str, measured: &Measured) {
    let outcome = &measured.outcome;
    let losses = if outcome.lost() > 0 {
        format!("; {}", outcome.losses())
    } else {
        String::new()
    };
    let batches = match packing(measured) {
        Some([few, half, many]) => format!(
            "; {few} to {many} a message, half of them with {half} or more; {:.1} a commit",
            requests_a_commit(measured)
        ),
        None => String::new(),
    };
    note(format_args!(
        "{what}{losses}\n      {}{batches}",
        shown(&measured.costs)
    ));
}

/// How many requests share a message: a tenth of the messages have at most the first, half at most the second, and all but
/// a hundredth the third. `None` for what makes no message.
fn packing(measured: &Measured) -> Option<[usize; 3]> {
    let sizes = &measured.records_a_message;
    let last = sizes.len().checked_sub(1)?;
    let at = |percent: usize| sizes.get(last * percent / 100).copied();
    Some([at(10)?, at(50)?, at(99)?])
}

fn requests_a_commit(measured: &Measured) -> f64 {
    float(measured.outcome.ok()) / float(measured.commits.max(1))
}

/// What one kind of request took in one round: CPU time of each process, and how many shared a message and a commit.
pub(super) fn add_costs(report: &mut Report, what: &str, measured: &Measured) {
    for (process, micros) in &measured.costs {
        report.add_round(format!("CPU a {what}: {process}"), *micros, "µs");
    }
    for (quantile, size) in ["p10", "p50", "p99"]
        .iter()
        .zip(packing(measured).into_iter().flatten())
    {
        let size = u32::try_from(size).unwrap_or(u32::MAX);
        report.add_round(format!("{what}s a message: {quantile}"), f64::from(size), "");
    }
    let commit = requests_a_commit(measured);
    report.add_round(format!("{what}s a commit"), commit, "");
}
