//! The only source of the current time and of fresh identity. Everything else takes them as arguments.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use chrono::{DateTime, TimeDelta, Utc};
use uuid::{NoContext, Timestamp, Uuid};

/// Tells the time in UTC, in whole milliseconds: what a JSON answer, a `click_id` and a `timestamptz` column agree on.
#[derive(Debug, Clone)]
pub struct Clock(Source);

#[derive(Debug, Clone)]
enum Source {
    System,
    /// Milliseconds since the Unix epoch, shared by all clones.
    Manual(Arc<AtomicI64>),
}

impl Clock {
    /// The machine's clock.
    pub const fn system() -> Self {
        Self(Source::System)
    }

    /// A clock for tests that moves only when told to; its clones move with it.
    pub fn manual(start: DateTime<Utc>) -> Self {
        Self(Source::Manual(Arc::new(AtomicI64::new(start.timestamp_millis()))))
    }

    /// Sets a manual clock. The system clock cannot be set and ignores this.
    pub fn set(&self, now: DateTime<Utc>) {
        if let Source::Manual(millis) = &self.0 {
            millis.store(now.timestamp_millis(), Ordering::SeqCst);
        }
    }

    /// Moves a manual clock. The system clock cannot be moved and ignores this.
    pub fn advance(&self, by: TimeDelta) {
        if let Source::Manual(millis) = &self.0 {
            millis.fetch_add(by.num_milliseconds(), Ordering::SeqCst);
        }
    }

    /// The current time, truncated to milliseconds.
    pub fn now(&self) -> DateTime<Utc> {
        match &self.0 {
            Source::System => truncate(system_now()),
            Source::Manual(millis) => {
                DateTime::from_timestamp_millis(millis.load(Ordering::SeqCst)).unwrap_or(DateTime::UNIX_EPOCH)
            }
        }
    }

    /// A fresh `UUIDv7` of the current time. On the system clock, ids minted by one process ascend.
    pub fn mint(&self) -> Uuid {
        match &self.0 {
            Source::System => system_mint(),
            Source::Manual(_) => {
                let now = self.now();
                let seconds = u64::try_from(now.timestamp()).unwrap_or(0);
                Uuid::new_v7(Timestamp::from_unix(
                    NoContext,
                    seconds,
                    now.timestamp_subsec_nanos(),
                ))
            }
        }
    }
}

fn truncate(now: DateTime<Utc>) -> DateTime<Utc> {
    DateTime::from_timestamp_millis(now.timestamp_millis()).unwrap_or(now)
}

#[expect(
    clippy::disallowed_methods,
    reason = "this is the one place that reads the machine's clock"
)]
fn system_now() -> DateTime<Utc> {
    Utc::now()
}

#[expect(
    clippy::disallowed_methods,
    reason = "this is the one place that mints identity"
)]
fn system_mint() -> Uuid {
    Uuid::now_v7()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manual_clock_moves_its_clones() {
        let clock = Clock::manual(DateTime::UNIX_EPOCH);
        let clone = clock.clone();
        clock.advance(TimeDelta::days(1));
        assert_eq!(clone.now(), DateTime::UNIX_EPOCH + TimeDelta::days(1));
        clone.set(DateTime::UNIX_EPOCH);
        assert_eq!(clock.now(), DateTime::UNIX_EPOCH);
    }

    #[test]
    fn the_system_clock_has_no_microseconds() {
        assert_eq!(Clock::system().now().timestamp_subsec_micros() % 1_000, 0);
    }

    #[test]
    fn minted_ids_are_distinct_and_carry_the_time() {
        let clock = Clock::manual(DateTime::from_timestamp_millis(1_700_000_000_123).unwrap());
        let (a, b) = (clock.mint(), clock.mint());
        assert_ne!(a, b);
        assert_eq!(a.get_version_num(), 7);
        assert_eq!(a.as_u128() >> 80, 1_700_000_000_123);
    }

    #[test]
    fn system_ids_ascend() {
        let clock = Clock::system();
        let ids: Vec<_> = (0..100).map(|_| clock.mint()).collect();
        assert!(ids.is_sorted());
    }
}
