//! Leads: how many are answered, each of a customer who was none before.

use anyhow::Result;
use harness::progress::Step;

use super::contest::{Contest, FEW, MANY, add_costs};
use crate::outcome::median;
use crate::place::Place;
use crate::report::{Goal, Report, Row};
use crate::requests::Leads;

/// Goal 8.
pub(super) fn measure(place: &mut Place<'_>, contest: &mut Contest, report: &mut Report) -> Result<()> {
    let market = place.market.clone();
    let (mut ours, mut rival) = (Vec::new(), Vec::new());
    let (mut from, mut rivals_from) = (0, 0);
    for round in 1..=contest.effort.rounds() {
        let step = Step::start(format_args!("Leads, round {round}"));
        contest.tidy(place)?;
        for (name, address, connections, from, all) in [
            ("(R) rival", contest.rival, FEW, &mut rivals_from, &mut rival),
            ("leads", contest.ingest, MANY, &mut from, &mut ours),
        ] {
            let mut leads = Leads::new(&market, *from);
            let measured = contest.closed(place, name, address, connections, &mut leads)?;
            *from += measured.outcome.ok() + measured.outcome.lost();
            if address == contest.ingest {
                add_costs(report, "lead", &measured);
            }
            all.push(measured.outcome.rate());
        }
        step.done("measured");
    }
    report.add(Row::of("8 leads", median(&ours), "/s").against_rounds(
        "R",
        &ours,
        &rival,
        Goal::AtLeast(3.0),
    ));
    Ok(())
}
