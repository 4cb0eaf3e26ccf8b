//! Counting in this process, for as long as Redis is away.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::Count;

/// Beyond this many different callers in one minute the rest share one count: memory stays bounded, and a flood of
/// addresses does not get past the limit.
const MAX_CALLERS: usize = 100_000;
const THE_REST: &str = "the rest";

#[derive(Debug, Clone, Default)]
pub struct LocalCounters(Arc<Mutex<Minute>>);

#[derive(Debug, Default)]
struct Minute {
    number: i64,
    used: HashMap<String, u64>,
}

impl LocalCounters {
    /// `now` in seconds since 1970.
    pub fn count(&self, key: &str, now: i64) -> Count {
        let mut minute = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let number = now.div_euclid(60);
        if minute.number != number {
            *minute = Minute {
                number,
                used: HashMap::new(),
            };
        }
        let full = minute.used.len() >= MAX_CALLERS && !minute.used.contains_key(key);
        let used = minute
            .used
            .entry(if full { THE_REST } else { key }.to_owned())
            .or_default();
        *used += 1;
        Count { used: *used, now }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn callers_are_counted_apart_and_every_minute_anew() {
        let counters = LocalCounters::default();
        assert_eq!(counters.count("a", 119).used, 1);
        assert_eq!(counters.count("a", 119).used, 2);
        assert_eq!(counters.count("b", 119).used, 1);
        assert_eq!(counters.count("a", 120).used, 1);
        assert_eq!(counters.count("a", 120).resets_at(), 180);
    }

    #[test]
    fn a_flood_of_callers_shares_one_count() {
        let counters = LocalCounters::default();
        for caller in 0..MAX_CALLERS {
            counters.count(&caller.to_string(), 0);
        }
        counters.count("one more", 0);
        assert_eq!(counters.count("and another", 0).used, 2);
        assert_eq!(counters.count("7", 0).used, 2);
    }
}
