//! Attempts counted in this process: unknown tokens, and all attempts while Redis is away.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::window::{Count, Window};

/// Callers with a count of their own in one window. All further callers share one count: memory stays
/// bounded, and a flood of addresses does not evade the limit.
const MAX_CALLERS: usize = 100_000;
const THE_REST: &str = "the rest";

#[derive(Debug, Clone)]
pub struct LocalCounters {
    window: Window,
    current: Arc<Mutex<Current>>,
}

#[derive(Debug, Default)]
struct Current {
    number: i64,
    used: HashMap<String, u64>,
}

impl LocalCounters {
    pub fn new(window: Window) -> Self {
        Self {
            window,
            current: Arc::default(),
        }
    }

    /// `now` is in seconds since 1970.
    pub fn count(&self, key: &str, now: i64) -> Count {
        self.counted(key, now, 1)
    }

    /// The caller's current count; does not count a request.
    pub fn look(&self, key: &str, now: i64) -> Count {
        self.counted(key, now, 0)
    }

    fn counted(&self, key: &str, now: i64, more: u64) -> Count {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        let number = self.window.number(now);
        if current.number != number {
            *current = Current {
                number,
                used: HashMap::new(),
            };
        }
        let full = current.used.len() >= MAX_CALLERS && !current.used.contains_key(key);
        let key = if full { THE_REST } else { key };
        let used = current.used.get(key).copied().unwrap_or_default() + more;
        if more > 0 {
            current.used.insert(key.to_owned(), used);
        }
        Count {
            window: self.window,
            used,
            now,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn callers_are_counted_apart_and_every_minute_anew() {
        let counters = LocalCounters::new(Window::Minute);
        assert_eq!(counters.count("a", 119).used, 1);
        assert_eq!(counters.count("a", 119).used, 2);
        assert_eq!(counters.look("a", 119).used, 2);
        assert_eq!(counters.count("b", 119).used, 1);
        assert_eq!(counters.count("a", 120).used, 1);
        assert_eq!(counters.count("a", 120).resets_at(), 180);
        let of_an_hour = LocalCounters::new(Window::Hour);
        assert_eq!(
            [0, 3599, 3600].map(|now| of_an_hour.count("a", now).used),
            [1, 2, 1]
        );
        assert_eq!(of_an_hour.count("a", 3600).resets_at(), 7200);
    }

    #[test]
    fn a_flood_of_callers_shares_one_count() {
        let counters = LocalCounters::new(Window::Minute);
        for caller in 0..MAX_CALLERS {
            counters.count(&caller.to_string(), 0);
        }
        counters.count("one more", 0);
        assert_eq!(counters.count("and another", 0).used, 2);
        assert_eq!(counters.count("7", 0).used, 2);
    }
}
