//! Clicks: accepted rate, settled rate, latency, memory.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Result;
use harness::progress::{Step, note};

use super::comparison::{Comparison, FEW, MANY, add_costs};
use crate::environment::BenchEnvironment;
use crate::load::Load;
use crate::outcome::{float, median, per_second};
use crate::report::{Goal, Report, Rounds, Row};
use crate::requests::Target;

const CONNECTIONS: [usize; 3] = [FEW, 256, MANY];
/// Steps of the search for the settled rate.
const AT_ONCE: usize = 256;
const TRIES: usize = 6;
const STEP: f64 = 1.15;
/// Seconds of load that may be in flight between the 200 and the tables.
const UNDER_WAY: f64 = 0.5;

/// Goals 1, 2 and 6. Returns the highest settled rate, in clicks a second.
pub(super) fn measure(
    bench: &mut BenchEnvironment<'_>,
    comparison: &mut Comparison,
    report: &mut Report,
) -> Result<f64> {
    let mut rounds = Rounds::default();
    for round in 1..=comparison.effort.rounds() {
        let step = Step::start(format_args!("Clicks, round {round}"));
        let constant = best(bench, comparison, "(H) constant", comparison.constant, None)?;
        rounds.add("H", constant);
        let mut clicks = bench.clicks(Target::Spread);
        let baseline = comparison.closed(bench, "(R) baseline", comparison.baseline, FEW, &mut clicks)?;
        rounds.add("R", baseline.outcome.rate());
        // Accepting alone; the backlog is settled afterwards.
        bench.stop("worker")?;
        let accepted = best(
            bench,
            comparison,
            "accepted",
            comparison.ingest,
            Some(&mut *report),
        )?;
        rounds.add("accepted", accepted);
        bench.start("worker", "worker")?;
        rounds.add("settled", settled(bench, comparison)?);
        step.done("measured");
    }
    for (row, figure, other, least) in [
        ("1 clicks accepted", "accepted", "H", 0.5),
        ("1 clicks accepted, to the baseline", "accepted", "R", 14.0),
        ("2 clicks settled as they come", "settled", "H", 0.3),
    ] {
        report.add(rounds.row(row, figure, "/s", other, Goal::AtLeast(least)));
    }
    latency(bench, comparison, report, &rounds)?;
    Ok(rounds.median("settled"))
}

/// The highest rate over the numbers of connections.
fn best(
    bench: &mut BenchEnvironment<'_>,
    comparison: &Comparison,
    name: &str,
    address: SocketAddr,
    mut report: Option<&mut Report>,
) -> Result<f64> {
    let mut best = 0.0;
    for connections in CONNECTIONS {
        let mut clicks = bench.clicks(Target::Spread);
        let measured = comparison.closed(bench, name, address, connections, &mut clicks)?;
        if measured.outcome.rate() > best {
            best = measured.outcome.rate();
            if let Some(report) = report.as_deref_mut() {
                add_costs(report, "accepted click", &measured);
            }
        }
    }
    Ok(best)
}

/// At half of the baseline's rate, and at half of our settled and accepted rates; only the settled rate is
/// sustainable.
fn latency(
    bench: &mut BenchEnvironment<'_>,
    comparison: &Comparison,
    report: &mut Report,
    rates: &Rounds,
) -> Result<()> {
    let _step = Step::start("Latency of clicks");
    let mut rounds = Rounds::default();
    for _ in 0..comparison.effort.rounds() {
        comparison.tidy(bench)?;
        for (name, figure, address) in [
            ("(R) baseline", "R", comparison.baseline),
            ("clicks", "ours", comparison.ingest),
        ] {
            let mut clicks = bench.clicks(Target::Spread);
            let half = comparison.open_loop(bench, name, address, rates.median("R") / 2.0, &mut clicks)?;
            rounds.add(figure, half.answers.quantile(0.99));
        }
        for what in ["settled", "accepted"] {
            let mut clicks = bench.clicks(Target::Spread);
            let rate = rates.median(what) / 2.0;
            let half = comparison.open_loop(bench, "clicks", comparison.ingest, rate, &mut clicks)?;
            rounds.add(&format!("{what}: p99"), half.answers.quantile(0.99));
            rounds.add(&format!("{what}: p99.9"), half.answers.quantile(0.999));
            bench.settle()?;
        }
    }
    report.add(rounds.row(
        "6 click at half of R's rate: p99",
        "ours",
        "ms",
        "R",
        Goal::AtMost(1.0),
    ));
    for (figure, most) in [
        ("settled: p99", 5.0),
        ("settled: p99.9", 20.0),
        ("accepted: p99", 15.0),
        ("accepted: p99.9", 50.0),
    ] {
        let name = format!("6 click at half of what is {figure}");
        report.add(Row::of(name, rounds.median(figure), "ms").goal(Goal::AtMost(most)));
    }
    bench.settle()
}

/// Searches for the highest rate at which clicks are stored as fast as they are accepted.
///
/// Starts at the storing rate under unbounded load, and goes up while the backlog stays bounded, otherwise
/// down.
fn settled(bench: &mut BenchEnvironment<'_>, comparison: &Comparison) -> Result<f64> {
    bench.settle()?;
    let before = bench.stored_clicks()?;
    let mut clicks = bench.clicks(Target::Spread);
    let load = Load::closed(comparison.ingest, AT_ONCE, comparison.length());
    let outcome = bench.run(&load, &mut clicks)?.outcome;
    let mut rate = per_second(bench.stored_clicks()? - before, outcome.lasted).min(outcome.rate());
    let mut best = 0.0;
    for _ in 0..TRIES {
        if holds(bench, comparison, rate)? {
            best = rate;
            rate *= STEP;
        } else if best > 0.0 {
            break;
        } else {
            rate /= STEP;
        }
    }
    Ok(best)
}

/// Whether clicks are settled at this rate.
fn holds(bench: &mut BenchEnvironment<'_>, comparison: &Comparison, rate: f64) -> Result<bool> {
    bench.settle()?;
    let before = bench.stored_clicks()?;
    let length = comparison.length();
    let mut clicks = bench.clicks(Target::Spread);
    let load = Load::open(comparison.ingest, AT_ONCE, rate, length);
    let outcome = bench.run(&load, &mut clicks)?.outcome;
    let stored = bench.stored_clicks()?;
    // Includes clicks that were accepted late.
    let late = outcome.lasted.saturating_sub(length).as_secs_f64();
    let behind = float((before + outcome.ok()).saturating_sub(stored)) + rate * late;
    note(format_args!(
        "settling {rate:.0} clicks a second: {behind:.0} under way at the end; {}",
        outcome.losses()
    ));
    Ok(outcome.lost() == 0 && behind <= rate * UNDER_WAY)
}

/// Goal 9: memory of the edge and the worker at the highest rate that is settled.
pub(super) fn memory(
    bench: &mut BenchEnvironment<'_>,
    comparison: &Comparison,
    report: &mut Report,
    settled: f64,
) -> Result<()> {
    let step = Step::start("Memory under load");
    let (pieces, seconds) = if comparison.effort.quick { (3, 5) } else { (20, 30) };
    let mut rounds = Rounds::default();
    for _ in 0..pieces {
        let mut clicks = bench.clicks(Target::Spread);
        let load = Load::open(comparison.ingest, MANY, settled, Duration::from_secs(seconds));
        bench.run(&load, &mut clicks)?;
        for (name, memory) in bench.memory() {
            rounds.add(name, memory.now);
        }
        // Only empties the streams: there is no backlog.
        bench.settle()?;
    }
    for (name, most) in [("ingest", 81.0), ("worker", 61.0)] {
        let samples = rounds.of(name);
        let peak = samples.iter().copied().fold(0.0, f64::max);
        report.add(Row::of(format!("9 memory of {name}: peak"), peak, "MiB").goal(Goal::AtMost(most)));
        // The median of a quarter: a single sample depends on the queues at that moment.
        let quarters: Vec<f64> = samples
            .chunks(samples.len().div_ceil(4).max(1))
            .map(median)
            .collect();
        let (Some(first), Some(last)) = (quarters.first(), quarters.last()) else {
            continue;
        };
        note(format_args!("{name}, MiB: {samples:.0?}"));
        let minutes = float(pieces * seconds) / 60.0;
        let name = format!("9 memory of {name}, last quarter of {minutes:.1} minutes");
        report.add(Row::of(name, *last, "MiB").against("its first quarter", *first, Goal::AtMost(1.1)));
    }
    step.done("measured");
    Ok(())
}
