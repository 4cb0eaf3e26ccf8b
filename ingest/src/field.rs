//! Fields of a tracking body, read leniently: absent, `null`, of the right type, or of another type.
//!
//! A body is parsed once, straight into these. Types that are wrong do not fail the parse, because the contract
//! gives each field its own message; unknown fields are skipped, so nothing a caller invents has an effect.

use std::fmt;
use std::marker::PhantomData;

use common::domain::text::{Text, TextError};
use serde::de::{self, Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::error::ApiError;

/// What stands in a body under one name. `null` counts as absent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Field<T> {
    #[default]
    Absent,
    Given(T),
    WrongType,
}

impl Field<String> {
    /// Descriptive text: absent and empty are the same.
    pub fn text<const MAX: usize>(self, name: &str) -> Result<Option<Text<MAX>>, ApiError> {
        match self {
            Self::Absent => Ok(None),
            Self::Given(text) if text.is_empty() => Ok(None),
            Self::Given(text) => Text::try_from(text)
                .map(Some)
                .map_err(|reason: TextError| refused(name, &reason.to_string())),
            Self::WrongType => Err(refused(name, "must be a string")),
        }
    }

    /// Text that must be there; `missing` is the contract's message for absent, empty and of another type.
    pub fn required_text<const MAX: usize>(
        self,
        name: &str,
        missing: &'static str,
    ) -> Result<Text<MAX>, ApiError> {
        match self {
            Self::WrongType => Err(ApiError::bad_request(missing)),
            field => field.text(name)?.ok_or_else(|| ApiError::bad_request(missing)),
        }
    }
}

impl Field<bool> {
    pub fn flag(self, name: &str) -> Result<bool, ApiError> {
        match self {
            Self::Absent => Ok(false),
            Self::Given(flag) => Ok(flag),
            Self::WrongType => Err(refused(name, "must be a boolean")),
        }
    }
}

/// `<field> must …`: the form of every message about a field that has none of its own in the contract.
pub fn refused(name: &str, rule: &str) -> ApiError {
    ApiError::bad_request(format!("{name} {rule}"))
}

/// A JSON type that a [`Field`] accepts.
pub trait FieldType: Sized {
    fn from_text(_: &str) -> Option<Self> {
        None
    }
    fn from_integer(_: i64) -> Option<Self> {
        None
    }
    fn from_boolean(_: bool) -> Option<Self> {
        None
    }
}

impl FieldType for String {
    fn from_text(text: &str) -> Option<Self> {
        Some(text.to_owned())
    }
}

impl FieldType for i64 {
    fn from_integer(integer: i64) -> Option<Self> {
        Some(integer)
    }
}

impl FieldType for bool {
    fn from_boolean(boolean: bool) -> Option<Self> {
        Some(boolean)
    }
}

impl<'de, T: FieldType> Deserialize<'de> for Field<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // As an option, so that a field that is not there at all needs no default to be absent.
        deserializer.deserialize_option(FieldVisitor(PhantomData))
    }
}

struct FieldVisitor<T>(PhantomData<T>);

impl<T: FieldType> FieldVisitor<T> {
    fn accept(value: Option<T>) -> Field<T> {
        value.map_or(Field::WrongType, Field::Given)
    }
}

impl<'de, T: FieldType> Visitor<'de> for FieldVisitor<T> {
    type Value = Field<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Self::accept(T::from_text(text)))
    }

    fn visit_i64<E: de::Error>(self, integer: i64) -> Result<Self::Value, E> {
        Ok(Self::accept(T::from_integer(integer)))
    }

    fn visit_u64<E: de::Error>(self, integer: u64) -> Result<Self::Value, E> {
        Ok(Self::accept(
            i64::try_from(integer).ok().and_then(T::from_integer),
        ))
    }

    fn visit_f64<E: de::Error>(self, _: f64) -> Result<Self::Value, E> {
        Ok(Field::WrongType)
    }

    fn visit_bool<E: de::Error>(self, boolean: bool) -> Result<Self::Value, E> {
        Ok(Self::accept(T::from_boolean(boolean)))
    }

    fn visit_none<E: de::Error>(self) -> Result<Self::Value, E> {
        Ok(Field::Absent)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Field::WrongType)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
        while entries.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Field::WrongType)
    }
}

/// Free-form detail: an object or an array, kept as the caller wrote it.
///
/// It ends in a `jsonb` column, which refuses some of what JSON allows (NUL, lone surrogates, numbers out of any
/// range): those are refused here, by the field's name.
pub fn free_form(
    raw: Option<&RawValue>,
    name: &str,
    max_bytes: usize,
) -> Result<Option<Box<RawValue>>, ApiError> {
    let Some(raw) = raw.filter(|raw| raw.get() != "null") else {
        return Ok(None);
    };
    if !raw.get().starts_with(['{', '[']) {
        return Err(refused(name, "must be an object or an array"));
    }
    if raw.get().len() > max_bytes {
        return Err(refused(name, &format!("must be at most {max_bytes} bytes")));
    }
    let value: serde_json::Value =
        serde_json::from_str(raw.get()).map_err(|_| refused(name, "must be valid JSON"))?;
    if holds_nul(&value) {
        return Err(refused(name, "must not contain NUL characters"));
    }
    Ok(Some(raw.to_owned()))
}

fn holds_nul(value: &serde_json::Value) -> bool {
    match value {
        serde_json::Value::String(text) => text.contains('\0'),
        serde_json::Value::Array(items) => items.iter().any(holds_nul),
        serde_json::Value::Object(entries) => entries
            .iter()
            .any(|(key, value)| key.contains('\0') || holds_nul(value)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field<T: FieldType>(json: &str) -> Field<T> {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn null_is_absent_and_other_types_are_told_apart() {
        assert_eq!(field::<String>("null"), Field::Absent);
        assert_eq!(field::<String>("\"a\""), Field::Given("a".to_owned()));
        for json in ["1", "1.5", "true", "[1,[2]]", "{\"a\":{\"b\":1}}"] {
            assert_eq!(field::<String>(json), Field::WrongType, "{json}");
        }
    }

    #[test]
    fn an_integer_is_one_only_when_written_as_one_within_64_bits() {
        assert_eq!(field::<i64>("9223372036854775807"), Field::Given(i64::MAX));
        for json in ["9223372036854775808", "1e2", "1.0", "\"100\"", "1e400000"] {
            let parsed = serde_json::from_str::<Field<i64>>(json);
            assert!(!matches!(parsed, Ok(Field::Given(_))), "{json}");
        }
    }

    #[test]
    fn free_form_keeps_what_was_written_and_refuses_what_cannot_be_stored() {
        let read = |json: &'static str| {
            let raw: &RawValue = serde_json::from_str(json).unwrap();
            free_form(Some(raw), "line_items", 64)
        };
        assert_eq!(
            read(r#"[{"price": 0.10000000000000000001}]"#)
                .unwrap()
                .unwrap()
                .get(),
            r#"[{"price": 0.10000000000000000001}]"#
        );
        assert!(read("null").unwrap().is_none());
        for json in [
            r#""text""#,
            "7",
            r#"["\u0000"]"#,
            r#"{"\u0000": 1}"#,
            r#"["\ud800"]"#,
        ] {
            assert!(read(json).is_err(), "{json}");
        }
        assert!(read(r#"["0123456789012345678901234567890123456789012345678901234567890123"]"#).is_err());
    }
}
