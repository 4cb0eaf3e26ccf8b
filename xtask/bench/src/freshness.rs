//! The delay between the 200 of an event and its appearance in reports.
//!
//! Events are identified by count: the n-th 200 is matched with the first poll that shows n events. A poll counts from the end of its
//! response, so delays are overestimated by up to one interval between polls.

use hdrhistogram::Histogram;

/// A poll: time in milliseconds since the first event was sent, and the number of events shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Look {
    pub(super) at: u64,
    /// Events since the start of the load.
    pub(super) shown: u64,
}

/// Delays in milliseconds, and the number of events that the last poll did not show.
pub(super) fn delays(ok_by_millisecond: &[u32], looks: &[Look]) -> (Histogram<u64>, u64) {
    let mut delays = empty();
    let mut shown = 0;
    let mut answered = ok_by_millisecond
        .iter()
        .zip(0_u64..)
        .flat_map(|(count, at)| (0..*count).map(move |_| at));
    for look in looks {
        while shown < look.shown {
            // Shown before the load generator received the 200.
            let Some(at) = answered.next() else { break };
            shown += 1;
            delays.saturating_record(look.at.saturating_sub(at));
        }
    }
    let missing = answered.fold(0, |count, _| count + 1);
    (delays, missing)
}

#[expect(
    clippy::expect_used,
    reason = "the bounds are constants that the crate accepts"
)]
/// Up to ten minutes.
fn empty() -> Histogram<u64> {
    Histogram::new_with_bounds(1, 600_000, 3).expect("bounds are valid")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(at: u64, shown: u64) -> Look {
        Look { at, shown }
    }

    #[test]
    fn the_nth_answer_is_held_against_the_first_look_that_shows_n() {
        // One answer at 0 ms, two at 2 ms, one at 3 ms.
        let (delays, missing) = delays(&[1, 0, 2, 1], &[look(1, 0), look(5, 2), look(9, 3)]);
        let recorded: Vec<u64> = delays
            .iter_recorded()
            .flat_map(|v| vec![v.value_iterated_to(); usize::try_from(v.count_at_value()).unwrap()])
            .collect();
        assert_eq!(recorded, [3, 5, 7]);
        assert_eq!(missing, 1);
    }

    #[test]
    fn what_shows_before_its_answer_came_is_no_delay() {
        let (delays, missing) = delays(&[0, 0, 0, 1], &[look(1, 1)]);
        assert_eq!((delays.max(), missing), (0, 0));
    }

    #[test]
    fn others_events_do_not_matter_at_the_end() {
        let (delays, missing) = delays(&[1], &[look(1, 10)]);
        assert_eq!((delays.len(), missing), (1, 0));
    }
}
