//! Knows whether leads are behind. While they are, a sale with an unknown key must wait: the lead that binds
//! the key may have been sent before the sale.
//!
//! Otherwise such a sale is refused at once, like most sales of organic customers. So a periodic check
//! determines the state, not a query per batch. The stream itself then decides when a waiting sale has waited
//! long enough ([`settled_before`](crate::customer_lookup::settled_before)).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bus::backlog::Backlog;
use runtime::lifecycle::Lifecycle;
use tokio::time::{MissedTickBehavior, interval};

/// A lead is late if it was stored before the previous check and is not settled.
const EVERY: Duration = Duration::from_millis(500);

#[derive(Debug)]
pub struct LateLeads {
    pub backlog: Backlog,
    behind: AtomicBool,
}

impl LateLeads {
    /// Counts as behind until the first check.
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
            // In an outage the leads count as behind, so that no sale is refused for its key.
            let behind = position
                .as_ref()
                .map_or(true, |now| now.settled < now.newest.min(before));
            self.behind.store(behind, Ordering::Relaxed);
            before = position.map_or(u64::MAX, |now| now.newest);
        }
    }
}
