//! The trace context of a record: its field `"trace"`, in the W3C `traceparent` format. Only records of
//! traced requests have it, and only tracing reads it.

use std::fmt;
use std::str::FromStr;

use serde::Deserialize;
use serde_json::value::RawValue;

/// A span and its trace. Neither id is zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceParent {
    pub trace_id: u128,
    pub span_id: u64,
}

/// The text is not a valid `traceparent`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a traceparent")]
pub struct TraceParentError;

impl fmt::Display for TraceParent {
    /// The sampled flag is always set: only sampled requests have a context.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "00-{:032x}-{:016x}-01", self.trace_id, self.span_id)
    }
}

impl FromStr for TraceParent {
    type Err = TraceParentError;

    /// A later version may have more fields after the flags.
    fn from_str(text: &str) -> Result<Self, TraceParentError> {
        let mut parts = text.split('-');
        let mut hex = |digits| hex_of(digits, parts.next()?);
        let read = (hex(2), hex(32), hex(16), hex(2));
        let (Some(version), Some(trace_id), Some(span_id), Some(_flags)) = read else {
            return Err(TraceParentError);
        };
        let is_whole = parts.next().is_none() || version != 0;
        let span_id = u64::try_from(span_id).unwrap_or_default();
        (is_whole && version != 0xff && trace_id != 0 && span_id != 0)
            .then_some(Self { trace_id, span_id })
            .ok_or(TraceParentError)
    }
}

fn hex_of(digits: usize, part: &str) -> Option<u128> {
    let is_lower_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    (part.len() == digits && part.bytes().all(is_lower_hex))
        .then(|| u128::from_str_radix(part, 16).ok())
        .flatten()
}

impl TraceParent {
    /// Adds the context to a record. A record that is not an object stays unchanged.
    pub fn inject(self, record: Box<RawValue>) -> Box<RawValue> {
        let Some(fields) = record.get().strip_prefix('{').filter(|fields| *fields != "}") else {
            return record;
        };
        RawValue::from_string(format!("{{\"trace\":\"{self}\",{fields}")).unwrap_or(record)
    }

    /// The context of a record, if it has a valid one.
    pub fn extract(record: &RawValue) -> Option<Self> {
        #[derive(Deserialize)]
        struct Marked<'a> {
            #[serde(borrow, default)]
            trace: Option<&'a str>,
        }
        serde_json::from_str::<Marked<'_>>(record.get())
            .ok()?
            .trace?
            .parse()
            .ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn raw(json: &str) -> Box<RawValue> {
        RawValue::from_string(json.to_owned()).unwrap()
    }

    #[test]
    fn what_callers_send_is_read_strictly() {
        let trace_id = "4bf92f3577b34da6a3ce929d0e0e4736";
        let span_id = "00f067aa0ba902b7";
        let parent: TraceParent = format!("00-{trace_id}-{span_id}-00").parse().unwrap();
        assert_eq!(parent.to_string(), format!("00-{trace_id}-{span_id}-01"));
        assert!(
            format!("01-{trace_id}-{span_id}-01-more")
                .parse::<TraceParent>()
                .is_ok()
        );
        for invalid in [
            String::new(),
            format!("00-{trace_id}-{span_id}"),
            format!("00-{trace_id}-{span_id}-01-more"),
            format!("ff-{trace_id}-{span_id}-01"),
            format!("00-{}-{span_id}-01", trace_id.to_uppercase()),
            format!("00-{}-{span_id}-01", "0".repeat(32)),
            format!("00-{trace_id}-{}-01", "0".repeat(16)),
            format!("00-+{}-{span_id}-01", &trace_id[1..]),
        ] {
            assert_eq!(invalid.parse::<TraceParent>(), Err(TraceParentError), "{invalid}");
        }
    }

    #[test]
    fn a_mark_that_cannot_be_read_is_none() {
        for record in [
            "1",
            "{}",
            r#"{"n":1}"#,
            r#"{"trace":7}"#,
            r#"{"trace":"x"}"#,
            r#"{"trace":null}"#,
        ] {
            assert_eq!(TraceParent::extract(&raw(record)), None, "{record}");
        }
    }

    proptest! {
        #[test]
        fn a_marked_record_has_its_fields_and_its_trace(
            trace_id in 1u128.., span_id in 1u64.., fields in proptest::collection::btree_map("[a-s]{1,4}", ".*", 1..5),
        ) {
            let parent = TraceParent { trace_id, span_id };
            let marked = parent.inject(serde_json::value::to_raw_value(&fields).unwrap());
            prop_assert_eq!(TraceParent::extract(&marked), Some(parent));
            let mut read: std::collections::BTreeMap<String, String> = serde_json::from_str(marked.get()).unwrap();
            prop_assert_eq!(read.remove("trace"), Some(parent.to_string()));
            prop_assert_eq!(read, fields);
        }

        #[test]
        fn reading_never_panics(text in ".*") {
            let _ = text.parse::<TraceParent>();
        }
    }
}
