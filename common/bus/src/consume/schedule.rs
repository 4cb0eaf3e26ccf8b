//! When a batch may begin. No transport and no records in it: numbers and instants.

use std::time::Duration;

use tokio::time::Instant;

/// Batches that run at once, at most: while one waits for the database, the next one is computed.
const AT_ONCE: usize = 2;

/// A batch smaller than this part of the largest is paced ([`super::Step::PACE`]), and does not begin beside another one: it gathers
/// until that one ends.
const FEW: usize = 4;

/// The waiting records.
#[derive(Debug, Clone, Copy)]
pub(super) struct Waiting {
    pub(super) fresh: usize,
    /// When the first postponed record is due.
    pub(super) next_due: Option<Instant>,
    /// Batches under way.
    pub(super) running: usize,
}

#[derive(Debug)]
pub(super) struct Schedule {
    few: usize,
    pace: Duration,
    /// Few records wait until then.
    paced_until: Instant,
}

impl Schedule {
    pub(super) fn new(now: Instant, pace: Duration, max_records: usize) -> Self {
        Self {
            few: max_records / FEW,
            pace,
            paced_until: now,
        }
    }

    pub(super) fn may_start(&self, now: Instant, waiting: Waiting) -> bool {
        if waiting.fresh > 0 && waiting.fresh >= self.few {
            return waiting.running < AT_ONCE;
        }
        self.wakes_at(waiting).is_some_and(|at| at <= now)
    }

    /// When the few records that wait may begin, if nothing else happens.
    pub(super) fn wakes_at(&self, waiting: Waiting) -> Option<Instant> {
        if waiting.running > 0 {
            return None;
        }
        if waiting.fresh > 0 {
            return Some(self.paced_until);
        }
        waiting.next_due.map(|due| due.max(self.paced_until))
    }

    /// After a batch of few; a larger one shows that more is coming than a pace would let through.
    pub(super) fn began(&mut self, now: Instant, records: usize) {
        if records < self.few {
            self.paced_until = now + self.pace;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACE: Duration = Duration::from_millis(20);

    const NOTHING: Waiting = Waiting {
        fresh: 0,
        next_due: None,
        running: 0,
    };

    fn waiting(fresh: usize, running: usize) -> Waiting {
        Waiting {
            fresh,
            running,
            ..NOTHING
        }
    }

    #[test]
    fn few_records_keep_the_pace_and_many_do_not() {
        let started = Instant::now();
        let mut schedule = Schedule::new(started, PACE, 512);
        assert!(
            schedule.may_start(started, waiting(1, 0)),
            "the first does not wait"
        );
        schedule.began(started, 1);
        assert!(!schedule.may_start(started, waiting(127, 0)));
        assert_eq!(schedule.wakes_at(waiting(127, 0)), Some(started + PACE));
        assert!(schedule.may_start(started + PACE, waiting(127, 0)));
        assert!(schedule.may_start(started, waiting(128, 0)));
    }

    #[test]
    fn after_a_large_batch_nothing_waits() {
        let started = Instant::now();
        let mut schedule = Schedule::new(started, PACE, 512);
        schedule.began(started, 128);
        assert!(schedule.may_start(started, waiting(1, 0)));
    }

    #[test]
    fn beside_a_batch_few_records_gather_and_many_begin() {
        let now = Instant::now();
        for pace in [Duration::ZERO, PACE] {
            let schedule = Schedule::new(now, pace, 512);
            assert!(!schedule.may_start(now, waiting(127, 1)));
            assert_eq!(
                schedule.wakes_at(waiting(127, 1)),
                None,
                "the end of the other one wakes them"
            );
            assert!(schedule.may_start(now, waiting(128, 1)));
            assert!(!schedule.may_start(now, waiting(512, 2)));
        }
    }

    #[test]
    fn postponed_records_begin_when_they_are_due_and_the_pace_allows() {
        let now = Instant::now();
        let (soon, late) = (now + PACE / 2, now + 2 * PACE);
        let mut schedule = Schedule::new(now, PACE, 512);
        let due_at = |at| Waiting {
            next_due: Some(at),
            ..NOTHING
        };
        assert_eq!(schedule.wakes_at(due_at(soon)), Some(soon));
        assert!(!schedule.may_start(now, due_at(soon)));
        assert!(schedule.may_start(soon, due_at(soon)));
        schedule.began(now, 1);
        assert_eq!(schedule.wakes_at(due_at(soon)), Some(now + PACE));
        assert_eq!(schedule.wakes_at(due_at(late)), Some(late));
        assert_eq!(schedule.wakes_at(NOTHING), None);
        assert!(!schedule.may_start(late, NOTHING));
    }
}
