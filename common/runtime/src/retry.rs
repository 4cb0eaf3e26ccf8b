//! Retries, with a limit and with jitter.
//!
//! The `backoff` crate is unmaintained, so only this module uses it. To replace it, rewrite [`delays`].

use std::future::Future;
use std::time::Duration;

use backoff::backoff::Backoff;
use backoff::{ExponentialBackoff, ExponentialBackoffBuilder};

/// Exponential backoff: delays double from `first_delay` to `max_delay`, each with 50% jitter, so that
/// clients that failed together do not retry together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetryPolicy {
    pub first_delay: Duration,
    pub max_delay: Duration,
    /// Includes the first attempt.
    pub max_attempts: u32,
    /// No attempt starts later than this after the first one. `None`: only `max_attempts` limits retries.
    pub max_elapsed: Option<Duration>,
}

impl RetryPolicy {
    /// For loops that run until shutdown, such as reconnecting.
    pub const fn until_shutdown(first_delay: Duration, max_delay: Duration) -> Self {
        Self {
            first_delay,
            max_delay,
            max_attempts: u32::MAX,
            max_elapsed: None,
        }
    }
}

/// The delays between the attempts of `policy`. The iterator ends with the last attempt.
pub fn delays(policy: &RetryPolicy) -> Delays {
    let exponential = ExponentialBackoffBuilder::new()
        .with_initial_interval(policy.first_delay)
        .with_max_interval(policy.max_delay)
        .with_multiplier(2.0)
        .with_randomization_factor(0.5)
        .with_max_elapsed_time(policy.max_elapsed)
        .build();
    Delays {
        exponential,
        max_delay: policy.max_delay,
        left: policy.max_attempts.saturating_sub(1),
    }
}

/// Returned by [`delays`].
#[derive(Debug)]
pub struct Delays {
    exponential: ExponentialBackoff,
    max_delay: Duration,
    left: u32,
}

impl Iterator for Delays {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        self.left = self.left.checked_sub(1)?;
        let delay = self.exponential.next_backoff()?;
        Some(delay.min(self.max_delay))
    }
}

/// Runs `op` until it succeeds, fails permanently (`is_transient` returns `false`), or `policy` allows no
/// further attempt. Returns the last error.
pub async fn retry<T, E, F>(
    policy: &RetryPolicy,
    mut op: impl FnMut() -> F,
    is_transient: impl Fn(&E) -> bool,
) -> Result<T, E>
where
    F: Future<Output = Result<T, E>>,
{
    let mut delays = delays(policy);
    loop {
        let error = match op().await {
            Ok(value) => return Ok(value),
            Err(error) => error,
        };
        if !is_transient(&error) {
            return Err(error);
        }
        let Some(delay) = delays.next() else {
            return Err(error);
        };
        tokio::time::sleep(delay).await;
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use proptest::prelude::*;

    const QUICK: RetryPolicy = RetryPolicy {
        first_delay: Duration::from_micros(10),
        max_delay: Duration::from_micros(20),
        max_attempts: 4,
        max_elapsed: None,
    };

    async fn attempts_until(
        result: impl Fn(u32) -> Result<u32, &'static str>,
    ) -> (Result<u32, &'static str>, u32) {
        let attempts = Cell::new(0);
        let op = || {
            attempts.set(attempts.get() + 1);
            std::future::ready(result(attempts.get()))
        };
        let outcome = retry(&QUICK, op, |error| *error == "transient").await;
        (outcome, attempts.get())
    }

    #[tokio::test]
    async fn success_ends_it() {
        let outcome = attempts_until(|n| if n == 3 { Ok(n) } else { Err("transient") }).await;
        assert_eq!(outcome, (Ok(3), 3));
    }

    #[tokio::test]
    async fn a_permanent_error_ends_it_at_once() {
        assert_eq!(attempts_until(|_| Err("permanent")).await, (Err("permanent"), 1));
    }

    #[tokio::test]
    async fn the_limit_counts_the_first_attempt() {
        assert_eq!(attempts_until(|_| Err("transient")).await, (Err("transient"), 4));
    }

    #[test]
    fn no_time_left_means_no_delay() {
        let policy = RetryPolicy {
            max_elapsed: Some(Duration::ZERO),
            ..QUICK
        };
        assert_eq!(delays(&policy).next(), None);
    }

    proptest! {
        #[test]
        fn delays_stay_within_the_policy(first in 1u64..1_000, max in 1u64..5_000, attempts in 0u32..20) {
            let policy = RetryPolicy {
                first_delay: Duration::from_millis(first),
                max_delay: Duration::from_millis(max),
                max_attempts: attempts,
                max_elapsed: None,
            };
            let waits: Vec<_> = delays(&policy).collect();
            prop_assert_eq!(waits.len(), attempts.saturating_sub(1) as usize);
            prop_assert!(waits.iter().all(|wait| *wait <= policy.max_delay));
        }
    }
}
