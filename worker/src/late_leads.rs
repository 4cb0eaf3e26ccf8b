//! Whether leads are behind. A sale that names a key nobody has must wait then: the lead that binds it may have been sent before.
//!
//! Otherwise such a sale is refused at once, as most sales of organic customers are. So this is looked at beside the batches, and
//! not for each of them; what waits is then decided by the stream itself ([`settled_before`](crate::customer_lookup::settled_before)).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bus::backlog::Backlog;
use runtime::lifecycle::Lifecycle;
use tokio::time::{MissedTickBehavior, interval};

/// A lead that was there at the last look and is not settled is late.
const EVERY: Duration = Duration::from_millis(500);

#[derive(Debug)]
pub struct LateLeads {
    pub backlog: Backlog,
    behind: AtomicBool,
}

impl LateLeads {
    /// Behind, until it is known better.
    pub const fn of(backlog: Backlog) -> Self {
        Self {
            backlog,
            behind: AtomicBool::new(true),
        }
    }

    pub fn behind(&self) -> bool {
        self.behind.load(Ordering::Relaxed)
    }

    pub async fn watch(self: Arc<Self>, lifecycle: Lifecycle) {
        let mut looks = interval(EVERY);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut before = u64::MAX;
        loop {
            tokio::select! {
                () = lifecycle.soft().cancelled() => return,
                _ = looks.tick() => {}
            }
            let position = self.backlog.position().await;
            // Nothing is decided in an outage.
            let behind = position
                .as_ref()
                .map_or(true, |now| now.settled < now.newest.min(before));
            self.behind.store(behind, Ordering::Relaxed);
            before = position.map_or(u64::MAX, |now| now.newest);
        }
    }
}
