//! Sales: rate of answers, also for one partner only, latency, overload.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Result;
use harness::progress::Step;

use super::comparison::{Comparison, FEW, MANY, add_costs};
use crate::environment::BenchEnvironment;
use crate::load::Load;
use crate::outcome::{Outcome, float, median, milliseconds};
use crate::report::{Goal, Report, Row};
use crate::requests::{Sales, Target};

/// Concurrent calls under overload: more than the edge serves and queues (9 × 2,048), and fewer than a process may open files (often 20,000).
const FAR_TOO_MANY: usize = 19_200;

/// Sales a second that never meet.
const APART: f64 = 40.0;
/// A sale waits for its claim, its message and its rows.
const FSYNCS: f64 = 3.0;

/// Goals 3, 4, 5 and 12. Returns the highest rate, in sales a second.
pub(super) fn measure(
    bench: &mut BenchEnvironment<'_>,
    comparison: &mut Comparison,
    report: &mut Report,
) -> Result<f64> {
    let market = bench.market.clone();
    let (mut many, mut few, mut hot) = (Vec::new(), Vec::new(), Vec::new());
    let (mut baseline, mut baseline_hot) = (Vec::new(), Vec::new());
    for round in 1..=comparison.effort.rounds() {
        let step = Step::start(format_args!("Sales, round {round}"));
        comparison.tidy(bench)?;
        for (name, address, connections, target, all) in [
            (
                "(R) baseline",
                comparison.baseline,
                FEW,
                Target::Spread,
                &mut baseline,
            ),
            (
                "(R) baseline, hot",
                comparison.baseline_hot,
                FEW,
                Target::Hot,
                &mut baseline_hot,
            ),
            ("sales", comparison.ingest, MANY, Target::Spread, &mut many),
            ("sales", comparison.ingest, FEW, Target::Spread, &mut few),
            ("sales, hot", comparison.ingest, MANY, Target::Hot, &mut hot),
        ] {
            let run = comparison.run_name();
            let mut sales = Sales::new(&market, target, &run);
            let measured = comparison.closed(bench, name, address, connections, &mut sales)?;
            if name == "sales" && connections == MANY {
                add_costs(report, "sale", &measured);
            }
            all.push(measured.outcome.rate());
        }
        step.done("measured");
    }
    for (name, values, ceiling, ceilings, least) in [
        (
            "3 sales, 1,000 at once, to the baseline",
            &many,
            "R",
            &baseline,
            7.0,
        ),
        ("3 sales, 64 at once, to the baseline", &few, "R", &baseline, 2.5),
        ("4 sales of one partner", &hot, "spread", &many, 0.8),
        (
            "4 sales of one partner, to the baseline",
            &hot,
            "R hot",
            &baseline_hot,
            6.0,
        ),
    ] {
        let row = Row::of(name, median(values), "/s");
        report.add(row.against_rounds(ceiling, values, ceilings, Goal::AtLeast(least)));
    }
    report.set_goal("CPU per sale: postgres", Goal::AtMost(70.0));
    alone(bench, comparison, report)?;
    latency(bench, comparison, report, median(&baseline), median(&many))?;
    Ok(median(&many))
}

/// One sale at a time: what a batch costs, however small, and what a caller waits for at least.
fn alone(bench: &mut BenchEnvironment<'_>, comparison: &mut Comparison, report: &mut Report) -> Result<()> {
    let _step = Step::start("Sales one at a time");
    let market = bench.market.clone();
    let (mut medians, mut least) = (Vec::new(), Vec::new());
    for _ in 0..comparison.effort.rounds() {
        let mut sales = Sales::new(&market, Target::Spread, &comparison.run_name());
        let measured = comparison.closed(bench, "sales", comparison.ingest, 1, &mut sales)?;
        add_costs(report, "lone sale", &measured);
        let synced = fdatasync(&bench.area.dir, comparison.length() / 4)?;
        let mut sales = Sales::new(&market, Target::Spread, &comparison.run_name());
        let outcome = comparison.open_loop(bench, "sales", comparison.ingest, APART, &mut sales)?;
        medians.push(milliseconds(outcome.answers.quantile(0.5)));
        least.push(FSYNCS * synced + 1.0);
    }
    report.set_goal("CPU per lone sale: postgres", Goal::AtMost(400.0));
    let row = Row::of("12 lone sale: p50", median(&medians), "ms");
    report.add(row.against_rounds("three fdatasyncs and 1 ms", &medians, &least, Goal::AtMost(2.0)));
    Ok(())
}

/// Milliseconds that one `fdatasync` of a page takes on the disk of a directory, in the median.
fn fdatasync(dir: &Path, length: Duration) -> Result<f64> {
    let path = dir.join("fdatasync");
    let mut file = OpenOptions::new().create(true).append(true).open(&path)?;
    let page = [0_u8; 8192];
    let started = Instant::now();
    let mut took = Vec::new();
    while started.elapsed() < length {
        file.write_all(&page)?;
        let before = Instant::now();
        file.sync_data()?;
        took.push(milliseconds(before.elapsed()));
    }
    fs::remove_file(path)?;
    Ok(median(&took))
}

fn latency(
    bench: &mut BenchEnvironment<'_>,
    comparison: &mut Comparison,
    report: &mut Report,
    baseline: f64,
    many: f64,
) -> Result<()> {
    let _step = Step::start("Latency of sales");
    let market = bench.market.clone();
    let (mut ours, mut baselines) = (Vec::new(), Vec::new());
    let (mut halves, mut tails) = (Vec::new(), Vec::new());
    let p99 = |outcome: &Outcome| milliseconds(outcome.answers.quantile(0.99));
    for _ in 0..comparison.effort.rounds() {
        for (name, address, rate, all) in [
            (
                "(R) baseline",
                comparison.baseline,
                baseline / 2.0,
                &mut baselines,
            ),
            ("sales", comparison.ingest, baseline / 2.0, &mut ours),
        ] {
            let mut sales = Sales::new(&market, Target::Spread, &comparison.run_name());
            all.push(p99(&comparison.open_loop(bench, name, address, rate, &mut sales)?));
        }
        let mut sales = Sales::new(&market, Target::Spread, &comparison.run_name());
        let half = comparison.open_loop(bench, "sales", comparison.ingest, many / 2.0, &mut sales)?;
        halves.push(p99(&half));
        tails.push(milliseconds(half.answers.quantile(0.999)));
    }
    report.add(
        Row::of("5 sale at half of R's rate: p99", median(&ours), "ms").against_rounds(
            "R",
            &ours,
            &baselines,
            Goal::AtMost(1.0),
        ),
    );
    report.add(Row::of("5 sale at half of our rate: p99", median(&halves), "ms").goal(Goal::AtMost(20.0)));
    report.add(Row::of("5 sale at half of our rate: p99.9", median(&tails), "ms").goal(Goal::AtMost(50.0)));
    Ok(())
}

/// Goal 10: three times the maximum rate.
pub(super) fn overload(
    bench: &mut BenchEnvironment<'_>,
    comparison: &mut Comparison,
    report: &mut Report,
    highest: f64,
) -> Result<()> {
    let step = Step::start("Three times too many sales");
    let market = bench.market.clone();
    let (mut goodput, mut maximum, mut unexplained) = (Vec::new(), Vec::new(), Vec::new());
    let mut peaks = Vec::new();
    // At least twice: the first overload opens new connections, and only the next one shows whether memory grows.
    for _ in 0..comparison.effort.rounds().max(2) {
        bench.settle()?;
        let load = Load::open(
            comparison.ingest,
            FAR_TOO_MANY,
            3.0 * highest,
            comparison.length(),
        );
        let mut sales = Sales::new(&market, Target::Spread, &comparison.run_name());
        let outcome = bench.run(&load, &mut sales)?.outcome;
        let shed: u64 = outcome.answers.shed;
        goodput.push(outcome.rate());
        maximum.push(highest);
        // Dropped requests were never sent.
        unexplained.push(float(outcome.lost() - outcome.dropped - shed));
        peaks.push(
            Comparison::memory(bench)
                .iter()
                .map(|(_, peak)| peak)
                .sum::<f64>(),
        );
        harness::progress::note(format_args!(
            "{:.0}/s answered 200, {shed} shed with Retry-After; {}",
            outcome.rate(),
            outcome.losses()
        ));
    }
    report.add(
        Row::of(
            "10 sales answered at three times the maximum",
            median(&goodput),
            "/s",
        )
        .against_rounds("maximum", &goodput, &maximum, Goal::AtLeast(0.85)),
    );
    report.add(Row::of("10 neither answered nor shed", median(&unexplained), "").goal(Goal::AtMost(0.0)));
    if let [first, .., last] = peaks[..] {
        report.add(
            Row::of("10 memory of ingest and worker, overloaded again", last, "MiB").against(
                "the first time's",
                first,
                Goal::AtMost(1.1),
            ),
        );
    }
    step.done("measured");
    bench.settle()
}
