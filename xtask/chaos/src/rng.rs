//! The random numbers of a round, from its seed: ChaCha8, which is the same on every machine and in every
//! version.

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

    /// An amount from `low` to `high`, both included.
    pub(super) fn cents(&mut self, low: i64, high: i64) -> i64 {
        let span = high.saturating_sub(low).unsigned_abs();
        low + self.between(0, span).cast_signed()
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
    #[expect(clippy::indexing_slicing, reason = "no list here is empty")]
    pub(super) fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[usize::try_from(self.below(of.len() as u64)).unwrap_or(0)]
    }
}
