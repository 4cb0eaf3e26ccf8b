//! The result of a load.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use hdrhistogram::Histogram;

/// A minute in microseconds, longer than any wait for an answer.
const LONGEST: u64 = 60_000_000;

/// The answers to a load.
#[derive(Debug)]
pub(super) struct Answers {
    /// Microseconds from the due time to the complete answer, of answers 200 and 201.
    latency: Histogram<u64>,
    statuses: BTreeMap<u16, u64>,
    /// Answers 503 with `Retry-After`.
    pub(super) shed: u64,
}

impl Default for Answers {
    #[expect(
        clippy::expect_used,
        reason = "the bounds are constants that the crate accepts"
    )]
    fn default() -> Self {
        Self {
            latency: Histogram::new_with_bounds(1, LONGEST, 3).expect("bounds are valid"),
            statuses: BTreeMap::new(),
            shed: 0,
        }
    }
}

impl Answers {
    pub(super) fn answered(&mut self, status: u16, took: Duration) {
        *self.statuses.entry(status).or_default() += 1;
        if is_ok(status) {
            let micros = u64::try_from(took.as_micros()).unwrap_or(LONGEST);
            self.latency.saturating_record(micros.max(1));
        }
    }

    pub(super) fn ok(&self) -> u64 {
        self.latency.len()
    }

    pub(super) fn refused(&self) -> u64 {
        self.statuses.values().sum::<u64>() - self.ok()
    }

    /// `404: 3, 503: 12`, of answers other than 200 and 201.
    pub(super) fn refusals(&self) -> String {
        let refusals: Vec<String> = self
            .statuses
            .iter()
            .filter(|(status, _)| !is_ok(**status))
            .map(|(status, count)| format!("{status}: {count}"))
            .collect();
        refusals.join(", ")
    }

    /// Milliseconds that this share of the answers did not exceed.
    pub(super) fn quantile(&self, quantile: f64) -> f64 {
        milliseconds(Duration::from_micros(self.latency.value_at_quantile(quantile)))
    }
}

pub(super) const fn is_ok(status: u16) -> bool {
    matches!(status, 200 | 201)
}

impl fmt::Display for Answers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [p50, p99, p999] = [0.5, 0.99, 0.999].map(|quantile| self.quantile(quantile));
        write!(f, "p50 {p50:7.3} ms   p99 {p99:7.3} ms   p99.9 {p999:7.3} ms")
    }
}

/// The outcome of one load.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    pub(super) answers: Answers,
    /// Due, but never sent: no connection was free in time.
    pub(super) dropped: u64,
    /// Sent, but the connection ended before the answer.
    pub(super) broken: u64,
    /// Not answered within the grace period.
    pub(super) late: u64,
    /// The first answer other than 200 and 201.
    pub(super) first_refusal: String,
    /// From the first request to the last answer.
    pub(super) lasted: Duration,
    /// CPU time of the load generator.
    pub(super) driver_cpu: Duration,
}

impl Outcome {
    pub(super) fn ok(&self) -> u64 {
        self.answers.ok()
    }

    /// Requests without a 200.
    pub(super) fn lost(&self) -> u64 {
        self.answers.refused() + self.dropped + self.broken + self.late
    }

    /// Answers 200 a second.
    pub(super) fn rate(&self) -> f64 {
        per_second(self.ok(), self.lasted)
    }

    /// One line: refused, dropped and broken requests.
    pub(super) fn losses(&self) -> String {
        let refusals = self.answers.refusals();
        let refusals = if refusals.is_empty() {
            "none".to_owned()
        } else {
            format!("{refusals} ({})", self.first_refusal)
        };
        format!(
            "refused {refusals}, dropped {}, broken {}, late {}",
            self.dropped, self.broken, self.late
        )
    }
}

pub(super) fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}

pub(super) fn per_second(count: u64, time: Duration) -> f64 {
    float(count) / time.as_secs_f64().max(f64::MIN_POSITIVE)
}

/// Counts are far below 2^53.
#[expect(clippy::cast_precision_loss, reason = "see above")]
pub(super) fn float(count: u64) -> f64 {
    count as f64
}

/// The upper median; 0 of an empty slice.
pub(super) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_is_a_time_that_so_many_do_not_exceed() {
        let mut answers = Answers::default();
        for micros in (1..=1000).rev() {
            answers.answered(200, Duration::from_micros(micros));
        }
        answers.answered(503, Duration::from_secs(9));
        let found = [0.5, 0.99, 1.0].map(|quantile| format!("{:.2}", answers.quantile(quantile)));
        assert_eq!(found, ["0.50", "0.99", "1.00"]);
        assert_eq!(
            (answers.ok(), answers.refused(), answers.refusals().as_str()),
            (1000, 1, "503: 1")
        );
    }

    #[test]
    fn a_median_ignores_one_odd_round() {
        assert_eq!(median(&[3.0, 900.0, 2.0]).to_bits(), 3.0_f64.to_bits());
        assert_eq!(median(&[]).to_bits(), 0.0_f64.to_bits());
    }
}
