//! Counting what is turned away, and telling the log of it: of the first, the second, the fourth and so on. A flood floods
//! no log.

use super::metrics::Counter;

/// What was turned away for one reason.
#[derive(Debug, Clone)]
pub struct Shed(Counter);

impl Shed {
    pub const fn new(counter: Counter) -> Self {
        Self(counter)
    }

    /// Counts one more; `Some` with the count when the log is to hear of it.
    pub fn one_more(&self) -> Option<u64> {
        let count = self.0.inc() + 1;
        count.is_power_of_two().then_some(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_hears_of_ever_fewer() {
        let shed = Shed::new(Counter::default());
        let told: Vec<u64> = (0..100).filter_map(|_| shed.one_more()).collect();
        assert_eq!(told, [1, 2, 4, 8, 16, 32, 64]);
    }
}
