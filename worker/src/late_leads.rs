//! Knows whether leads are behind. While they are, a sale with an unknown key must wait: the lead that binds
//! the key may have been sent before the sale.
//!
//! Otherwise such a sale is refused at once, like most sales of organic customers. So a periodic check
//! determines the state, not a query per batch. The stream itself then decides when a waiting sale has waited
//! long enough ([`settled_before`](crate::customer_lookup::settled_before)).

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use bus::backlog::Backlog;
use runtime::lifecycle::Lifecycle;
use runtime::rounds::repeat;

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
        let before = AtomicU64::new(u64::MAX);
        let look = || async {
            let position = self.backlog.position().await;
            // In an outage the leads count as behind, so that no sale is refused for its key.
            let newest = position.as_ref().map_or(u64::MAX, |now| now.newest);
            let before = before.swap(newest, Ordering::Relaxed);
            let behind = position.map_or(true, |now| now.settled < now.newest.min(before));
            self.behind.store(behind, Ordering::Relaxed);
            Ok::<_, Infallible>(())
        };
        repeat("looking for late leads", EVERY, &lifecycle, look).await;
    }
}
