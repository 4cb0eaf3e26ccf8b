//! Deliveries of a payment processor: the rate at which they are verified, stored and answered.

use anyhow::Result;
use harness::progress::Step;
use harness::services::WEBHOOK_CONSUMER;

use super::comparison::{Comparison, FEW, add_costs};
use crate::environment::BenchEnvironment;
use crate::outcome::median;
use crate::payments::{Payments, connect};
use crate::report::{Goal, Report, Row};

/// The consumer's limit is 512; each connection has one delivery at a time.
const AT_ONCE: usize = 500;

/// Goal 7.
pub(super) fn measure(
    bench: &mut BenchEnvironment<'_>,
    comparison: &mut Comparison,
    report: &mut Report,
) -> Result<()> {
    let keys = bench.sealing_keys()?;
    let market = bench.market.clone();
    bench.runtime.block_on(connect(&bench.pool, &market, &keys))?;
    let consumer = bench.start(WEBHOOK_CONSUMER, WEBHOOK_CONSUMER)?;
    let ordinary = comparison.baseline;
    let (mut settling, mut ours, mut baseline) = (Vec::new(), Vec::new(), Vec::new());
    for round in 1..=comparison.effort.rounds() {
        let step = Step::start(format_args!("Webhooks, round {round}"));
        comparison.tidy(bench)?;
        let mut load = |bench: &mut BenchEnvironment<'_>, name, address, connections| {
            let mut payments = Payments::new(&market, &comparison.run_name());
            comparison.closed(bench, name, address, connections, &mut payments)
        };
        baseline.push(load(bench, "(R) baseline", ordinary, FEW)?.outcome.rate());
        let both = load(bench, "webhooks, settled meanwhile", consumer, AT_ONCE)?;
        settling.push(both.outcome.rate());
        bench.settle()?;
        // Accepting alone, as the baseline does; the backlog is settled afterwards.
        bench.stop("worker")?;
        let measured = load(bench, "webhooks", consumer, AT_ONCE)?;
        add_costs(report, "webhook", &measured);
        ours.push(measured.outcome.rate());
        bench.start("worker", "worker")?;
        step.done("measured");
    }
    report.add(Row::of("7 webhooks", median(&ours), "/s").against_rounds(
        "R",
        &ours,
        &baseline,
        Goal::AtLeast(3.0),
    ));
    report.add(Row::of("7 webhooks, settled meanwhile", median(&settling), "/s"));
    bench.settle()
}
