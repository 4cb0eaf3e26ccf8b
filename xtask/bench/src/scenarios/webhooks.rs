//! Deliveries of a payment processor: the rate at which they are verified, stored and answered.

use std::net::SocketAddr;

use anyhow::Result;
use harness::progress::Step;
use harness::services::WEBHOOK_CONSUMER;

use super::comparison::{Comparison, FEW};
use crate::environment::Measured;
use crate::payments::{Payments, connect};
use crate::report::{Goal, Rounds, Row};

/// The consumer's limit is 512; each connection has one delivery at a time.
const AT_ONCE: usize = 500;

impl Comparison<'_> {
    /// Goal 7.
    pub(super) fn measure_webhooks(&mut self) -> Result<()> {
        connect(&self.bench)?;
        let consumer = self.bench.start(WEBHOOK_CONSUMER, WEBHOOK_CONSUMER)?;
        let mut rounds = Rounds::default();
        for round in 1..=self.effort.rounds() {
            let step = Step::start(format_args!("Webhooks, round {round}"));
            self.tidy()?;
            let of_baseline = self.deliveries("(R) baseline", self.baseline, FEW)?;
            rounds.add("R", of_baseline.outcome.rate());
            let both = self.deliveries("webhooks, settled meanwhile", consumer, AT_ONCE)?;
            rounds.add("settled meanwhile", both.outcome.rate());
            self.bench.settle()?;
            // Accepting alone, as the baseline does; the backlog is settled afterwards.
            self.bench.stop("worker")?;
            let measured = self.deliveries("webhooks", consumer, AT_ONCE)?;
            self.add_costs("webhook", &measured);
            rounds.add("ours", measured.outcome.rate());
            self.bench.start("worker", "worker")?;
            step.done("measured");
        }
        self.report
            .add(rounds.row("7 webhooks", "ours", "/s", "R", Goal::AtLeast(3.0)));
        let settling = rounds.median("settled meanwhile");
        self.report
            .add(Row::of("7 webhooks, settled meanwhile", settling, "/s"));
        self.bench.settle()
    }

    fn deliveries(&mut self, name: &str, address: SocketAddr, connections: usize) -> Result<Measured> {
        let run = self.run_name();
        let mut payments = Payments::new(&self.bench.market, &run);
        self.closed(name, address, connections, &mut payments)
    }
}
