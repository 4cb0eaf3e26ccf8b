//! Which messages are in hand, and how many of their records are still open.

use std::collections::HashMap;

use chrono::{DateTime, Utc};

/// Which message of the stream: the same over redeliveries. The time tells it from the message that takes its place
/// when a stream is lost and made anew, and counts from one again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct MessageId {
    pub(super) sequence: u64,
    pub(super) stored_at: DateTime<Utc>,
}

/// A message as it was admitted: given back and delivered again, it is held anew. What a batch makes of the records of an
/// earlier admission counts for nothing in the later one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Admission {
    message: MessageId,
    admission: u64,
}

impl Admission {
    pub(super) const fn stored_at(self) -> DateTime<Utc> {
        self.message.stored_at
    }
}

#[cfg(test)]
impl Admission {
    /// Of the message with this number in its stream.
    pub(super) const fn of(sequence: u64) -> Self {
        Self {
            message: MessageId {
                sequence,
                stored_at: DateTime::UNIX_EPOCH,
            },
            admission: 0,
        }
    }
}

/// Counts a message's records down; generic over the handle that acknowledges it, so that it knows no transport.
#[derive(Debug)]
pub(super) struct InFlightMessages<H> {
    messages: HashMap<MessageId, Held<H>>,
    admissions: u64,
}

#[derive(Debug)]
struct Held<H> {
    handle: H,
    open_records: usize,
    admission: u64,
}

impl<H> InFlightMessages<H> {
    pub(super) fn new() -> Self {
        Self {
            messages: HashMap::new(),
            admissions: 0,
        }
    }

    /// Whether it is held still, and has not been given back since.
    pub(super) fn holds(&self, admission: Admission) -> bool {
        self.messages
            .get(&admission.message)
            .is_some_and(|held| held.admission == admission.admission)
    }

    /// Of a message that is held already, only the acknowledgement moves to the latest delivery: its records are under way.
    /// Gives the handle back when the message is not held.
    pub(super) fn renew(&mut self, id: MessageId, handle: H) -> Option<H> {
        match self.messages.get_mut(&id) {
            Some(held) => {
                held.handle = handle;
                None
            }
            None => Some(handle),
        }
    }

    /// Takes a message that is not held, with at least one record.
    pub(super) fn admit(&mut self, message: MessageId, handle: H, records: usize) -> Admission {
        self.admissions += 1;
        let held = Held {
            handle,
            open_records: records,
            admission: self.admissions,
        };
        self.messages.insert(message, held);
        Admission {
            message,
            admission: self.admissions,
        }
    }

    /// One record is done; returns the handle once it was the message's last, and the message may be acknowledged.
    pub(super) fn done(&mut self, admission: Admission) -> Option<H> {
        let held = self.messages.get_mut(&admission.message)?;
        if held.admission != admission.admission {
            return None;
        }
        held.open_records = held.open_records.saturating_sub(1);
        if held.open_records == 0 {
            self.release(admission)
        } else {
            None
        }
    }

    /// Gives a message up, so that it is delivered again as a whole.
    pub(super) fn release(&mut self, admission: Admission) -> Option<H> {
        if !self.holds(admission) {
            return None;
        }
        self.messages.remove(&admission.message).map(|held| held.handle)
    }

    /// Gives everything up.
    pub(super) fn release_all(&mut self) -> impl Iterator<Item = H> {
        self.messages.drain().map(|(_, held)| held.handle)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn id(sequence: u64) -> MessageId {
        MessageId {
            sequence,
            stored_at: DateTime::UNIX_EPOCH,
        }
    }

    #[test]
    fn a_message_is_acknowledged_with_its_last_record() {
        let mut in_flight = InFlightMessages::new();
        let seven = in_flight.admit(id(7), "seven", 2);
        assert_eq!(in_flight.done(seven), None);
        assert_eq!(in_flight.done(seven), Some("seven"));
        assert_eq!(in_flight.done(seven), None);
    }

    #[test]
    fn a_redelivery_of_a_held_message_only_renews_its_handle() {
        let mut in_flight = InFlightMessages::new();
        let seven = in_flight.admit(id(7), "first", 2);
        in_flight.done(seven);
        assert_eq!(in_flight.renew(id(7), "second"), None);
        assert_eq!(in_flight.done(seven), Some("second"));
        assert_eq!(in_flight.renew(id(7), "third"), Some("third"));
    }

    #[test]
    fn a_released_message_is_never_acknowledged() {
        let mut in_flight = InFlightMessages::new();
        let seven = in_flight.admit(id(7), "seven", 2);
        in_flight.done(seven);
        assert_eq!(in_flight.release(seven), Some("seven"));
        assert_eq!(in_flight.done(seven), None);
        assert!(!in_flight.holds(seven));
    }

    #[test]
    fn what_was_done_before_a_message_was_given_back_counts_for_nothing_after() {
        let mut in_flight = InFlightMessages::new();
        let before = in_flight.admit(id(7), "before", 2);
        in_flight.release(before);
        let after = in_flight.admit(id(7), "after", 1);
        assert_eq!(in_flight.done(before), None);
        assert_eq!(in_flight.release(before), None);
        assert!(in_flight.holds(after));
        assert_eq!(in_flight.done(after), Some("after"));
    }

    #[test]
    fn a_stream_made_anew_reuses_no_identity() {
        let mut in_flight = InFlightMessages::new();
        in_flight.admit(id(7), "old", 1);
        let anew = MessageId {
            stored_at: DateTime::UNIX_EPOCH + chrono::TimeDelta::nanoseconds(1),
            ..id(7)
        };
        assert_eq!(in_flight.renew(anew, "new"), Some("new"));
    }

    proptest! {
        #[test]
        fn every_message_is_acknowledged_exactly_once_in_any_order(
            records in proptest::collection::vec(0u64..8, 1..64).prop_shuffle(),
        ) {
            let mut in_flight = InFlightMessages::new();
            let admissions: Vec<Admission> = (0..8)
                .map(|sequence| {
                    let count = records.iter().filter(|record| **record == sequence).count();
                    in_flight.admit(id(sequence), sequence, count)
                })
                .collect();
            let mut acknowledged: Vec<_> = records
                .iter()
                .filter_map(|record| in_flight.done(admissions[usize::try_from(*record).unwrap()]))
                .collect();
            acknowledged.sort_unstable();
            let mut expected = records;
            expected.sort_unstable();
            expected.dedup();
            prop_assert_eq!(in_flight.messages.len(), 8 - expected.len());
            prop_assert_eq!(acknowledged, expected);
        }
    }
}
