//! Decides when a batch may begin, from counts and instants alone.

use std::time::Duration;

use tokio::time::Instant;

/// Limit of concurrent batches: while one waits for the database, the next one is computed.
const AT_ONCE: usize = 2;

/// A batch is small if it has fewer records than `max_records` divided by this. Small batches are paced
/// ([`super::Step::PACE`]).
const SMALL_BATCH_DIVISOR: usize = 4;

/// A batch with fewer records does not begin while another one runs: a batch costs the same whatever its
/// size, and more records gather until the other one ends.
const MIN_CONCURRENT: usize = 16;

/// The waiting records.
#[derive(Debug, Clone, Copy)]
pub(super) struct Waiting {
    pub(super) fresh: usize,
    /// When the first postponed record is due.
    pub(super) next_due: Option<Instant>,
    /// Number of running batches.
    pub(super) running: usize,
}

#[derive(Debug)]
pub(super) struct Schedule {
    few: usize,
    pace: Duration,
    /// A small batch does not begin before this instant.
    paced_until: Instant,
    /// Number of records in the latest batch.
    latest: usize,
}

impl Schedule {
    pub(super) fn new(now: Instant, pace: Duration, max_records: usize) -> Self {
        Self {
            few: max_records / SMALL_BATCH_DIVISOR,
            pace,
            paced_until: now,
            latest: 0,
        }
    }

    pub(super) fn may_start(&self, now: Instant, waiting: Waiting) -> bool {
        if waiting.running > 0 {
            // At least as many records as the running batch has. Callers who wait for outcomes then fall into
            // two equal groups: the records of one are in the database while those of the other are on their
            // way.
            let many = self.latest.clamp(MIN_CONCURRENT.min(self.few), self.few.max(1));
            return waiting.running < AT_ONCE && waiting.fresh >= many;
        }
        if waiting.fresh > 0 && waiting.fresh >= self.few {
            return true;
        }
        self.wakes_at(waiting).is_some_and(|at| at <= now)
    }

    /// When a small batch may begin, if nothing else happens before.
    pub(super) fn wakes_at(&self, waiting: Waiting) -> Option<Instant> {
        if waiting.running > 0 {
            return None;
        }
        if waiting.fresh > 0 {
            return Some(self.paced_until);
        }
        waiting.next_due.map(|due| due.max(self.paced_until))
    }

    /// A small batch starts the pace. A larger one does not: it shows that more records come than the pace
    /// would let through.
    pub(super) fn began(&mut self, now: Instant, records: usize) {
        self.latest = records;
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
    fn beside_a_batch_as_many_records_begin_and_fewer_gather() {
        let now = Instant::now();
        for (beside, many) in [(1, MIN_CONCURRENT), (40, 40), (500, 128)] {
            let mut schedule = Schedule::new(now, PACE, 512);
            schedule.began(now, beside);
            assert!(!schedule.may_start(now, waiting(many - 1, 1)));
            assert_eq!(
                schedule.wakes_at(waiting(many - 1, 1)),
                None,
                "the end of the other one wakes them"
            );
            assert!(schedule.may_start(now, waiting(many, 1)));
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
