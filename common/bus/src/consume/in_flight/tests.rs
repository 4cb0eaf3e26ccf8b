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
    let recreated = MessageId {
        stored_at: DateTime::UNIX_EPOCH + chrono::TimeDelta::nanoseconds(1),
        ..id(7)
    };
    assert_eq!(in_flight.renew(recreated, "new"), Some("new"));
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
