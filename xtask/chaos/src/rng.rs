//! The random numbers of a round, from its seed: ChaCha8, which is the same on every machine and in every version.

use std::time::Duration;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng as _, SeedableRng};

#[derive(Debug, Clone)]
pub(super) struct Rng(ChaCha8Rng);

impl Rng {
    /// An independent generator for one part of a round.
    pub(super) fn of(seed: u64, part: u64) -> Self {
        let mut generator = ChaCha8Rng::seed_from_u64(seed);
        generator.set_stream(part);
        Self(generator)
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// From 0 to `end`, without `end`; 0 for an empty range.
    pub(super) fn below(&mut self, end: u64) -> u64 {
        self.next().checked_rem(end).unwrap_or(0)
    }

    /// From `low` to `high`, both included.
    pub(super) fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high.saturating_sub(low) + 1)
    }

    pub(super) fn millis(&mut self, low: u64, high: u64) -> Duration {
        Duration::from_millis(self.between(low, high))
    }

    pub(super) fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    pub(super) fn bytes<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        self.0.fill_bytes(&mut bytes);
        bytes
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
        let draw = |seed, part| {
            let mut rng = Rng::of(seed, part);
            (0..10).map(|_| rng.next()).collect::<Vec<_>>()
        };
        assert_eq!(draw(1, 3), draw(1, 3));
        assert_ne!(draw(1, 3), draw(2, 3));
        assert_ne!(draw(1, 3), draw(1, 4));
    }

    #[test]
    fn numbers_stay_within_their_bounds() {
        let mut rng = Rng::of(7, 0);
        for _ in 0..1_000 {
            assert!((3..=5).contains(&rng.between(3, 5)));
            assert!([1, 2, 3].contains(&rng.pick(&[1, 2, 3])));
        }
        assert_eq!(rng.below(0), 0);
        assert!(!rng.chance(0) && rng.chance(100));
    }
}
