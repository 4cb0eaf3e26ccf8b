//! Leads: the rate of answers, each lead of a new customer.

use anyhow::Result;
use harness::progress::Step;

use super::comparison::{Comparison, FEW, MANY, add_costs};
use crate::environment::BenchEnvironment;
use crate::report::{Goal, Report, Rounds};
use crate::requests::Leads;

/// Goal 8.
pub(super) fn measure(
    bench: &mut BenchEnvironment<'_>,
    comparison: &mut Comparison,
    report: &mut Report,
) -> Result<()> {
    let market = bench.market.clone();
    let mut rounds = Rounds::default();
    let (mut from, mut baselines_from) = (0, 0);
    for round in 1..=comparison.effort.rounds() {
        let step = Step::start(format_args!("Leads, round {round}"));
        comparison.tidy(bench)?;
        for (name, figure, address, connections, from) in [
            ("(R) baseline", "R", comparison.baseline, FEW, &mut baselines_from),
            ("leads", "ours", comparison.ingest, MANY, &mut from),
        ] {
            let mut leads = Leads::new(&market, *from);
            let measured = comparison.closed(bench, name, address, connections, &mut leads)?;
            *from += measured.outcome.ok() + measured.outcome.lost();
            if figure == "ours" {
                add_costs(report, "lead", &measured);
            }
            rounds.add(figure, measured.outcome.rate());
        }
        step.done("measured");
    }
    report.add(rounds.row("8 leads", "ours", "/s", "R", Goal::AtLeast(3.0)));
    Ok(())
}
