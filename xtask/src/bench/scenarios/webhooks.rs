//! Deliveries of a payment processor: how many are verified, stored and answered.

use anyhow::Result;

use super::contest::{Contest, FEW, add_costs};
use crate::bench::outcome::median;
use crate::bench::payments::{Payments, connect};
use crate::bench::place::Place;
use crate::bench::report::{Goal, Report, Row};
use crate::progress::Step;
use crate::services::WEBHOOK_CONSUMER;

/// A processor opens few connections; the consumer takes 512 and lets further ones wait.
const AT_ONCE: usize = 256;

/// Goal 7.
pub(super) fn measure(place: &mut Place<'_>, contest: &mut Contest, report: &mut Report) -> Result<()> {
    let keys = place.sealing_keys()?;
    let market = place.market.clone();
    place.runtime.block_on(connect(&place.pool, &market, &keys))?;
    let consumer = place.start(WEBHOOK_CONSUMER, WEBHOOK_CONSUMER)?;
    let (mut ours, mut rival) = (Vec::new(), Vec::new());
    for round in 1..=contest.effort.rounds() {
        let step = Step::start(format_args!("Webhooks, round {round}"));
        contest.tidy(place)?;
        for (name, address, connections, all) in [
            ("(R) rival", contest.rival, FEW, &mut rival),
            ("webhooks", consumer, AT_ONCE, &mut ours),
        ] {
            let run = contest.run_name();
            let mut payments = Payments::new(&market, &run);
            let measured = contest.closed(place, name, address, connections, &mut payments)?;
            if address == consumer {
                add_costs(report, "webhook", &measured);
            }
            all.push(measured.outcome.rate());
        }
        step.done("measured");
    }
    report.add(Row::of("7 webhooks", median(&ours), "/s").against_rounds(
        "R",
        &ours,
        &rival,
        Goal::AtLeast(3.0),
    ));
    place.settle()
}
