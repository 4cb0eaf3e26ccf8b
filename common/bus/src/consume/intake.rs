//! From a payload to records, without a transport.

use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use messages::envelope::{self, EnvelopeError};

/// A decoded payload.
#[derive(Debug)]
pub(super) enum Opened<R> {
    Records {
        reply_to: Option<Arc<str>>,
        records: Vec<Read<R>>,
    },
    /// Written by a newer release, whose workers will understand it.
    TooNew { version: u32 },
    /// Can never be decoded.
    Garbage { reason: String },
}

/// One record, as it came and as it reads.
#[derive(Debug)]
pub(super) struct Read<R> {
    pub(super) raw: Box<RawValue>,
    /// The error is why it will never read.
    pub(super) record: Result<R, String>,
}

pub(super) fn open<R: DeserializeOwned>(payload: &[u8]) -> Opened<R> {
    match envelope::decode(payload) {
        Ok(envelope) => Opened::Records {
            reply_to: envelope.reply_to.map(Into::into),
            records: envelope.records.into_iter().map(read).collect(),
        },
        Err(EnvelopeError::UnknownVersion { found }) => Opened::TooNew { version: found },
        Err(error @ EnvelopeError::Malformed(_)) => Opened::Garbage {
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
            open::<u32>(br#"{"v":1,"reply_to":"r","records":[1,"two",3]}"#)
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
        assert!(matches!(open::<u32>(b"{"), Opened::Garbage { .. }));
        assert!(matches!(
            open::<u32>(br#"{"v":9}"#),
            Opened::TooNew { version: 9 }
        ));
    }
}
