//! A counter that samples log events: it reports the first event, the second, the fourth and so on, so that a
//! flood of events does not flood the log.

use super::metrics::Counter;

#[derive(Debug, Clone)]
pub struct SampledCounter(Counter);

impl SampledCounter {
    pub const fn new(counter: Counter) -> Self {
        Self(counter)
    }

    /// Counts one event. Returns the count if this event should be logged.
    pub fn increment(&self) -> Option<u64> {
        let count = self.0.inc() + 1;
        count.is_power_of_two().then_some(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logged_events_get_rarer() {
        let counter = SampledCounter::new(Counter::default());
        let logged: Vec<u64> = (0..100).filter_map(|_| counter.increment()).collect();
        assert_eq!(logged, [1, 2, 4, 8, 16, 32, 64]);
    }
}
