//! Messages: a split envelope can be packed again; records parse back; another version is distinguished from garbage.

use messages::click::ClickRecord;
use messages::envelope::{self, EnvelopeError};
use messages::lead::{LeadOutcome, LeadRecord};
use messages::notification::NotificationRecord;
use messages::payment::PaymentRecord;
use messages::refund::{RefundOutcome, RefundRecord};
use messages::sale::{SaleOutcome, SaleRecord};
use messages::test_event::TestEventRecord;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use crate::round_trip::survives;

pub fn run(bytes: &[u8]) {
    match envelope::decode(bytes) {
        Ok(work) => {
            assert!(version(bytes) == Some(1) || is_list(bytes));
            let again = envelope::decode(&envelope::encode(work.reply_to.as_deref(), &work.records)).unwrap();
            assert_eq!(again.reply_to, work.reply_to);
            let texts = |records: &[Box<RawValue>]| {
                records
                    .iter()
                    .map(|record| record.get().to_owned())
                    .collect::<Vec<_>>()
            };
            assert_eq!(texts(&again.records), texts(&work.records));
            for record in &work.records {
                records(record.get());
            }
        }
        Err(EnvelopeError::UnknownVersion { found }) => {
            assert!(found != 1);
            assert!(version(bytes) == Some(u64::from(found)) || is_list(bytes));
        }
        Err(EnvelopeError::Malformed(_)) => {
            assert!(version(bytes).is_none_or(|version| version == 1 || u32::try_from(version).is_err()));
        }
    }
    if let Ok(answers) = envelope::decode_replies(bytes) {
        let packed = envelope::encode_replies(&answers.outcomes);
        let size: usize = answers
            .outcomes
            .iter()
            .map(envelope::EventOutcome::packed_size)
            .sum();
        assert!(packed.len() <= size + 128, "as long as it is said to be");
        let again = envelope::decode_replies(&packed).unwrap();
        assert_eq!(again.outcomes.len(), answers.outcomes.len());
        for (one, other) in again.outcomes.iter().zip(&answers.outcomes) {
            assert_eq!(
                (one.event_id, one.outcome.get()),
                (other.event_id, other.outcome.get())
            );
            outcomes(one.outcome.get());
        }
    }
}

/// Parses the records as each noun.
fn records(text: &str) {
    settles::<ClickRecord>(text);
    settles::<LeadRecord>(text);
    settles::<SaleRecord>(text);
    settles::<RefundRecord>(text);
    settles::<PaymentRecord>(text);
    settles::<NotificationRecord>(text);
    settles::<TestEventRecord>(text);
}

fn outcomes(text: &str) {
    settles::<LeadOutcome>(text);
    settles::<SaleOutcome>(text);
    settles::<RefundOutcome>(text);
}

/// If it parses as this type, what is written of it parses again.
fn settles<T: Serialize + DeserializeOwned>(text: &str) {
    if let Ok(read) = serde_json::from_str::<T>(text) {
        survives(&read);
    }
}

/// serde accepts fields as a list; harmless, because only our services write to the bus.
fn is_list(bytes: &[u8]) -> bool {
    bytes.trim_ascii_start().starts_with(b"[")
}

/// `None` without a version, or with two.
fn version(bytes: &[u8]) -> Option<u64> {
    #[derive(serde::Deserialize)]
    struct Versioned {
        v: u64,
    }
    serde_json::from_slice(bytes).ok().map(|Versioned { v }| v)
}
