//! The only source of the current time and of new ids. All other code takes them as arguments.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

use chrono::{DateTime, TimeDelta, Utc};
use uuid::{ClockSequence, ContextV7, NoContext, Timestamp, Uuid};

/// Returns the time in UTC, in whole milliseconds: the precision shared by JSON, a `click_id` and a
/// `timestamptz` column.
#[derive(Debug, Clone)]
pub struct Clock(Source);

#[derive(Debug, Clone)]
enum Source {
    System,
    /// Milliseconds since the Unix epoch, shared by all clones.
    Manual(Arc<AtomicI64>),
}

impl Clock {
    /// The machine's clock, with the correction of [`synchronize`](Self::synchronize).
    pub const fn system() -> Self {
        Self(Source::System)
    }

    /// A clock for tests that moves only by [`set`](Self::set) and [`advance`](Self::advance). Its clones
    /// move with it.
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

    /// Corrects all system clocks of this process to a server's time. Several machines timestamp events, and
    /// a click must not come after its sale. Ignores less than five seconds. Returns the correction, if any.
    pub fn synchronize(server_time: DateTime<Utc>) -> Option<TimeDelta> {
        let difference = server_time - machine_now();
        let correction = if difference.abs() < NEGLIGIBLE {
            TimeDelta::zero()
        } else {
            difference
        };
        let before = CORRECTION_MS.swap(correction.num_milliseconds(), Ordering::SeqCst);
        let is_new = (correction.num_milliseconds() - before).abs() >= NEGLIGIBLE.num_milliseconds();
        is_new.then_some(correction)
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

    /// A new `UUIDv7` of the current time. On the system clock, the ids of one process ascend.
    pub fn mint(&self) -> Uuid {
        match &self.0 {
            Source::System => mint_at(system_now(), &MINTED),
            Source::Manual(_) => mint_at(self.now(), NoContext),
        }
    }
}

/// Normal drift between synchronized machines.
const NEGLIGIBLE: TimeDelta = TimeDelta::seconds(5);
/// Added to the machine's clock.
static CORRECTION_MS: AtomicI64 = AtomicI64::new(0);
/// Keeps ids ascending within a millisecond.
static MINTED: Mutex<ContextV7> = Mutex::new(ContextV7::new());

fn system_now() -> DateTime<Utc> {
    machine_now() + TimeDelta::milliseconds(CORRECTION_MS.load(Ordering::SeqCst))
}

fn mint_at(now: DateTime<Utc>, context: impl ClockSequence<Output: Into<u128>>) -> Uuid {
    let seconds = u64::try_from(now.timestamp()).unwrap_or(0);
    Uuid::new_v7(Timestamp::from_unix(
        context,
        seconds,
        now.timestamp_subsec_nanos(),
    ))
}

fn truncate(now: DateTime<Utc>) -> DateTime<Utc> {
    DateTime::from_timestamp_millis(now.timestamp_millis()).unwrap_or(now)
}

#[expect(
    clippy::disallowed_methods,
    reason = "this is the one place that reads the machine's clock"
)]
fn machine_now() -> DateTime<Utc> {
    Utc::now()
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
    fn a_system_clock_that_is_off_agrees_with_the_servers() {
        let clock = Clock::system();
        let apart = |theirs: DateTime<Utc>| (clock.now() - theirs).abs();
        assert_eq!(Clock::synchronize(machine_now() + TimeDelta::seconds(1)), None);
        let theirs = machine_now() - TimeDelta::minutes(10);
        assert!(Clock::synchronize(theirs).is_some());
        assert!(apart(theirs) < TimeDelta::seconds(5));
        let minted = clock.mint().get_timestamp().unwrap().to_unix().0;
        assert!(minted.abs_diff(u64::try_from(theirs.timestamp()).unwrap()) < 5);
        // The same correction is not reported again.
        assert_eq!(Clock::synchronize(machine_now() - TimeDelta::minutes(10)), None);
        assert_eq!(Clock::synchronize(machine_now()), Some(TimeDelta::zero()));
        assert!(apart(machine_now()) < TimeDelta::seconds(5));
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
