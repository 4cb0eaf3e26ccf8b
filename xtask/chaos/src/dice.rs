//! Chance that repeats itself: everything a round draws comes from its seed.

use std::time::Duration;

/// SplitMix64: small, and the same on every machine and in every version.
#[derive(Debug, Clone)]
pub(super) struct Dice(u64);

impl Dice {
    #[cfg(test)]
    const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Independent dice for a part of the whole, by its number.
    pub(super) fn of(seed: u64, part: u64) -> Self {
        let mut dice = Self(seed ^ part.wrapping_mul(0xd6e8_feb8_6659_fd93));
        Self(dice.roll())
    }

    pub(super) const fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// From 0 to `end`, without `end`; 0 where that is empty.
    pub(super) const fn below(&mut self, end: u64) -> u64 {
        match self.roll().checked_rem(end) {
            Some(number) => number,
            None => 0,
        }
    }

    /// From `low` to `high`, both included.
    pub(super) const fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high.saturating_sub(low) + 1)
    }

    pub(super) const fn millis(&mut self, low: u64, high: u64) -> Duration {
        Duration::from_millis(self.between(low, high))
    }

    pub(super) const fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// One of several.
    #[expect(clippy::indexing_slicing, reason = "the number is below N")]
    pub(super) fn pick<T: Copy, const N: usize>(&mut self, of: &[T; N]) -> T {
        const { assert!(N > 0, "nothing to pick from") };
        of[usize::try_from(self.below(N as u64)).unwrap_or(0)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_draws_the_same() {
        let draw = |seed| {
            let mut dice = Dice::of(seed, 3);
            (0..10).map(|_| dice.roll()).collect::<Vec<_>>()
        };
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
    }

    #[test]
    fn numbers_stay_within_their_bounds() {
        let mut dice = Dice::new(7);
        for _ in 0..1_000 {
            assert!((3..=5).contains(&dice.between(3, 5)));
            assert!([1, 2, 3].contains(&dice.pick(&[1, 2, 3])));
        }
        assert_eq!(dice.below(0), 0);
        assert!(!dice.chance(0) && dice.chance(100));
    }
}
