//! Deliveries of a payment processor: how many are verified, stored and answered.

use anyhow::Result;
use harness::progress::Step;
use harness::services::WEBHOOK_CONSUMER;

use super::contest::{Contest, FEW, add_costs};
use crate::outcome::median;
use crate::payments::{Payments, connect};
use crate::place::Place;
use crate::report::{Goal, Report, Row};

/// The consumer takes 512 and lets further ones wait; each has one delivery at a time.
const AT_ONCE: usize = 500;

/// Goal 7.
pub(super) fn measure(place: &mut Place<'_>, contest: &mut Contest, report: &mut Report) -> Result<()> {
    let keys = place.sealing_keys()?;
    let market = place.market.clone();
    place.runtime.block_on(connect(&place.pool, &market, &keys))?;
    let consumer = place.start(WEBHOOK_CONSUMER, WEBHOOK_CONSUMER)?;
    let ordinary = contest.rival;
    let (mut settling, mut ours, mut rival) = (Vec::new(), Vec::new(), Vec::new());
    for round in 1..=contest.effort.rounds() {
        let step = Step::start(format_args!("Webhooks, round {round}"));
        contest.tidy(place)?;
        let mut load = |place: &mut Place<'_>, name, address, connections| {
            let mut payments = Payments::new(&market, &contest.run_name());
            contest.closed(place, name, address, connections, &mut payments)
        };
        rival.push(load(place, "(R) rival", ordinary, FEW)?.outcome.rate());
        let both = load(place, "webhooks, settled meanwhile", consumer, AT_ONCE)?;
        settling.push(both.outcome.rate());
        place.settle()?;
        // Accepting alone, as the rival does; what it leaves is settled afterwards.
        place.stop("worker")?;
        let measured = load(place, "webhooks", consumer, AT_ONCE)?;
        add_costs(report, "webhook", &measured);
        ours.push(measured.outcome.rate());
        place.start("worker", "worker")?;
        step.done("measured");
    }
    report.add(Row::of("7 webhooks", median(&ours), "/s").against_rounds(
        "R",
        &ours,
        &rival,
        Goal::AtLeast(3.0),
    ));
    report.add(Row::of("7 webhooks, settled meanwhile", median(&settling), "/s"));
    place.settle()
}
