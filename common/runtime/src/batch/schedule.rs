//! Decides when a batch may begin, from counts and instants alone.
//!
//! A batch costs about the same whatever its size, so a small one waits while others may join it. Three rules
//! say how long:
//!
//! - Beside a running batch the next one gathers until it is as large as the latest, within
//!   [`Rules::beside`]. Otherwise every large batch would be followed by a batch of one record, at the same
//!   cost. Callers who wait for outcomes then fall into two equal groups: the records of one are on their way
//!   while those of the other are stored.
//! - A small batch begins at least one pace after the small batch before it. Without a pace, at a few hundred
//!   records a second, batches end so soon that nearly every record forms its own, here and in every later
//!   stage, and the processors are busy at a tenth of the possible load
//!   ([measured](../../../../docs/design.md#small-batches-of-claims-are-paced)).
//! - A large batch waits for nothing but a free place, and so does one that holds the records of all callers,
//!   because no further record can join it.

use std::ops::RangeInclusive;
use std::time::Duration;

use tokio::time::Instant;

/// A batch is small if it has fewer records than `max_records` divided by this.
const SMALL_BATCH_DIVISOR: usize = 4;

#[derive(Debug, Clone)]
pub struct Rules {
    pub at_once: usize,
    /// Bounds of what a batch needs to begin beside a running one.
    pub beside: RangeInclusive<usize>,
    pub max_records: usize,
    /// Zero turns the pace off.
    pub pace: Duration,
}

impl Rules {
    /// A batch with fewer records is small.
    pub const fn large(max_records: usize) -> usize {
        max_records / SMALL_BATCH_DIVISOR
    }
}

#[derive(Debug, Clone, Copy)]
pub struct Waiting {
    pub fresh: usize,
    /// When the first postponed record is due.
    pub next_due: Option<Instant>,
    /// Number of callers, if known: no more records than that can wait at once.
    pub callers: usize,
    pub running: usize,
}

#[derive(Debug)]
pub struct Schedule {
    rules: Rules,
    /// A small batch does not begin before this instant.
    paced_until: Instant,
    latest: usize,
}

impl Schedule {
    pub fn new(now: Instant, rules: Rules) -> Self {
        Self {
            rules,
            paced_until: now,
            latest: 0,
        }
    }

    pub fn may_start(&self, now: Instant, waiting: Waiting) -> bool {
        if self.gathers_beside(waiting) {
            return false;
        }
        if waiting.fresh > 0 && !self.is_small(waiting) {
            return true;
        }
        self.wakes_at(waiting).is_some_and(|at| at <= now)
    }

    /// When a small batch may begin, if nothing else happens before.
    pub fn wakes_at(&self, waiting: Waiting) -> Option<Instant> {
        if self.gathers_beside(waiting) {
            return None;
        }
        if waiting.fresh > 0 {
            return Some(self.paced_until);
        }
        waiting.next_due.map(|due| due.max(self.paced_until))
    }

    /// Whether these records are few enough to wait for more.
    pub fn is_small(&self, waiting: Waiting) -> bool {
        waiting.fresh < Rules::large(self.rules.max_records).min(waiting.callers)
    }

    /// A small batch starts the pace. A larger one does not: it shows that more records come than the pace
    /// would let through.
    pub fn began(&mut self, now: Instant, records: usize) {
        self.latest = records;
        if records < Rules::large(self.rules.max_records) {
            self.paced_until = now + self.rules.pace;
        }
    }

    /// Whether a batch runs that these records wait for: its end wakes them.
    fn gathers_beside(&self, waiting: Waiting) -> bool {
        let (least, most) = (*self.rules.beside.start(), *self.rules.beside.end());
        waiting.running >= self.rules.at_once
            || waiting.running > 0 && waiting.fresh < self.latest.clamp(least, most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACE: Duration = Duration::from_millis(20);

    const NOTHING: Waiting = Waiting {
        fresh: 0,
        next_due: None,
        callers: usize::MAX,
        running: 0,
    };

    fn schedule(now: Instant) -> Schedule {
        Schedule::new(
            now,
            Rules {
                at_once: 2,
                beside: 16..=128,
                max_records: 512,
                pace: PACE,
            },
        )
    }

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
        let mut schedule = schedule(started);
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
    fn beside_a_batch_few_records_keep_the_pace_too() {
        let started = Instant::now();
        let mut schedule = schedule(started);
        schedule.began(started, 1);
        assert!(!schedule.may_start(started, waiting(16, 1)));
        assert_eq!(schedule.wakes_at(waiting(16, 1)), Some(started + PACE));
    }

    #[test]
    fn after_a_large_batch_nothing_waits() {
        let started = Instant::now();
        let mut schedule = schedule(started);
        schedule.began(started, 128);
        assert!(schedule.may_start(started, waiting(1, 0)));
    }

    #[test]
    fn beside_a_batch_as_many_records_begin_and_fewer_gather() {
        let now = Instant::now();
        for (beside, many) in [(1, 16), (40, 40), (500, 128)] {
            let mut schedule = schedule(now);
            schedule.began(now, beside);
            let now = now + PACE;
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
        let mut schedule = schedule(now);
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
