//! Clicks: accepted rate, settled rate, latency, memory.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Result;
use harness::progress::{Step, note};

use super::comparison::{Comparison, FEW, MANY, add_costs};
use crate::environment::BenchEnvironment;
use crate::load::Load;
use crate::outcome::{Outcome, float, median, milliseconds, per_second};
use crate::report::{Goal, Report, Row};
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
    let (mut accepted, mut settled_rates) = (Vec::new(), Vec::new());
    let (mut constant, mut baseline) = (Vec::new(), Vec::new());
    for round in 1..=comparison.effort.rounds() {
        let step = Step::start(format_args!("Clicks, round {round}"));
        constant.push(best(
            bench,
            comparison,
            "(H) constant",
            comparison.constant,
            None,
        )?);
        let mut clicks = bench.clicks(Target::Spread);
        let of_baseline = comparison.closed(bench, "(R) baseline", comparison.baseline, FEW, &mut clicks)?;
        baseline.push(of_baseline.outcome.rate());
        // Accepting alone; the backlog is settled afterwards.
        bench.stop("worker")?;
        accepted.push(best(
            bench,
            comparison,
            "accepted",
            comparison.ingest,
            Some(&mut *report),
        )?);
        bench.start("worker", "worker")?;
        settled_rates.push(settled(bench, comparison)?);
        step.done("measured");
    }
    report.add(
        Row::of("1 clicks accepted", median(&accepted), "/s").against_rounds(
            "H",
            &accepted,
            &constant,
            Goal::AtLeast(0.5),
        ),
    );
    report.add(
        Row::of("1 clicks accepted, to the baseline", median(&accepted), "/s").against_rounds(
            "R",
            &accepted,
            &baseline,
            Goal::AtLeast(14.0),
        ),
    );
    report.add(
        Row::of("2 clicks settled as they come", median(&settled_rates), "/s").against_rounds(
            "H",
            &settled_rates,
            &constant,
            Goal::AtLeast(0.3),
        ),
    );
    let own = [
        ("settled", median(&settled_rates)),
        ("accepted", median(&accepted)),
    ];
    latency(bench, comparison, report, median(&baseline), own)?;
    Ok(median(&settled_rates))
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

/// At half of the baseline's rate, and at half of our settled and accepted rates; only the settled rate is sustainable.
fn latency(
    bench: &mut BenchEnvironment<'_>,
    comparison: &Comparison,
    report: &mut Report,
    baseline: f64,
    own: [(&str, f64); 2],
) -> Result<()> {
    let _step = Step::start("Latency of clicks");
    let (mut ours, mut baselines) = (Vec::new(), Vec::new());
    let mut halves = own.map(|_| (Vec::new(), Vec::new()));
    let p99 = |outcome: &Outcome| milliseconds(outcome.answers.quantile(0.99));
    for _ in 0..comparison.effort.rounds() {
        comparison.tidy(bench)?;
        for (name, address, rate, all) in [
            (
                "(R) baseline",
                comparison.baseline,
                baseline / 2.0,
                &mut baselines,
            ),
            ("clicks", comparison.ingest, baseline / 2.0, &mut ours),
        ] {
            let mut clicks = bench.clicks(Target::Spread);
            all.push(p99(&comparison.open_loop(
                bench,
                name,
                address,
                rate,
                &mut clicks,
            )?));
        }
        for ((_, rate), (p99s, tails)) in own.iter().zip(&mut halves) {
            let mut clicks = bench.clicks(Target::Spread);
            let half = comparison.open_loop(bench, "clicks", comparison.ingest, rate / 2.0, &mut clicks)?;
            p99s.push(p99(&half));
            tails.push(milliseconds(half.answers.quantile(0.999)));
            bench.settle()?;
        }
    }
    report.add(
        Row::of("6 click at half of R's rate: p99", median(&ours), "ms").against_rounds(
            "R",
            &ours,
            &baselines,
            Goal::AtMost(1.0),
        ),
    );
    for (((what, _), (p99s, tails)), goals) in own.iter().zip(&halves).zip([[5.0, 20.0], [15.0, 50.0]]) {
        for ((quantile, of), goal) in [("p99", p99s), ("p99.9", tails)].into_iter().zip(goals) {
            let name = format!("6 click at half of what is {what}: {quantile}");
            report.add(Row::of(name, median(of), "ms").goal(Goal::AtMost(goal)));
        }
    }
    bench.settle()
}

/// Searches for the highest rate at which clicks are stored as fast as they are accepted.
///
/// Starts at the storing rate under unbounded load, and goes up while the backlog stays bounded, otherwise down.
fn settled(bench: &mut BenchEnvironment<'_>, comparison: &Comparison) -> Result<f64> {
    bench.settle()?;
    let before = bench.stored_clicks()?;
    let mut clicks = bench.clicks(Target::Spread);
    let load = Load::closed(comparison.ingest, AT_ONCE, comparison.length());
    let outcome = bench.run(&load, &mut clicks)?.outcome;
    let mut rate = per_second(bench.stored_clicks()? - before, outcome.lasted).min(outcome.rate());
    let mut best = 0.0;
    for _ in 0..TRIES {
        match holds(bench, comparison, rate)? {
            Some(held) => {
                best = held;
                rate *= STEP;
            }
            None if best > 0.0 => break,
            None => rate /= STEP,
        }
    }
    Ok(best)
}

/// Whether clicks are settled at this rate.
fn holds(bench: &mut BenchEnvironment<'_>, comparison: &Comparison, rate: f64) -> Result<Option<f64>> {
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
    Ok((outcome.lost() == 0 && behind <= rate * UNDER_WAY).then_some(rate))
}

/// Goal 9: memory of the edge and the worker at the highest rate that is settled.
pub(super) fn memory(
    bench: &mut BenchEnvironment<'_>,
    comparison: &Comparison,
    report: &mut Report,
    settled: f64,
) -> Result<()> {
    let step = Step::start("Memory under load");
    let pieces = if comparison.effort.quick { 3 } else { 20 };
    let piece = Duration::from_secs(if comparison.effort.quick { 5 } else { 30 });
    let mut at_end = vec![Vec::new(); 2];
    for _ in 0..pieces {
        let mut clicks = bench.clicks(Target::Spread);
        bench.run(&Load::open(comparison.ingest, MANY, settled, piece), &mut clicks)?;
        for (all, (_, now)) in at_end.iter_mut().zip(Comparison::memory_now(bench)) {
            all.push(now);
        }
        // Only empties the streams: there is no backlog.
        bench.settle()?;
    }
    for (((name, _), now), most) in Comparison::memory(bench).iter().zip(&at_end).zip([81.0, 61.0]) {
        let peak = now.iter().copied().fold(0.0, f64::max);
        report.add(Row::of(format!("9 memory of {name}: peak"), peak, "MiB").goal(Goal::AtMost(most)));
        // The median of a quarter: a single sample depends on the queues at that moment.
        let quarters: Vec<f64> = now.chunks(now.len().div_ceil(4).max(1)).map(median).collect();
        let (Some(first), Some(last)) = (quarters.first(), quarters.last()) else {
            continue;
        };
        let samples: Vec<String> = now.iter().map(|mib| format!("{mib:.0}")).collect();
        note(format_args!("{name}, MiB: {}", samples.join(" ")));
        let minutes = f64::from(pieces) * piece.as_secs_f64() / 60.0;
        report.add(
            Row::of(
                format!("9 memory of {name}, last quarter of {minutes:.1} minutes"),
                *last,
                "MiB",
            )
            .against("its first quarter", *first, Goal::AtMost(1.1)),
        );
    }
    step.done("measured");
    Ok(())
}
