//! Background work that a process repeats until it shuts down.

use std::fmt::Display;
use std::future::Future;
use std::time::Duration;

use tokio::time::MissedTickBehavior;

use crate::lifecycle::Lifecycle;
use crate::retry::{Delays, RetryPolicy, delays};

/// Longest pause between two rounds while they fail.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// Runs a round at the interval `every` until shutdown. A round that takes longer delays the next one.
/// Failures are logged with the name `what`. While rounds fail, the pauses grow, with jitter.
pub async fn repeat<E, F>(
    what: &'static str,
    every: Duration,
    lifecycle: &Lifecycle,
    mut round: impl FnMut() -> F,
) where
    E: Display,
    F: Future<Output = Result<(), E>>,
{
    let after_failure = RetryPolicy::until_shutdown(every, LONGEST_PAUSE);
    let mut ticks = tokio::time::interval(every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut failing: Option<Delays> = None;
    loop {
        tokio::select! {
            () = lifecycle.soft().cancelled() => return,
            _ = ticks.tick() => {}
        }
        let Err(error) = round().await else {
            failing = None;
            continue;
        };
        tracing::warn!(%error, "{what} failed");
        let pauses = failing.get_or_insert_with(|| delays(&after_failure));
        ticks.reset_after(pauses.next().unwrap_or(LONGEST_PAUSE));
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use tokio::time::Instant;

    use super::*;

    /// Runs this many rounds and returns when each began. `fails` decides by number which rounds fail.
    async fn beginnings(rounds: usize, fails: impl Fn(usize) -> bool) -> Vec<Duration> {
        let (lifecycle, start) = (Lifecycle::new(), Instant::now());
        let began = RefCell::new(Vec::new());
        repeat("a test", Duration::from_secs(1), &lifecycle, || {
            let number = began.borrow().len();
            began.borrow_mut().push(start.elapsed());
            if number + 1 == rounds {
                lifecycle.shut_down();
            }
            std::future::ready(if fails(number) { Err("no luck") } else { Ok(()) })
        })
        .await;
        began.into_inner()
    }

    #[tokio::test(start_paused = true)]
    async fn rounds_follow_each_other_until_shutdown() {
        let at = beginnings(4, |_| false).await;
        assert_eq!(at, [0, 1, 2, 3].map(Duration::from_secs));
    }

    #[tokio::test(start_paused = true)]
    async fn pauses_grow_while_rounds_fail_and_shrink_afterwards() {
        let at = beginnings(30, |number| number < 20).await;
        let pauses: Vec<Duration> = at.windows(2).map(|pair| pair[1].abs_diff(pair[0])).collect();
        // Each pause has 50% jitter.
        assert!(pauses[0] < Duration::from_secs(2), "{pauses:?}");
        assert!(
            pauses[10..20]
                .iter()
                .all(|pause| (5..=10).contains(&pause.as_secs())),
            "{pauses:?}"
        );
        assert!(
            pauses[20..].iter().all(|pause| *pause == Duration::from_secs(1)),
            "{pauses:?}"
        );
    }
}
