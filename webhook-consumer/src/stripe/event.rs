//! Parses Stripe's events leniently: our structs have only the fields that we need, and unknown fields are
//! ignored. An endpoint keeps the API version it was created with, so the structs must accept every version.

use chrono::{DateTime, Utc};
use domain::money::{AmountCents, Currency};
use domain::processors::processor::ProcessorId;
use serde::Deserialize;
use serde_json::value::RawValue;

/// A signed body that is not an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("Request body must be a Stripe event")]
pub struct NotAnEvent;

/// An event that cannot be used. The reason is for the operator, and contains no data of the event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Untranslatable(pub &'static str);

/// The envelope of an event. The translator of its type parses its object.
#[derive(Debug, Clone)]
pub struct Event<'a> {
    pub id: ProcessorId,
    /// The type, such as `charge.refunded`.
    pub kind: String,
    /// By Stripe's clock.
    pub created: DateTime<Utc>,
    pub livemode: bool,
    /// The connected account, at an endpoint for connected accounts.
    pub account: Option<ProcessorId>,
    /// The whole event, as received.
    pub text: &'a str,
    object: &'a RawValue,
}

#[derive(Deserialize)]
struct Wire<'a> {
    id: ProcessorId,
    #[serde(rename = "type")]
    kind: String,
    created: i64,
    livemode: bool,
    account: Option<ProcessorId>,
    #[serde(borrow)]
    data: Data<'a>,
}

#[derive(Deserialize)]
struct Data<'a> {
    #[serde(borrow)]
    object: &'a RawValue,
}

impl<'a> Event<'a> {
    pub fn parse(body: &'a [u8]) -> Result<Self, NotAnEvent> {
        // The whole body must be UTF-8, not only the fields that we read.
        let text = std::str::from_utf8(body).map_err(|_| NotAnEvent)?;
        // Without this check serde would accept an array of the fields in order.
        if !text.trim_ascii_start().starts_with('{') {
            return Err(NotAnEvent);
        }
        let wire: Wire<'a> = serde_json::from_str(text).map_err(|_| NotAnEvent)?;
        Ok(Self {
            id: wire.id,
            kind: wire.kind,
            created: DateTime::from_timestamp(wire.created, 0)
                .filter(|created| YEARS.contains(&chrono::Datelike::year(created)))
                .ok_or(NotAnEvent)?,
            livemode: wire.livemode,
            account: wire.account,
            text,
            object: wire.data.object,
        })
    }

    pub fn object<T: Deserialize<'a>>(&self) -> Result<T, Untranslatable> {
        if !self.object.get().starts_with('{') {
            return Err(UNREADABLE);
        }
        serde_json::from_str(self.object.get()).map_err(|_| UNREADABLE)
    }
}

/// Years that both chrono and PostgreSQL support.
const YEARS: std::ops::Range<i32> = 1970..9999;
const UNREADABLE: Untranslatable = Untranslatable("its object cannot be read");

/// An id, or the expanded object.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "IdOrObject")]
pub struct Reference(pub ProcessorId);

#[derive(Deserialize)]
#[serde(untagged)]
enum IdOrObject {
    Id(ProcessorId),
    Object { id: ProcessorId },
}

impl From<IdOrObject> for Reference {
    fn from(wire: IdOrObject) -> Self {
        match wire {
            IdOrObject::Id(id) | IdOrObject::Object { id } => Self(id),
        }
    }
}

pub fn ids<const N: usize>(references: [Option<&Reference>; N]) -> impl Iterator<Item = ProcessorId> {
    references
        .into_iter()
        .flatten()
        .map(|reference| reference.0.clone())
}

/// A paid or refunded amount; `None` for zero (a trial, for example). In the smallest unit of the currency,
/// which for some currencies is the whole unit.
pub fn amount(cents: i64) -> Result<Option<AmountCents>, Untranslatable> {
    if cents <= 0 {
        return Ok(None);
    }
    let amount = AmountCents::new(cents).ok_or(Untranslatable("its amount is out of range"))?;
    Ok(Some(amount))
}

pub fn currency(code: &str) -> Result<Currency, Untranslatable> {
    Currency::parse(code).ok_or(Untranslatable("its currency is no currency"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const EVENT: &str = r#"{"id":"evt_1","type":"charge.refunded","created":1790000000,"livemode":true,"data":{"object":{"id":"ch_1"}}}"#;

    #[test]
    fn the_envelope_is_all_that_must_be_right() {
        let event = Event::parse(EVENT.as_bytes()).unwrap();
        assert_eq!(event.id.as_str(), "evt_1");
        assert_eq!(event.created.timestamp(), 1_790_000_000);
        assert!(event.livemode && event.account.is_none());
        let whole: Reference = event.object().unwrap();
        assert_eq!(whole.0.as_str(), "ch_1");
    }

    #[test]
    fn what_is_no_event_is_told_so() {
        for (from, to) in [
            (r#""id":"evt_1","#, ""),
            (r#""evt_1""#, r#""""#),
            (r#""evt_1""#, r#""a\u0000b""#),
            (r#""evt_1""#, "7"),
            (r#""charge.refunded""#, "null"),
            ("1790000000", r#""1790000000""#),
            ("1790000000", "9e99"),
            ("1790000000", "9223372036854775807"),
            ("1790000000", "253402300800"),
            ("1790000000", "-1"),
            ("true", "1"),
            (r#"{"object":{"id":"ch_1"}}"#, "[]"),
            (r#"{"object":{"id":"ch_1"}}"#, r#"{"object":nothing}"#),
        ] {
            let body = EVENT.replacen(from, to, 1);
            assert_ne!(body, EVENT);
            assert_eq!(Event::parse(body.as_bytes()).err(), Some(NotAnEvent), "{body}");
        }
        for body in ["", "[]", "null", "{}", "{\"id\"", "\u{feff}{}"] {
            assert_eq!(Event::parse(body.as_bytes()).err(), Some(NotAnEvent), "{body}");
        }
        let mut bytes = EVENT.replace("ch_1", "ch?").into_bytes();
        let at = bytes.iter().position(|byte| *byte == b'?').unwrap();
        bytes[at] = 0xff;
        assert_eq!(Event::parse(&bytes).err(), Some(NotAnEvent));
    }

    #[test]
    fn a_reference_is_an_id_or_an_object() {
        for json in [
            r#""pi_1""#,
            r#"{"object":"payment_intent","id":"pi_1","charges":{"data":[]}}"#,
        ] {
            let reference: Reference = serde_json::from_str(json).unwrap();
            assert_eq!(reference.0.as_str(), "pi_1");
        }
        for json in ["1", "[]", r#"{"id":null}"#, "{}", r#""""#] {
            assert!(serde_json::from_str::<Reference>(json).is_err(), "{json}");
        }
    }

    #[test]
    fn nothing_and_less_is_no_amount() {
        assert_eq!(amount(0), Ok(None));
        assert_eq!(amount(-5), Ok(None));
        assert_eq!(amount(5).unwrap().unwrap().get(), 5);
        assert!(amount(i64::MAX).is_err());
    }

    proptest! {
        #[test]
        fn no_bytes_panic(body: Vec<u8>) {
            let _ = Event::parse(&body);
        }
    }
}
