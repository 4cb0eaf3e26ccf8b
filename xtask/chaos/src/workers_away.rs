//! Rounds in which no worker runs while thousands click: as when the workers were away for minutes.
//!
//! When they are back, leads are settled long before the clicks that they name are stored. None may be refused for that, which
//! `reconcile` checks in every round.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;

use super::funnel::{Simulation, click_often};
use super::round::RunningRound;
use super::schedule::Service;

const BEFORE: Duration = Duration::from_millis(500);
/// More than the visitors of a round make in two minutes.
const CLICKS: u64 = 20_000;
/// At once.
const CLICKERS: u64 = 64;

impl RunningRound<'_, '_> {
    pub(super) fn workers_away(&mut self) -> Result<()> {
        self.watch_for(BEFORE)?;
        for worker in Service::WORKERS {
            self.stack.kill_service(worker)?;
        }
        let clicking = click_all(Arc::clone(&self.simulation));
        let clicking = self.stack.runtime.spawn(clicking);
        let answered = self.watch_until_finished(clicking)?;
        self.notes.push(format!("{answered} clicks wait"));
        for worker in Service::WORKERS {
            self.stack.start_service(worker, &[])?;
        }
        self.stack.wait_until_ready()
    }
}

/// Returns how many clicks were answered 200.
async fn click_all(simulation: Arc<Simulation>) -> u64 {
    let clickers: Vec<_> = (0..CLICKERS)
        .map(|number| {
            let clicks = click_often(Arc::clone(&simulation), number, CLICKS / CLICKERS);
            tokio::spawn(clicks)
        })
        .collect();
    let mut answered = 0;
    for clicker in clickers {
        answered += clicker.await.unwrap_or(0);
    }
    answered
}
