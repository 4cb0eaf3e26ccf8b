//! Envelopes: several records in one message.
//!
//! One message holds many records of one noun from one publisher, because a durable publish costs per
//! message, not per byte. The records are already serialised, so packing only concatenates them. The consumer
//! splits them without parsing their content.
//!
//! - Work: `{"v":1,"reply_to":"<subject>","records":[…]}`. `reply_to` is absent if no caller waits.
//! - Answers: `{"v":1,"outcomes":[{"event_id":"<uuid>","outcome":…}]}`.
//!
//! A change that an older reader would misunderstand raises `v`. An older worker then leaves the message for
//! a newer one ([`EnvelopeError::UnknownVersion`]) while a rollout lasts.

use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;
use uuid::Uuid;

const VERSION: u32 = 1;

/// Bytes for the frame around the records. The publisher limits the size of the records.
const FRAME: usize = 128;

/// Why a message cannot be split into records.
#[derive(Debug, thiserror::Error)]
pub enum EnvelopeError {
    /// Not valid in any version: no reader will ever understand it.
    #[error("malformed envelope: {0}")]
    Malformed(#[from] serde_json::Error),
    /// Written by a newer or unknown release. Another reader may understand it.
    #[error("envelope version {found} is not understood here, only {VERSION} is")]
    UnknownVersion { found: u32 },
}

/// A message split into its records.
#[derive(Debug)]
pub struct Envelope {
    /// The NATS subject on which the publisher waits for outcomes; `None` if it does not wait.
    pub reply_to: Option<String>,
    pub records: Vec<Box<RawValue>>,
}

/// Outcomes for one publisher.
#[derive(Debug)]
pub struct ReplyBatch {
    pub outcomes: Vec<EventOutcome>,
}

/// The outcome of one record. `outcome` stays serialised until the waiting request reads it.
#[derive(Debug, Clone, Deserialize)]
pub struct EventOutcome {
    pub event_id: Uuid,
    pub outcome: Box<RawValue>,
}

impl EventOutcome {
    /// The bytes of this outcome inside a [`ReplyBatch`].
    pub fn packed_size(&self) -> usize {
        self.outcome.get().len() + r#"{"event_id":"00000000-0000-0000-0000-000000000000","outcome":},"#.len()
    }
}

/// Packs `records` into one message payload.
pub fn encode(reply_to: Option<&str>, records: &[Box<RawValue>]) -> Bytes {
    let size: usize = records.iter().map(|record| record.get().len() + 1).sum();
    let mut json = String::with_capacity(size + FRAME);
    json.push_str(r#"{"v":1,"#);
    if let Some(subject) = reply_to {
        json.push_str(r#""reply_to":"#);
        json.push_str(&serde_json::Value::from(subject).to_string());
        json.push(',');
    }
    json.push_str(r#""records":["#);
    for (index, record) in records.iter().enumerate() {
        if index > 0 {
            json.push(',');
        }
        json.push_str(record.get());
    }
    json.push_str("]}");
    json.into()
}

/// Splits a payload made by [`encode`] into its records.
pub fn decode(payload: &[u8]) -> Result<Envelope, EnvelopeError> {
    #[derive(Deserialize)]
    struct Wire {
        v: u32,
        #[serde(default)]
        reply_to: Option<String>,
        records: Vec<Box<RawValue>>,
    }
    let wire: Wire = serde_json::from_slice(payload).map_err(|error| blame_version(payload, error))?;
    expect_version(wire.v)?;
    Ok(Envelope {
        reply_to: wire.reply_to,
        records: wire.records,
    })
}

/// Packs `outcomes` into one answer.
pub fn encode_replies(outcomes: &[EventOutcome]) -> Bytes {
    let size: usize = outcomes.iter().map(EventOutcome::packed_size).sum();
    let mut json = String::with_capacity(size + FRAME);
    json.push_str(r#"{"v":1,"outcomes":["#);
    for (index, EventOutcome { event_id, outcome }) in outcomes.iter().enumerate() {
        if index > 0 {
            json.push(',');
        }
        json.push_str(r#"{"event_id":""#);
        json.push_str(event_id.hyphenated().encode_lower(&mut Uuid::encode_buffer()));
        json.push_str(r#"","outcome":"#);
        json.push_str(outcome.get());
        json.push('}');
    }
    json.push_str("]}");
    json.into()
}

/// Splits an answer made by [`encode_replies`].
pub fn decode_replies(payload: &[u8]) -> Result<ReplyBatch, EnvelopeError> {
    #[derive(Deserialize)]
    struct Wire {
        v: u32,
        outcomes: Vec<EventOutcome>,
    }
    let wire: Wire = serde_json::from_slice(payload).map_err(|error| blame_version(payload, error))?;
    expect_version(wire.v)?;
    Ok(ReplyBatch {
        outcomes: wire.outcomes,
    })
}

fn expect_version(found: u32) -> Result<(), EnvelopeError> {
    if found == VERSION {
        Ok(())
    } else {
        Err(EnvelopeError::UnknownVersion { found })
    }
}

/// A newer format does not parse as ours. Only its version distinguishes it from garbage.
fn blame_version(payload: &[u8], error: serde_json::Error) -> EnvelopeError {
    #[derive(Deserialize)]
    struct Version {
        v: u32,
    }
    match serde_json::from_slice::<Version>(payload) {
        Ok(Version { v }) if v != VERSION => EnvelopeError::UnknownVersion { found: v },
        _ => EnvelopeError::Malformed(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn raw(json: &str) -> Box<RawValue> {
        RawValue::from_string(json.to_owned()).unwrap()
    }

    proptest! {
        #[test]
        fn records_and_reply_subject_survive_packing(
            reply_to in proptest::option::of(".*"),
            texts in proptest::collection::vec(".*", 0..20),
        ) {
            let records: Vec<_> = texts.iter().map(|t| serde_json::value::to_raw_value(t).unwrap()).collect();
            let envelope = decode(&encode(reply_to.as_deref(), &records)).unwrap();
            prop_assert_eq!(envelope.reply_to, reply_to);
            let unpacked: Vec<String> =
                envelope.records.iter().map(|r| serde_json::from_str(r.get()).unwrap()).collect();
            prop_assert_eq!(unpacked, texts);
        }

        #[test]
        fn decoding_never_panics(payload in proptest::collection::vec(any::<u8>(), 0..64)) {
            let _ = decode(&payload);
            let _ = decode_replies(&payload);
        }
    }

    #[test]
    fn the_wire_form_is_fixed() {
        let packed = encode(Some("replies.a"), &[raw(r#"{"n":1}"#), raw("2")]);
        assert_eq!(packed, r#"{"v":1,"reply_to":"replies.a","records":[{"n":1},2]}"#);
        assert_eq!(encode(None, &[]), r#"{"v":1,"records":[]}"#);
    }

    #[test]
    fn outcomes_survive_packing_within_their_stated_size() {
        let outcome = EventOutcome {
            event_id: Uuid::from_u128(7),
            outcome: raw(r#"{"sale_id":1}"#),
        };
        let packed = encode_replies(&[outcome.clone(), outcome.clone()]);
        assert!(packed.len() <= 2 * outcome.packed_size() + FRAME);
        let batch = decode_replies(&packed).unwrap();
        assert_eq!(batch.outcomes.len(), 2);
        assert_eq!(batch.outcomes[1].event_id, Uuid::from_u128(7));
        assert_eq!(batch.outcomes[1].outcome.get(), r#"{"sale_id":1}"#);
    }

    #[test]
    fn a_newer_version_is_told_from_garbage() {
        for newer in [r#"{"v":2,"records":[]}"#, r#"{"v":2,"batches":{}}"#] {
            assert!(matches!(
                decode(newer.as_bytes()),
                Err(EnvelopeError::UnknownVersion { found: 2 })
            ));
        }
        for garbage in ["", "[]", r#"{"v":1}"#, r#"{"records":[]}"#, "\u{0}"] {
            assert!(matches!(
                decode(garbage.as_bytes()),
                Err(EnvelopeError::Malformed(_))
            ));
        }
    }
}
