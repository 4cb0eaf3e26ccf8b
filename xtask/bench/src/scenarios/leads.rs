//! Leads: the rate of answers, each lead of a new customer.

use anyhow::Result;
use harness::progress::Step;

use super::comparison::{Comparison, FEW, MANY};
use crate::report::{Goal, Rounds};
use crate::requests::Leads;

impl Comparison<'_> {
    /// Goal 8.
    pub(super) fn measure_leads(&mut self) -> Result<()> {
        let mut rounds = Rounds::default();
        let (mut from, mut baselines_from) = (0, 0);
        for round in 1..=self.effort.rounds() {
            let step = Step::start(format_args!("Leads, round {round}"));
            self.tidy()?;
            for (name, figure, address, connections, from) in [
                ("(R) baseline", "R", self.baseline, FEW, &mut baselines_from),
                ("leads", "ours", self.ingest, MANY, &mut from),
            ] {
                let mut leads = Leads::new(&self.bench.market, *from);
                let measured = self.closed(name, address, connections, &mut leads)?;
                *from += measured.outcome.ok() + measured.outcome.lost();
                if figure == "ours" {
                    self.add_costs("lead", &measured);
                }
                rounds.add(figure, measured.outcome.rate());
            }
            step.done("measured");
        }
        self.report
            .add(rounds.row("8 leads", "ours", "/s", "R", Goal::AtLeast(3.0)));
        Ok(())
    }
}
