//! What a load measured, and the figures that are told of it.

use std::fmt;
use std::time::Duration;

/// One answer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sample {
    /// From the start of the load to when the request was due.
    pub(super) due: Duration,
    pub(super) took: Duration,
    pub(super) status: u16,
}

/// Of one load, or of several together.
#[derive(Debug, Default)]
pub(super) struct Samples {
    pub(super) answers: Vec<Sample>,
    /// Requests without an answer.
    pub(super) failed: u64,
}

impl Samples {
    pub(super) fn add(&mut self, other: Self) {
        self.answers.extend(other.answers);
        self.failed += other.failed;
    }

    /// Answers other than 200, and requests without one.
    pub(super) fn not_ok(&self) -> u64 {
        let refused = self.answers.iter().filter(|answer| answer.status != 200);
        self.failed + refused.fold(0, |count, _| count + 1)
    }

    pub(super) fn quantiles(&self) -> Quantiles {
        let mut took: Vec<Duration> = self.answers.iter().map(|answer| answer.took).collect();
        took.sort_unstable();
        let at = |per_mille: usize| {
            let rank = (took.len() * per_mille).div_ceil(1000).max(1) - 1;
            took.get(rank).copied().unwrap_or_default()
        };
        Quantiles {
            p50: at(500),
            p99: at(990),
            p999: at(999),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Quantiles {
    pub(super) p50: Duration,
    pub(super) p99: Duration,
    pub(super) p999: Duration,
}

impl fmt::Display for Quantiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [p50, p99, p999] = [self.p50, self.p99, self.p999].map(milliseconds);
        write!(f, "p50 {p50:7.3} ms   p99 {p99:7.3} ms   p99.9 {p999:7.3} ms")
    }
}

pub(super) fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_is_a_sample_that_so_many_do_not_exceed() {
        let answers = (1..=1000).rev().map(|took| Sample {
            due: Duration::ZERO,
            took: Duration::from_micros(took),
            status: 200,
        });
        let samples = Samples {
            answers: answers.collect(),
            failed: 0,
        };
        let expected = [500, 990, 999].map(Duration::from_micros);
        let found = samples.quantiles();
        assert_eq!([found.p50, found.p99, found.p999], expected);
        assert_eq!(Samples::default().quantiles().p99, Duration::ZERO);
    }
}
