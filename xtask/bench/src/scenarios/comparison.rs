//! The service and the baselines, on the same servers.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Result;
use harness::progress::{Step, note};
use harness::services::INGEST;
use sqlx::PgPool;

use super::Effort;
use crate::environment::{BenchEnvironment, Measured};
use crate::load::{Load, Requests};
use crate::outcome::{Outcome, float};
use crate::report::Report;
use crate::requests::{Sales, Target};
use crate::usage::shown;

/// Processes that only help to measure.
const AIDS: [&str; 4] = ["driver", "constant", "baseline", "baseline-hot"];
/// The two numbers of connections in the goals.
pub(super) const FEW: usize = 64;
pub(super) const MANY: usize = 1_000;
/// The pool sizes with which the baseline is fastest.
const POOL_SPREAD: &str = "16";
const POOL_HOT: &str = "4";

/// For sales and for clicks.
const WARMING_UP: Duration = Duration::from_secs(1);

/// With what was measured of them.
pub(super) struct Comparison<'a> {
    pub(super) bench: BenchEnvironment<'a>,
    pub(super) report: Report,
    pub(super) ingest: SocketAddr,
    pub(super) constant: SocketAddr,
    pub(super) baseline: SocketAddr,
    pub(super) baseline_hot: SocketAddr,
    baselines: PgPool,
    pub(super) effort: Effort,
    /// Unique for each load.
    runs: u32,
}

impl<'a> Comparison<'a> {
    pub(super) fn open(mut bench: BenchEnvironment<'a>, effort: Effort) -> Result<Self> {
        let (url, baselines) = bench.other_database("baseline")?;
        let of_pool = |size| [("DATABASE_URL", url.as_str()), ("POOL", size)];
        bench.start("worker", "worker")?;
        let mut comparison = Self {
            constant: bench.start_other("constant", "constant", &[])?,
            baseline: bench.start_other("baseline", "baseline", &of_pool(POOL_SPREAD))?,
            baseline_hot: bench.start_other("baseline-hot", "baseline", &of_pool(POOL_HOT))?,
            ingest: bench.start(INGEST, INGEST)?,
            baselines,
            effort,
            runs: 0,
            report: Report::default(),
            bench,
        };
        comparison.warm_up()?;
        Ok(comparison)
    }

    /// Sends some of every request, then analyses the tables, so that no plan is for an empty table.
    fn warm_up(&mut self) -> Result<()> {
        let step = Step::start("Warming up");
        for statement in ["ALTER SYSTEM SET autovacuum = off", "SELECT pg_reload_conf()"] {
            self.bench.execute(statement)?;
        }
        for address in [self.ingest, self.baseline] {
            let load = Load::closed(address, FEW, WARMING_UP);
            let mut sales = self.sales(Target::Spread);
            self.bench.run(&load, &mut sales)?;
            let mut clicks = self.bench.clicks(Target::Spread);
            self.bench.run(&load, &mut clicks)?;
        }
        self.tidy()?;
        step.done("plans are for tables with rows");
        Ok(())
    }

    /// Settles the backlog and vacuums, because autovacuum is off during measurements.
    pub(super) fn tidy(&mut self) -> Result<()> {
        self.bench.settle()?;
        for pool in [&self.bench.pool, &self.baselines] {
            let vacuum = sqlx::raw_sql("VACUUM (ANALYZE)").execute(pool);
            self.bench.runtime.block_on(vacuum)?;
        }
        self.bench.checkpoint()
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

    /// Sales of one load.
    pub(super) fn sales(&mut self, target: Target) -> Sales {
        let run = self.run_name();
        Sales::new(&self.bench.market, target, &run)
    }

    /// Closed loop, with this number of connections.
    pub(super) fn closed(
        &mut self,
        name: &str,
        address: SocketAddr,
        connections: usize,
        requests: &mut dyn Requests,
    ) -> Result<Measured> {
        self.bench.checkpoint()?;
        let load = Load::closed(address, connections, self.length());
        let measured = self.bench.run(&load, requests)?;
        let rate = measured.outcome.rate();
        print_measured(&format!("{name}, {connections} at once: {rate:.0}/s"), &measured);
        Ok(measured)
    }

    /// Open loop, at a fixed rate.
    pub(super) fn open_loop(
        &mut self,
        name: &str,
        address: SocketAddr,
        rate: f64,
        requests: &mut dyn Requests,
    ) -> Result<Outcome> {
        self.bench.checkpoint()?;
        let load = Load::open(address, 4 * FEW, rate, self.length());
        let measured = self.bench.run(&load, requests)?;
        let answers = &measured.outcome.answers;
        print_measured(&format!("{name}, {rate:.0}/s: {answers}"), &measured);
        Ok(measured.outcome)
    }

    /// Adds one round's costs: CPU time of each process, and requests in a message and a commit.
    pub(super) fn add_costs(&mut self, what: &str, measured: &Measured) {
        let ours = measured
            .costs
            .iter()
            .filter(|(process, _)| !AIDS.contains(&process.as_str()));
        for (process, micros) in ours {
            self.report
                .add_round(format!("CPU per {what}: {process}"), *micros, "µs");
        }
        let packing = packing(measured).into_iter().flatten();
        for (quantile, size) in ["p10", "p50", "p99"].iter().zip(packing) {
            let size = f64::from(u32::try_from(size).unwrap_or(u32::MAX));
            self.report
                .add_round(format!("{what}s a message: {quantile}"), size, "");
        }
        let commit = requests_a_commit(measured);
        self.report.add_round(format!("{what}s a commit"), commit, "");
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
