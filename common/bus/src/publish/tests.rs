use super::*;
use async_nats::jetstream::context::PublishErrorKind;
use proptest::prelude::*;

fn record(bytes: usize) -> Box<RawValue> {
    serde_json::value::to_raw_value(&"x".repeat(bytes)).unwrap()
}

fn refusal(code: u64, description: &str) -> NatsError {
    let source: JetStreamError = serde_json::from_value(
        serde_json::json!({ "code": 503, "err_code": code, "description": description }),
    )
    .unwrap();
    NatsError::with_source(PublishErrorKind::Other, source)
}

#[test]
fn a_full_stream_is_a_clean_refusal() {
    assert!(matches!(
        classify(&refusal(10_077, "maximum bytes exceeded")),
        PublishError::Full(_)
    ));
    assert!(matches!(
        classify(&refusal(10_023, "insufficient resources")),
        PublishError::Full(_)
    ));
}

#[test]
fn anything_else_leaves_the_outcome_open() {
    for error in [
        refusal(10_077, "write: input/output error"),
        NatsError::new(PublishErrorKind::TimedOut),
        NatsError::new(PublishErrorKind::StreamNotFound),
    ] {
        assert!(classify(&error).is_transient());
    }
}

#[test]
fn a_record_that_fits_no_message_is_refused() {
    assert_eq!(
        fits(&record(MAX_RECORD_BYTES)),
        Err(PublishError::TooLarge {
            bytes: MAX_RECORD_BYTES + 3
        })
    );
    assert_eq!(fits(&record(MAX_RECORD_BYTES - 3)), Ok(()));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn packing_keeps_every_record_in_order_within_the_bounds(
        sizes in proptest::collection::vec(prop_oneof![9 => 0usize..500, 1 => 0..MAX_RECORD_BYTES - 3], 0..600),
    ) {
        let records: Vec<_> = sizes.iter().map(|size| record(*size)).collect();
        let messages: Vec<_> = pack(&records).collect();
        prop_assert_eq!(messages.iter().map(|message| message.len()).sum::<usize>(), records.len());
        for message in &messages {
            let weight: usize = message.iter().map(|record| weigh(record)).sum();
            prop_assert!(message.len() <= MAX_RECORDS);
            prop_assert!(weight <= MAX_MESSAGE_BYTES || message.len() == 1);
        }
        let order: Vec<_> = messages.concat().iter().map(|record| record.get().len()).collect();
        prop_assert_eq!(order, records.iter().map(|record| record.get().len()).collect::<Vec<_>>());
    }
}
