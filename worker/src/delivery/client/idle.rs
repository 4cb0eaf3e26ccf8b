//! Idle connections, kept for further requests to the same origin.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::connect::{Connection, Origin};

/// The maximum age since the connection was opened. The address check is valid for this time.
const MAX_AGE: Duration = Duration::from_mins(1);
const MAX_PER_ORIGIN: usize = 8;
const MAX_ALL: usize = 1_024;
const SWEEP_EVERY: Duration = Duration::from_secs(10);

pub(crate) struct IdleConnections(Mutex<Idle>);

struct Idle {
    by_origin: HashMap<Origin, Vec<Connection>>,
    count: usize,
    swept: Instant,
}

impl Default for IdleConnections {
    fn default() -> Self {
        Self(Mutex::new(Idle {
            by_origin: HashMap::new(),
            count: 0,
            swept: Instant::now(),
        }))
    }
}

impl IdleConnections {
    /// Takes the connection that was used last.
    pub(crate) fn take(&self, origin: &Origin) -> Option<Connection> {
        let mut idle = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let kept = idle.by_origin.get_mut(origin)?;
            let Some(connection) = kept.pop() else {
                idle.by_origin.remove(origin);
                return None;
            };
            idle.count -= 1;
            if is_usable(&connection) {
                return Some(connection);
            }
        }
    }

    /// Keeps the connection if `whole`: the answer was read to its end. Otherwise closes it.
    pub(crate) fn keep(&self, origin: Origin, connection: Connection, whole: bool) {
        if !whole || !is_usable(&connection) {
            return;
        }
        let mut idle = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.swept.elapsed() >= SWEEP_EVERY {
            idle.sweep();
        }
        if idle.count >= MAX_ALL {
            return;
        }
        let kept = idle.by_origin.entry(origin).or_default();
        if kept.len() < MAX_PER_ORIGIN {
            kept.push(connection);
            idle.count += 1;
        }
    }
}

impl Idle {
    fn sweep(&mut self) {
        self.by_origin.retain(|_, kept| {
            kept.retain(is_usable);
            !kept.is_empty()
        });
        self.count = self.by_origin.values().map(Vec::len).sum();
        self.swept = Instant::now();
    }
}

fn is_usable(connection: &Connection) -> bool {
    !connection.sender.is_closed() && connection.opened.elapsed() < MAX_AGE
}
