//! Deliveries of a payment processor: the rate at which they are verified, stored and answered.

use anyhow::Result;
use harness::progress::Step;
use harness::services::WEBHOOK_CONSUMER;

use super::comparison::{Comparison, FEW, add_costs};
use crate::environment::BenchEnvironment;
use crate::payments::{Payments, connect};
use crate::report::{Goal, Report, Rounds, Row};

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
    let baseline = comparison.baseline;
    let mut rounds = Rounds::default();
    for round in 1..=comparison.effort.rounds() {
        let step = Step::start(format_args!("Webhooks, round {round}"));
        comparison.tidy(bench)?;
        let mut load = |bench: &mut BenchEnvironment<'_>, name, address, connections| {
            let mut payments = Payments::new(&market, &comparison.run_name());
            comparison.closed(bench, name, address, connections, &mut payments)
        };
        let of_baseline = load(bench, "(R) baseline", baseline, FEW)?;
        rounds.add("R", of_baseline.outcome.rate());
        let both = load(bench, "webhooks, settled meanwhile", consumer, AT_ONCE)?;
        rounds.add("settled meanwhile", both.outcome.rate());
        bench.settle()?;
        // Accepting alone, as the baseline does; the backlog is settled afterwards.
        bench.stop("worker")?;
        let measured = load(bench, "webhooks", consumer, AT_ONCE)?;
        add_costs(report, "webhook", &measured);
        rounds.add("ours", measured.outcome.rate());
        bench.start("worker", "worker")?;
        step.done("measured");
    }
    report.add(rounds.row("7 webhooks", "ours", "/s", "R", Goal::AtLeast(3.0)));
    let settling = rounds.median("settled meanwhile");
    report.add(Row::of("7 webhooks, settled meanwhile", settling, "/s"));
    bench.settle()
}
