//! Rounds in which another program floods both ingests with sales, more than there are permits and places in
//! their queues.
//!
//! No request of the round's own program may be refused for that, and the books of both are compared with
//! their answers.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};

use super::funnel::{keep_buying, warm_up};
use super::journal::{Answer, Call};
use super::reconcile::counts;
use super::round::{RunningRound, visible_failures};
use super::schedule::Service;

const BEFORE: Duration = Duration::from_millis(500);
const LASTS: Duration = Duration::from_secs(4);
/// Of each ingest. Eight times as many may queue.
const PERMITS: &str = "8";
/// More than both ingests let in.
const BUYERS: u64 = 256;

impl RunningRound<'_, '_> {
    pub(super) fn flood(&mut self) -> Result<()> {
        self.restart_ingests(&[("MAX_WAITING", PERMITS.to_owned())])?;
        self.watch_for(BEFORE)?;
        let flood = Arc::new(self.stack.simulation(self.round)?);
        let known = self.stack.runtime.block_on(warm_up(&flood));
        let customer_key = known.context("no customer could be created before the flood")?;
        let before = self.simulation.journal.calls().len();
        let buyers: Vec<_> = (0..BUYERS)
            .map(|number| {
                let buys = keep_buying(Arc::clone(&flood), number, customer_key.clone());
                self.stack.runtime.spawn(buys)
            })
            .collect();
        self.watch_for(LASTS)?;
        flood.over.cancel();
        for buyer in buyers {
            self.watch_until_finished(buyer)?;
        }
        let meanwhile = self.simulation.journal.calls().split_off(before);
        self.judge_flood(&meanwhile, &flood.journal.calls());
        self.flood = Some(flood);
        self.restart_ingests(&[])
    }

    fn judge_flood(&mut self, own: &[Call], of_flood: &[Call]) {
        let own_answers = counts(own.iter().map(|call| call.answer.kind()));
        let answers = counts(of_flood.iter().map(|call| call.answer.kind()));
        if !answers.contains_key("503") {
            self.violations.push("the flood filled no queue".to_owned());
        }
        self.violations.extend(visible_failures(own, |answer| {
            matches!(answer.status(), Some(429 | 503))
        }));
        let is_unexpected = |answer: &Answer| !matches!(answer.status(), Some(200 | 503));
        self.violations.extend(visible_failures(of_flood, is_unexpected));
        self.notes.push(format!(
            "the flood: {answers:?}; the round's own meanwhile: {own_answers:?}"
        ));
    }

    fn restart_ingests(&mut self, settings: &[(&str, String)]) -> Result<()> {
        for ingest in Service::INGESTS {
            self.shut_down_and_wait(&[ingest])?;
            self.stack.start_service(ingest, settings)?;
        }
        self.stack.wait_until_ready()
    }
}
