//! Leads: the rate of answers, each lead of a new customer.

use anyhow::Result;
use harness::progress::Step;

use super::comparison::{Comparison, FEW, MANY, add_costs};
use crate::environment::BenchEnvironment;
use crate::outcome::median;
use crate::report::{Goal, Report, Row};
use crate::requests::Leads;

/// Goal 8.
pub(super) fn measure(
    bench: &mut BenchEnvironment<'_>,
    comparison: &mut Comparison,
    report: &mut Report,
) -> Result<()> {
    let market = bench.market.clone();
    let (mut ours, mut baseline) = (Vec::new(), Vec::new());
    let (mut from, mut baselines_from) = (0, 0);
    for round in 1..=comparison.effort.rounds() {
        let step = Step::start(format_args!("Leads, round {round}"));
        comparison.tidy(bench)?;
        for (name, address, connections, from, all) in [
            (
                "(R) baseline",
                comparison.baseline,
                FEW,
                &mut baselines_from,
                &mut baseline,
            ),
            ("leads", comparison.ingest, MANY, &mut from, &mut ours),
        ] {
            let mut leads = Leads::new(&market, *from);
            let measured = comparison.closed(bench, name, address, connections, &mut leads)?;
            *from += measured.outcome.ok() + measured.outcome.lost();
            if address == comparison.ingest {
                add_costs(report, "lead", &measured);
            }
            all.push(measured.outcome.rate());
        }
        step.done("measured");
    }
    report.add(Row::of("8 leads", median(&ours), "/s").against_rounds(
        "R",
        &ours,
        &baseline,
        Goal::AtLeast(3.0),
    ));
    Ok(())
}
