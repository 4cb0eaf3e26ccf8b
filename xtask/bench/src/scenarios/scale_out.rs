//! One, two and four workers on the same durable consumers, each with a share of a core.
//!
//! Two ingests accept clicks while no worker runs, until enough wait. One worker settles them, then two, then four, each number for a
//! while. Workers are replaced while the rest is settled, and `ctl verify` runs at the end. The links' counters are compared: a click
//! increments its counter once, in the transaction that stores it.
//!
//! The share is set by a cgroup. If this machine does not allow that, the figures say nothing about scaling, and the scenario prints so.

mod share;

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use harness::progress::{Step, note};

use self::share::Share;
use crate::environment::{BenchEnvironment, Group};
use crate::load::Load;
use crate::market::Size;
use crate::outcome::Outcome;
use crate::requests::Target;

/// No customers: every click is a new visitor's.
pub(super) const EMPTY: Size = Size {
    customers: 0,
    hot_customers: 0,
    visitors: 0,
};
const INGESTS: [&str; 2] = ["ingest", "ingest-2"];
/// Workers started before each measurement.
const ADDED: [&[&str]; 3] = [&["worker-1"], &["worker-2"], &["worker-3", "worker-4"]];
/// Connections to each ingest.
const CONNECTIONS: usize = 8;
/// Length of a round of accepting clicks; repeated until enough are waiting.
const LOAD: Duration = Duration::from_millis(500);
/// Warm-up of a new worker.
const WARM: Duration = Duration::from_secs(2);
const SETTLING: Duration = Duration::from_mins(5);
const DATABASE_BYTES: &str = "SELECT pg_database_size(current_database())";

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Percent of a core for each worker: four of them must leave a core to PostgreSQL.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    percent: u32,
    /// Minimum backlog of clicks before the first worker starts.
    #[arg(long, default_value_t = 160_000)]
    clicks: u64,
    /// Length of each measurement.
    #[arg(long, default_value_t = 5)]
    seconds: u64,
}

pub(super) fn measure(bench: &mut BenchEnvironment<'_>, options: &Options) -> Result<()> {
    let empty = bench.count(DATABASE_BYTES)?;
    let accepted = accept(bench, options.clicks)?;
    // Dropped after the workers in them have ended.
    let mut shares = Vec::new();
    let mut rates = Vec::new();
    let mut workers = 0;
    for added in ADDED {
        for name in added {
            shares.push(start(bench, name, options.percent)?);
        }
        workers += added.len();
        rates.push((workers, settled_a_second(bench, workers, accepted, options)?));
    }
    for name in ADDED.into_iter().take(2).flatten() {
        bench.stop(name)?;
        shares.push(start(bench, name, options.percent)?);
    }
    settle(bench, accepted)?;
    let verified = bench.ctl(&["verify"]).context("invariants are violated")?;
    print(&rates, options, shares.iter().all(Share::holds));
    let bytes = (bench.count(DATABASE_BYTES)? - empty) / accepted.max(1);
    println!("A click of a new customer takes {bytes} bytes in PostgreSQL, with its indexes.");
    note(format_args!(
        "ctl verify: {} invariants hold",
        verified.lines().count()
    ));
    for name in ADDED.into_iter().flatten() {
        bench.stop(name)?;
    }
    Ok(())
}

fn start(bench: &mut BenchEnvironment<'_>, name: &'static str, percent: u32) -> Result<Share> {
    bench.start(name, "worker")?;
    let pid = bench.running.process(name).context("the worker has ended")?.pid;
    Ok(Share::of(name, pid, percent))
}

/// Returns the number of waiting clicks.
fn accept(bench: &mut BenchEnvironment<'_>, wanted: u64) -> Result<u64> {
    let mut ingests: Vec<SocketAddr> = Vec::new();
    for name in INGESTS {
        ingests.push(bench.start(name, "ingest")?);
    }
    let step = Step::start(format_args!("Accepting {wanted} clicks while no worker runs"));
    let mut accepted = 0;
    while accepted < wanted {
        let mut group: Group<'_> = Vec::new();
        for address in &ingests {
            let clicks = bench.clicks(Target::Spread);
            group.push((Load::closed(*address, CONNECTIONS, LOAD), Box::new(clicks)));
        }
        let [outcomes] = bench.together([group])?;
        for outcome in &outcomes {
            ensure!(
                outcome.lost() == 0,
                "clicks were not accepted: {}",
                outcome.losses()
            );
        }
        accepted += outcomes.iter().map(Outcome::ok).sum::<u64>();
    }
    step.done(format_args!("{accepted} accepted"));
    Ok(accepted)
}

fn settled_a_second(
    bench: &BenchEnvironment<'_>,
    workers: usize,
    accepted: u64,
    options: &Options,
) -> Result<u64> {
    let step = Step::start(format_args!("{workers} workers"));
    let pause = |time| bench.interrupt.wait_until(time, || Ok(false));
    pause(WARM)?;
    let (before, started) = (bench.stored_clicks()?, Instant::now());
    pause(Duration::from_secs(options.seconds))?;
    let after = bench.stored_clicks()?;
    ensure!(
        after < accepted,
        "everything is settled before {workers} workers were measured: give more --clicks"
    );
    let milliseconds = u64::try_from(started.elapsed().as_millis())?.max(1);
    let rate = (after - before) * 1_000 / milliseconds;
    step.done(format_args!("{rate} clicks a second"));
    Ok(rate)
}

fn settle(bench: &BenchEnvironment<'_>, accepted: u64) -> Result<()> {
    let step = Step::start("Settling the rest");
    let mut settled = 0;
    let done = bench.interrupt.wait_until(SETTLING, || {
        settled = bench.stored_clicks()?;
        Ok(settled >= accepted)
    })?;
    if !done || settled != accepted {
        bail!("{accepted} clicks were accepted, {settled} are counted");
    }
    step.done("each of them once");
    Ok(())
}

fn print(rates: &[(usize, u64)], options: &Options, is_limited: bool) {
    println!("\n| workers | clicks settled a second | of one worker's |\n|---|---|---|");
    let one = rates.first().map_or(1, |(_, rate)| *rate).max(1);
    for (workers, rate) in rates {
        let tenths = (rate * 10 + one / 2) / one;
        println!("| {workers} | {rate} | {}.{} × |", tenths / 10, tenths % 10);
    }
    if is_limited {
        println!("\nEach worker had {} % of one core.", options.percent);
    } else {
        println!("\nThis machine sets no limits for us: the figures say nothing about scaling.");
    }
}
