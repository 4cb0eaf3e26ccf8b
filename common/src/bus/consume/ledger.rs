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

/// Counts a message's records down; generic over the handle that acknowledges it, so that it knows no transport.
#[derive(Debug)]
pub(super) struct Ledger<H> {
    messages: HashMap<MessageId, Held<H>>,
}

#[derive(Debug)]
struct Held<H> {
    handle: H,
    open_records: usize,
}

impl<H> Ledger<H> {
    pub(super) fn new() -> Self {
        Self {
            messages: HashMap::new(),
        }
    }

    pub(super) fn holds(&self, id: MessageId) -> bool {
        self.messages.contains_key(&id)
    }

    /// Takes a message with at least one record, or the new handle of a message already held: its records are under
    /// way, only its acknowledgement moves to the latest delivery.
    pub(super) fn admit(&mut self, id: MessageId, handle: H, records: usize) {
        match self.messages.get_mut(&id) {
            Some(held) => held.handle = handle,
            None => {
                self.messages.insert(
                    id,
                    Held {
                        handle,
                        open_records: records,
                    },
                );
            }
        }
    }

    /// One record is done; returns the handle once it was the message's last, and the message may be acknowledged.
    pub(super) fn done(&mut self, id: MessageId) -> Option<H> {
        let held = self.messages.get_mut(&id)?;
        held.open_records = held.open_records.saturating_sub(1);
        if held.open_records == 0 {
            self.release(id)
        } else {
            None
        }
    }

    /// Gives a message up, so that it is delivered again as a whole.
    pub(super) fn release(&mut self, id: MessageId) -> Option<H> {
        self.messages.remove(&id).map(|held| held.handle)
    }

    pub(super) fn handles(&self) -> impl Iterator<Item = &H> {
        self.messages.values().map(|held| &held.handle)
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
        let mut ledger = Ledger::new();
        ledger.admit(id(7), "seven", 2);
        assert_eq!(ledger.done(id(7)), None);
        assert_eq!(ledger.done(id(7)), Some("seven"));
        assert_eq!(ledger.done(id(7)), None);
    }

    #[test]
    fn a_redelivery_of_a_held_message_only_renews_its_handle() {
        let mut ledger = Ledger::new();
        ledger.admit(id(7), "first", 2);
        ledger.done(id(7));
        ledger.admit(id(7), "second", 2);
        assert_eq!(ledger.done(id(7)), Some("second"));
    }

    #[test]
    fn a_released_message_is_never_acknowledged() {
        let mut ledger = Ledger::new();
        ledger.admit(id(7), "seven", 2);
        ledger.done(id(7));
        assert_eq!(ledger.release(id(7)), Some("seven"));
        assert_eq!(ledger.done(id(7)), None);
        assert!(!ledger.holds(id(7)));
    }

    #[test]
    fn a_stream_made_anew_reuses_no_identity() {
        let mut ledger = Ledger::new();
        ledger.admit(id(7), "old", 1);
        let anew = MessageId {
            stored_at: DateTime::UNIX_EPOCH + chrono::TimeDelta::nanoseconds(1),
            ..id(7)
        };
        assert!(!ledger.holds(anew));
    }

    proptest! {
        #[test]
        fn every_message_is_acknowledged_exactly_once_in_any_order(
            records in proptest::collection::vec(0u64..8, 1..64).prop_shuffle(),
        ) {
            let mut ledger = Ledger::new();
            for sequence in 0..8 {
                let count = records.iter().filter(|record| **record == sequence).count();
                if count > 0 {
                    ledger.admit(id(sequence), sequence, count);
                }
            }
            let mut acknowledged: Vec<_> = records.iter().filter_map(|record| ledger.done(id(*record))).collect();
            acknowledged.sort_unstable();
            let mut expected = records;
            expected.sort_unstable();
            expected.dedup();
            prop_assert_eq!(acknowledged, expected);
            prop_assert_eq!(ledger.handles().count(), 0);
        }
    }
}
