//! The service and the baselines, on the same servers.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Result;
use harness::progress::{Step, note};
use harness::services::INGEST;
use sqlx::PgPool;

use crate::effort::Effort;
use crate::environment::{BenchEnvironment, Measured};
use crate::load::{Load, Requests};
use crate::outcome::{Outcome, float};
use crate::report::Report;
use crate::requests::{Sales, Target};
use crate::serve::What;
use crate::usage::shown;

/// The two numbers of connections in the goals.
pub(super) const FEW: usize = 64;
pub(super) const MANY: usize = 1_000;
/// The pool sizes with which the baseline is fastest.
const POOL_SPREAD: &str = "16";
const POOL_HOT: &str = "4";

/// For sales and for clicks.
const WARMING_UP: Duration = Duration::from_secs(1);

pub(super) struct Comparison {
    pub(super) ingest: SocketAddr,
    pub(super) constant: SocketAddr,
    pub(super) baseline: SocketAddr,
    pub(super) baseline_hot: SocketAddr,
    baselines: PgPool,
    pub(super) effort: Effort,
    /// Unique for each load.
    runs: u32,
}

impl Comparison {
    pub(super) fn open(bench: &mut BenchEnvironment<'_>, effort: Effort) -> Result<Self> {
        let (url, baselines) = bench.other_database("baseline")?;
        let of_pool = |size| [("DATABASE_URL", url.as_str()), ("POOL", size)];
        bench.start("worker", "worker")?;
        let mut comparison = Self {
            constant: bench.start_other("constant", What::Constant, &[])?,
            baseline: bench.start_other("baseline", What::Baseline, &of_pool(POOL_SPREAD))?,
            baseline_hot: bench.start_other("baseline-hot", What::Baseline, &of_pool(POOL_HOT))?,
            ingest: bench.start(INGEST, INGEST)?,
            baselines,
            effort,
            runs: 0,
        };
        comparison.warm_up(bench)?;
        Ok(comparison)
    }

    /// Sends some of every request, then analyses the tables, so that no plan is for an empty table.
    fn warm_up(&mut self, bench: &mut BenchEnvironment<'_>) -> Result<()> {
        let step = Step::start("Warming up");
        for statement in ["ALTER SYSTEM SET autovacuum = off", "SELECT pg_reload_conf()"] {
            bench
                .runtime
                .block_on(sqlx::raw_sql(statement).execute(&bench.pool))?;
        }
        let market = bench.market.clone();
        for address in [self.ingest, self.baseline] {
            let load = Load::closed(address, FEW, WARMING_UP);
            let mut sales = Sales::new(&market, Target::Spread, &self.run_name());
            bench.run(&load, &mut sales)?;
            let mut clicks = bench.clicks(Target::Spread);
            bench.run(&load, &mut clicks)?;
        }
        self.tidy(bench)?;
        step.done("plans are for tables with rows");
        Ok(())
    }

    /// Settles the backlog and vacuums, because autovacuum is off during measurements.
    pub(super) fn tidy(&self, bench: &mut BenchEnvironment<'_>) -> Result<()> {
        bench.settle()?;
        for pool in [&bench.pool, &self.baselines] {
            bench
                .runtime
                .block_on(sqlx::raw_sql("VACUUM (ANALYZE)").execute(pool))?;
        }
        bench.checkpoint()
    }

    /// Length of one load.
    pub(super) fn length(&self) -> Duration {
        Duration::from_secs(if self.effort.quick { 3 } else { 8 })
    }

    /// A unique prefix for ids of one load.
    pub(super) fn run_name(&mut self) -> String {
        self.runs += 1;
        format!("r{}", self.runs)
    }

    /// Closed loop, with this number of connections.
    pub(super) fn closed(
        &self,
        bench: &mut BenchEnvironment<'_>,
        name: &str,
        address: SocketAddr,
        connections: usize,
        requests: &mut dyn Requests,
    ) -> Result<Measured> {
        bench.checkpoint()?;
        let load = Load::closed(address, connections, self.length());
        let measured = bench.run(&load, requests)?;
        let rate = measured.outcome.rate();
        print_measured(&format!("{name}, {connections} at once: {rate:.0}/s"), &measured);
        Ok(measured)
    }

    /// Open loop, at a fixed rate.
    pub(super) fn open_loop(
        &self,
        bench: &mut BenchEnvironment<'_>,
        name: &str,
        address: SocketAddr,
        rate: f64,
        requests: &mut dyn Requests,
    ) -> Result<Outcome> {
        bench.checkpoint()?;
        let load = Load::open(address, 4 * FEW, rate, self.length());
        let measured = bench.run(&load, requests)?;
        print_measured(
            &format!("{name}, {rate:.0}/s: {}", measured.outcome.answers),
            &measured,
        );
        Ok(measured.outcome)
    }
}

fn print_measured(what: &str, measured: &Measured) {
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

/// p10, p50 and p99 of the requests in a message. `None` without messages.
fn packing(measured: &Measured) -> Option<[usize; 3]> {
    let sizes = &measured.records_a_message;
    let last = sizes.len().checked_sub(1)?;
    let at = |percent: usize| sizes.get(last * percent / 100).copied();
    Some([at(10)?, at(50)?, at(99)?])
}

fn requests_a_commit(measured: &Measured) -> f64 {
    float(measured.outcome.ok()) / float(measured.commits.max(1))
}

/// Adds one round's costs: CPU time of each process, and requests in a message and a commit.
pub(super) fn add_costs(report: &mut Report, what: &str, measured: &Measured) {
    for (process, micros) in &measured.costs {
        report.add_round(format!("CPU per {what}: {process}"), *micros, "µs");
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
