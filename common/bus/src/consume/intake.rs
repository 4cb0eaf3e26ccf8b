//! Decodes a payload into records, without a transport.

use std::sync::Arc;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use messages::envelope::{self, EnvelopeError};

/// How many times a message is left to a newer release: every [`TOO_NEW_DELAY`], for an hour. After that we
/// assume that the newer release was rolled back for good. No later message can be trimmed from the stream
/// until this one is acknowledged.
const LEFT_TO_NEWER: u32 = 120;

/// A deployment takes minutes; in that time a newer worker takes over.
pub(super) const TOO_NEW_DELAY: Duration = Duration::from_secs(30);

/// A decoded payload.
#[derive(Debug)]
pub(super) enum Opened<R> {
    Records {
        reply_to: Option<Arc<str>>,
        records: Vec<Read<R>>,
    },
    /// A newer release wrote it, whose workers understand it.
    TooNew { version: u32 },
    /// Cannot be decoded, or only by a newer release that is no longer expected.
    Garbage { reason: String },
}

/// One record, as text and decoded.
#[derive(Debug)]
pub(super) struct Read<R> {
    pub(super) raw: Box<RawValue>,
    /// The error says why the record can never be decoded.
    pub(super) record: Result<R, String>,
}

/// `deliveries` includes this delivery.
pub(super) fn open<R: DeserializeOwned>(payload: &[u8], deliveries: u32) -> Opened<R> {
    match envelope::decode(payload) {
        Ok(envelope) => Opened::Records {
            reply_to: envelope.reply_to.map(Into::into),
            records: envelope.records.into_iter().map(read).collect(),
        },
        Err(EnvelopeError::UnknownVersion { found }) if deliveries <= LEFT_TO_NEWER => {
            Opened::TooNew { version: found }
        }
        Err(error) => Opened::Garbage {
            reason: error.to_string(),
        },
    }
}

fn read<R: DeserializeOwned>(raw: Box<RawValue>) -> Read<R> {
    let record = serde_json::from_str(raw.get()).map_err(|error| format!("unreadable record: {error}"));
    Read { raw, record }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_unreadable_record_leaves_its_neighbours_readable() {
        let Opened::Records { reply_to, records } =
            open::<u32>(br#"{"v":1,"reply_to":"r","records":[1,"two",3]}"#, 1)
        else {
            panic!("these are records");
        };
        assert_eq!(reply_to.as_deref(), Some("r"));
        let read: Vec<_> = records
            .iter()
            .map(|read| read.record.as_ref().ok().copied())
            .collect();
        assert_eq!(read, [Some(1), None, Some(3)]);
        assert_eq!(records[1].raw.get(), r#""two""#);
    }

    #[test]
    fn garbage_is_told_from_the_future() {
        assert!(matches!(open::<u32>(b"{", 1), Opened::Garbage { .. }));
        assert!(matches!(
            open::<u32>(br#"{"v":9}"#, LEFT_TO_NEWER),
            Opened::TooNew { version: 9 }
        ));
    }

    #[test]
    fn a_message_of_a_release_that_was_taken_back_does_not_stay_for_ever() {
        let Opened::Garbage { reason } = open::<u32>(br#"{"v":9}"#, LEFT_TO_NEWER + 1) else {
            panic!("it is left to a newer release");
        };
        assert_eq!(reason, "envelope version 9 is not understood here, only 1 is");
    }
}
