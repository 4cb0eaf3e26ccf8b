//! Names in angle brackets: `<token>` stands for a value, `<an integer as sale_id>` for a kind of value that
//! gets a name.
//!
//! Names with capitals are not replaced: a message of the service contains `<PROGRAM_API_KEY>`.

use std::collections::BTreeMap;

use chrono::{DateTime, NaiveDateTime};
use serde_json::{Map, Value};

/// Removes a field from a request's body; `null` would send the field.
const NOTHING: &str = "<nothing>";

/// The values of an entry's names.
#[derive(Debug, Clone, Default)]
pub struct Names(BTreeMap<String, Value>);

impl Names {
    pub fn insert(&mut self, name: &str, value: impl Into<Value>) {
        self.0.insert(name.to_owned(), value.into());
    }

    /// Replaces a text that is only a name by the name's value, of any type.
    pub fn fill(&self, text: &str) -> Result<Value, String> {
        if let Some(name) = whole(text).filter(|name| is_name(name)) {
            return self.value(name).cloned();
        }
        let mut filled = String::new();
        for part in parts(text) {
            match part {
                Part::Text(text) => filled.push_str(text),
                Part::Name(name) => match self.value(name)? {
                    Value::String(value) => filled.push_str(value),
                    value => filled.push_str(&value.to_string()),
                },
            }
        }
        Ok(Value::String(filled))
    }

    /// Like [`Self::fill`], for a path or a header, which must stay a text.
    pub fn fill_text(&self, text: &str) -> Result<String, String> {
        Ok(match self.fill(text)? {
            Value::String(text) => text,
            value => value.to_string(),
        })
    }

    /// Like [`Self::fill`], for all texts in a value.
    pub fn fill_all(&self, value: &Value) -> Result<Value, String> {
        match value {
            Value::String(text) => self.fill(text),
            Value::Array(items) => items.iter().map(|item| self.fill_all(item)).collect(),
            Value::Object(fields) => {
                let kept = fields.iter().filter(|(_, value)| *value != NOTHING);
                let filled = kept.map(|(name, value)| Ok((name.clone(), self.fill_all(value)?)));
                filled.collect::<Result<Map<_, _>, String>>().map(Value::Object)
            }
            other => Ok(other.clone()),
        }
    }

    fn value(&self, name: &str) -> Result<&Value, String> {
        self.0
            .get(name)
            .ok_or_else(|| format!("nothing is called <{name}>"))
    }
}

enum Part<'a> {
    Text(&'a str),
    Name(&'a str),
}

/// The text between brackets, if there is no other text.
fn whole(text: &str) -> Option<&str> {
    let inner = text.strip_prefix('<')?.strip_suffix('>')?;
    (!inner.contains(['<', '>'])).then_some(inner)
}

fn is_name(text: &str) -> bool {
    let first_is_letter = text.bytes().next().is_some_and(|byte| byte.is_ascii_lowercase());
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_.".contains(&byte);
    first_is_letter && text.bytes().all(plain) && text != "nothing"
}

fn parts(mut text: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    while let Some((before, name, after)) = next_bracket(text) {
        if is_name(name) {
            parts.push(Part::Text(before));
            parts.push(Part::Name(name));
            text = after;
        } else {
            let (passed, rest) = text.split_at(before.len() + 1);
            parts.push(Part::Text(passed));
            text = rest;
        }
    }
    parts.push(Part::Text(text));
    parts
}

fn next_bracket(text: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = text.split_once('<')?;
    let (name, after) = rest.split_once('>')?;
    Some((before, name, after))
}

/// The names that a text uses.
pub fn used(text: &str) -> impl Iterator<Item = &str> {
    parts(text).into_iter().filter_map(|part| match part {
        Part::Name(name) => Some(name),
        Part::Text(_) => None,
    })
}

/// The names that a text gives to values of an answer.
pub fn captured(text: &str) -> impl Iterator<Item = &str> {
    text.split('<').filter_map(|rest| {
        let (inner, _) = rest.split_once('>')?;
        let (_, name) = inner.split_once(" as ")?;
        is_name(name).then_some(name)
    })
}

/// A kind of value that is not known in advance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Integer,
    /// Not empty.
    Text,
    /// ISO 8601, UTC, milliseconds, `Z`.
    Instant,
    /// An instant as the database writes it.
    Time,
    ClickId,
    /// A whole minute in seconds since 1970.
    Minute,
    /// Seconds until the next minute: 1 to 60.
    Wait,
    /// Seconds until the next hour: 1 to 3600.
    LongerWait,
    EmailHash,
    Uuid,
    /// `test_txn_<epoch_milliseconds>`.
    TestTransactionId,
}

/// `<an integer>`, or with a name: `<an integer as sale_id>`.
pub fn kind(text: &str) -> Option<(Kind, Option<&str>)> {
    let inner = whole(text)?;
    let (kind, name) = match inner.split_once(" as ") {
        Some((kind, name)) => (kind, Some(name)),
        None => (inner, None),
    };
    let kind = match kind {
        "an integer" => Kind::Integer,
        "a text" => Kind::Text,
        "an instant" => Kind::Instant,
        "a time" => Kind::Time,
        "a click_id" => Kind::ClickId,
        "a minute" => Kind::Minute,
        "a wait" => Kind::Wait,
        "a longer wait" => Kind::LongerWait,
        "an email hash" => Kind::EmailHash,
        "a uuid" => Kind::Uuid,
        "a test transaction_id" => Kind::TestTransactionId,
        _ => return None,
    };
    Some((kind, name))
}

impl Kind {
    /// Whether a header of this kind is a number.
    pub fn is_number(self) -> bool {
        matches!(self, Self::Integer | Self::Minute | Self::Wait | Self::LongerWait)
    }

    pub fn admits(self, value: &Value) -> bool {
        let text = value.as_str();
        match self {
            Self::Integer => value.is_i64() || value.is_u64(),
            Self::Text => text.is_some_and(|text| !text.is_empty()),
            Self::Instant => text.is_some_and(|text| {
                text.len() == "2026-01-01T00:00:00.000Z".len()
                    && NaiveDateTime::parse_from_str(text, "%Y-%m-%dT%H:%M:%S%.3fZ").is_ok()
            }),
            Self::Time => text.is_some_and(|text| DateTime::parse_from_rfc3339(text).is_ok()),
            Self::ClickId => text.is_some_and(is_click_id),
            Self::Minute => value
                .as_i64()
                .is_some_and(|at| at > 1_700_000_000 && at < 10_000_000_000 && at % 60 == 0),
            Self::Wait => value.as_i64().is_some_and(|seconds| (1..=60).contains(&seconds)),
            Self::LongerWait => value
                .as_i64()
                .is_some_and(|seconds| (1..=3600).contains(&seconds)),
            Self::EmailHash => text
                .and_then(|text| text.strip_prefix("v1:"))
                .is_some_and(|digits| is_hex(digits, 64)),
            Self::Uuid => text.is_some_and(|text| uuid::Uuid::parse_str(text).is_ok()),
            Self::TestTransactionId => text
                .and_then(|text| text.strip_prefix("test_txn_"))
                .is_some_and(is_epoch_milliseconds),
        }
    }
}

/// `cust_<customer_id>_<epoch_milliseconds>`.
fn is_click_id(text: &str) -> bool {
    text.strip_prefix("cust_")
        .and_then(|rest| rest.split_once('_'))
        .is_some_and(|(id, at)| is_number(id) && is_epoch_milliseconds(at))
}

fn is_number(digits: &str) -> bool {
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_epoch_milliseconds(digits: &str) -> bool {
    digits.len() == 13 && is_number(digits)
}

fn is_hex(digits: &str, length: usize) -> bool {
    digits.len() == length && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_name_alone_keeps_its_type_and_within_a_text_becomes_text() {
        let mut names = Names::default();
        names.insert("program.id", 7);
        assert_eq!(names.fill("<program.id>"), Ok(json!(7)));
        assert_eq!(names.fill("a-<program.id>-<program.id>"), Ok(json!("a-7-7")));
        assert_eq!(
            names.fill("Bearer <KEY> < <program.id>"),
            Ok(json!("Bearer <KEY> < 7"))
        );
        assert!(names.fill("<program>").is_err());
    }

    #[test]
    fn nothing_takes_a_field_out_and_null_does_not() {
        let filled = Names::default().fill_all(&json!({ "a": NOTHING, "b": null }));
        assert_eq!(filled, Ok(json!({ "b": null })));
    }

    #[test]
    fn kinds_admit_their_like_only() {
        for (kind, good, bad) in [
            ("<an integer>", json!(5), json!("5")),
            ("<a text>", json!("x"), json!("")),
            (
                "<an instant>",
                json!("2026-03-31T12:00:00.000Z"),
                json!("2026-03-31T12:00:00Z"),
            ),
            ("<a time>", json!("2026-03-31T12:00:00+00:00"), json!("soon")),
            (
                "<a click_id>",
                json!("cust_12_1700000000000"),
                json!("cust_12_17000000000001"),
            ),
            ("<a minute>", json!(1_800_000_000), json!(1_800_000_001)),
            ("<a wait>", json!(60), json!(61)),
            (
                "<a test transaction_id>",
                json!("test_txn_1700000000000"),
                json!("test_txn_"),
            ),
            (
                "<a uuid>",
                json!("0190163d-8694-739b-aea5-966c26f8ad91"),
                json!("7"),
            ),
        ] {
            let (kind, _) = super::kind(kind).unwrap();
            assert!(kind.admits(&good), "{kind:?} {good}");
            assert!(!kind.admits(&bad), "{kind:?} {bad}");
        }
    }
}
