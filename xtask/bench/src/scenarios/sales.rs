//! Sales: how many are answered, also when one partner takes them all, how long one takes, what becomes of too many.

use anyhow::Result;
use harness::progress::Step;

use super::comparison::{Comparison, FEW, MANY, add_costs};
use crate::environment::BenchEnvironment;
use crate::load::Load;
use crate::outcome::{Outcome, float, median, milliseconds};
use crate::report::{Goal, Report, Row};
use crate::requests::{Sales, Target};

/// Calls at once when far too many come: more than the edge's queues hold.
const FAR_TOO_MANY: usize = 12_000;

/// Sales a second, round by round.
#[derive(Default)]
struct Rates {
    many: Vec<f64>,
    few: Vec<f64>,
    hot: Vec<f64>,
    batches: Vec<f64>,
    baseline: Vec<f64>,
    baseline_hot: Vec<f64>,
}

impl Rates {
    fn measure(
        bench: &mut BenchEnvironment<'_>,
        comparison: &mut Comparison,
        report: &mut Report,
    ) -> Result<Self> {
        let market = bench.market.clone();
        let mut rates = Self::default();
        for round in 1..=comparison.effort.rounds() {
            let step = Step::start(format_args!("Sales, round {round}"));
            comparison.tidy(bench)?;
            rates.batches.push(comparison.sale_batches(bench)?);
            let (ingest, baseline, baseline_hot) =
                (comparison.ingest, comparison.baseline, comparison.baseline_hot);
            for (name, address, connections, target, all) in [
                ("(R) baseline", baseline, FEW, Target::Spread, &mut rates.baseline),
                (
                    "(R) baseline, hot",
                    baseline_hot,
                    FEW,
                    Target::Hot,
                    &mut rates.baseline_hot,
                ),
                ("sales", ingest, MANY, Target::Spread, &mut rates.many),
                ("sales", ingest, FEW, Target::Spread, &mut rates.few),
                ("sales, hot", ingest, MANY, Target::Hot, &mut rates.hot),
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
        Ok(rates)
    }

    fn rows(&self) -> [Row; 5] {
        let row = |name, rates: &[f64], to, others: &[f64], goal| {
            Row::of(name, median(rates), "/s").against_rounds(to, rates, others, Goal::AtLeast(goal))
        };
        [
            row("3 sales, 1,000 at once", &self.many, "S", &self.batches, 0.8),
            row(
                "3 sales, 1,000 at once, to the baseline",
                &self.many,
                "R",
                &self.baseline,
                4.5,
            ),
            row(
                "3 sales, 64 at once, to the baseline",
                &self.few,
                "R",
                &self.baseline,
                1.7,
            ),
            row("4 sales of one partner", &self.hot, "spread", &self.many, 0.8),
            row(
                "4 sales of one partner, to the baseline",
                &self.hot,
                "R hot",
                &self.baseline_hot,
                6.0,
            ),
        ]
    }
}

/// Goals 3, 4 and 5. Returns the highest rate, in sales a second.
pub(super) fn measure(
    bench: &mut BenchEnvironment<'_>,
    comparison: &mut Comparison,
    report: &mut Report,
) -> Result<f64> {
    let rates = Rates::measure(bench, comparison, report)?;
    for row in rates.rows() {
        report.add(row);
    }
    let many = median(&rates.many);
    latency(bench, comparison, report, median(&rates.baseline), many)?;
    Ok(many)
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
    let p99 = |outcome: &Outcome| milliseconds(outcome.all().quantile(0.99));
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
        tails.push(milliseconds(half.all().quantile(0.999)));
    }
    report.add(
        Row::of("5 sale at half of R's rate: p99", median(&ours), "ms").against_rounds(
            "R",
            &ours,
            &baselines,
            Goal::AtMost(1.5),
        ),
    );
    report.add(Row::of("5 sale at half of our rate: p99", median(&halves), "ms").goal(Goal::AtMost(25.0)));
    report.add(Row::of("5 sale at half of our rate: p99.9", median(&tails), "ms").goal(Goal::AtMost(60.0)));
    Ok(())
}

/// Goal 10: three times as many as can be answered.
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
    // Twice at least: the first opens more connections than there were before, and only a further one shows what is kept.
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
        let shed: u64 = outcome.spans.iter().map(|span| span.shed).sum();
        goodput.push(outcome.rate());
        maximum.push(highest);
        // Dropped ones were never sent: the driver's own bound.
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
        .against_rounds("maximum", &goodput, &maximum, Goal::AtLeast(0.9)),
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
