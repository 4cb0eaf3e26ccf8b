//! Fields of a tracking body, read leniently: absent, `null`, of the right type, or of another type.
//!
//! A body is parsed once, straight into these fields. A wrong type does not fail the parse, because the
//! contract has a message for each field. Unknown fields are skipped and have no effect.

use std::ops::RangeInclusive;

use chrono::{DateTime, Utc};
use domain::name::{Name, NameError};
use domain::text::{Text, TextError};
use serde::de::{self, Deserialize, DeserializeOwned, Deserializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::http::error::ApiError;

/// The value of a field. `null` counts as absent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Field<T> {
    #[default]
    Absent,
    Given(T),
    WrongType,
}

impl<T> Field<T> {
    /// The value, if it was given with the right type.
    pub fn given(self) -> Option<T> {
        match self {
            Self::Given(value) => Some(value),
            Self::Absent | Self::WrongType => None,
        }
    }

    /// `None` if absent; the refusal for another type.
    pub fn optional(self, refusal: impl FnOnce() -> ApiError) -> Result<Option<T>, ApiError> {
        match self {
            Self::Absent => Ok(None),
            Self::Given(value) => Ok(Some(value)),
            Self::WrongType => Err(refusal()),
        }
    }

    /// `missing` is the contract's message for an absent field and for another type.
    pub fn required(self, missing: &'static str) -> Result<T, ApiError> {
        self.given().ok_or_else(|| ApiError::bad_request(missing))
    }
}

impl Field<i64> {
    pub fn integer(self, name: &str) -> Result<Option<i64>, ApiError> {
        self.optional(|| refused(name, "must be an integer"))
    }

    pub fn required_integer(self, name: &str) -> Result<i64, ApiError> {
        self.integer(name)?
            .ok_or_else(|| ApiError::bad_request(format!("{name} is required")))
    }

    /// An integer within a range, converted by `read`.
    pub fn within<N: TryFrom<i64>, T>(
        self,
        name: &str,
        range: RangeInclusive<i64>,
        read: impl FnOnce(N) -> Option<T>,
    ) -> Result<Option<T>, ApiError> {
        let refusal = || {
            let rule = format!("must be an integer from {} to {}", range.start(), range.end());
            refused(name, &rule)
        };
        let number = self.optional(refusal)?;
        let read = |number| N::try_from(number).ok().and_then(read).ok_or_else(refusal);
        number.map(read).transpose()
    }
}

impl Field<String> {
    /// Text that `read` checks; empty text counts as absent.
    pub fn parsed<T, E: ToString>(
        self,
        name: &str,
        read: impl FnOnce(&str) -> Result<T, E>,
    ) -> Result<Option<T>, ApiError> {
        let text = self.optional(|| refused(name, "must be a string"))?;
        text.filter(|text| !text.is_empty())
            .map(|text| read(&text).map_err(|error| refused(name, &error.to_string())))
            .transpose()
    }

    /// One of several words. `refusal` is for all else, absent too.
    pub fn word<T>(
        self,
        read: impl FnOnce(&str) -> Option<T>,
        refusal: impl FnOnce() -> ApiError,
    ) -> Result<T, ApiError> {
        self.given().and_then(|text| read(&text)).ok_or_else(refusal)
    }

    /// Descriptive text; empty text counts as absent.
    pub fn text<const MAX: usize>(self, name: &str) -> Result<Option<Text<MAX>>, ApiError> {
        self.parsed(name, Text::parse)
    }

    /// Required text. `missing` is the contract's message for absent, empty and of another type.
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

    /// Like [`Self::required_text`]; a name of blanks alone counts as absent.
    pub fn required_name(self, name: &str, missing: &'static str) -> Result<Name, ApiError> {
        let missing = || ApiError::bad_request(missing);
        match self {
            Self::Absent | Self::WrongType => Err(missing()),
            Self::Given(text) => Name::parse(&text).map_err(|reason| match reason {
                NameError::Text(TextError::Empty) => missing(),
                reason => refused(name, &reason.to_string()),
            }),
        }
    }

    /// A future instant in ISO 8601 with its offset from UTC.
    pub fn time_to_come(self, name: &str, now: DateTime<Utc>) -> Result<Option<DateTime<Utc>>, ApiError> {
        let text = match self {
            Self::Absent => return Ok(None),
            Self::Given(text) => text,
            Self::WrongType => String::new(),
        };
        let at = DateTime::parse_from_rfc3339(&text)
            .map_err(|_| refused(name, "must be an ISO 8601 instant such as 2027-01-31T12:00:00Z"))?
            .to_utc();
        if at <= now {
            return Err(refused(name, "must be in the future"));
        }
        Ok(Some(at))
    }
}

impl Field<Key> {
    pub fn text<const MAX: usize>(self, name: &str) -> Result<Option<Text<MAX>>, ApiError> {
        let text = match self {
            Self::Absent => Field::Absent,
            Self::Given(Key(text)) => Field::Given(text),
            Self::WrongType => Field::WrongType,
        };
        text.text(name)
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

/// For PATCH bodies: an omitted field is `None`, and `null`, which resets a setting, is [`Field::Absent`].
/// Used as `#[serde(default, deserialize_with = "if_present")]`.
pub fn if_present<'de, T: FieldType, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Field<T>>, D::Error> {
    Field::deserialize(deserializer).map(Some)
}

/// `<field> must …`: the message for fields that have no message of their own in the contract.
pub fn refused(name: &str, rule: &str) -> ApiError {
    ApiError::bad_request(format!("{name} {rule}"))
}

/// A JSON type that a [`Field`] accepts.
pub trait FieldType: Sized {
    fn from_text(_: String) -> Option<Self> {
        None
    }
    /// Takes the digits as written: the integer may not fit an i64.
    fn from_integer(_: &str) -> Option<Self> {
        None
    }
    fn from_boolean(_: bool) -> Option<Self> {
        None
    }
    fn from_list_or_object(_: &str) -> Option<Self> {
        None
    }
}

impl FieldType for String {
    fn from_text(text: String) -> Option<Self> {
        Some(text)
    }
}

impl FieldType for i64 {
    fn from_integer(digits: &str) -> Option<Self> {
        digits.parse().ok()
    }
}

impl FieldType for bool {
    fn from_boolean(boolean: bool) -> Option<Self> {
        Some(boolean)
    }
}

/// An id, as a number or in quotes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IdNumber(pub i64);

impl FieldType for IdNumber {
    fn from_text(text: String) -> Option<Self> {
        text.parse().ok().map(Self)
    }

    fn from_integer(digits: &str) -> Option<Self> {
        digits.parse().ok().map(Self)
    }
}

/// A customer_key: text, or an integer, which counts as its decimal text. Many advertisers number their
/// users.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key(pub String);

impl FieldType for Key {
    fn from_text(text: String) -> Option<Self> {
        Some(Self(text))
    }

    fn from_integer(digits: &str) -> Option<Self> {
        Some(Self(digits.to_owned()))
    }
}

impl<T: DeserializeOwned> FieldType for Vec<T> {
    fn from_list_or_object(json: &str) -> Option<Self> {
        serde_json::from_str(json).ok()
    }
}

/// The caller checks each value.
impl FieldType for Map<String, Value> {
    fn from_list_or_object(json: &str) -> Option<Self> {
        serde_json::from_str(json).ok()
    }
}

/// A field that is an object with fields of its own.
#[derive(Debug)]
pub struct Object<T>(pub T);

impl<T: DeserializeOwned> FieldType for Object<T> {
    /// serde would read a list as the fields of T in order.
    fn from_list_or_object(json: &str) -> Option<Self> {
        let object = Some(json).filter(|json| json.starts_with('{'))?;
        serde_json::from_str(object).ok().map(Self)
    }
}

/// Reads the raw JSON, because a number that does not fit an i64 must still count as a number.
impl<'de, T: FieldType> Deserialize<'de> for Field<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // Deserializing an option makes an omitted field absent without `#[serde(default)]`.
        let Some(raw) = Option::<&RawValue>::deserialize(deserializer)?.map(RawValue::get) else {
            return Ok(Self::Absent);
        };
        let value = match raw.as_bytes().first() {
            Some(b'"') => T::from_text(serde_json::from_str(raw).map_err(de::Error::custom)?),
            Some(b't' | b'f') => T::from_boolean(raw == "true"),
            Some(b'-' | b'0'..=b'9') if is_integer(raw) => T::from_integer(raw),
            Some(b'[' | b'{') => T::from_list_or_object(raw),
            _ => None,
        };
        Ok(value.map_or(Self::WrongType, Self::Given))
    }
}

/// Whether a number is written as an integer. Minus zero is not an integer: a caller that writes it does not
/// mean 0.
fn is_integer(number: &str) -> bool {
    number != "-0" && !number.contains(['.', 'e', 'E'])
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;

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
        for json in ["9223372036854775808", "1e2", "1.0", "-0", "\"100\"", "1e400000"] {
            assert_eq!(field::<i64>(json), Field::WrongType, "{json}");
        }
    }

    #[test]
    fn a_key_is_a_text_or_an_integer_as_it_is_written() {
        for (json, key) in [
            ("4711", "4711"),
            ("\"4711\"", "4711"),
            ("-1", "-1"),
            ("18446744073709551616", "18446744073709551616"),
        ] {
            assert_eq!(field::<Key>(json), Field::Given(Key(key.to_owned())), "{json}");
        }
        for json in ["1.0", "1e2", "-0", "true", "[4711]", "{}"] {
            assert_eq!(field::<Key>(json), Field::WrongType, "{json}");
        }
        let long = Field::Given(Key("1".repeat(256)));
        assert!(long.text::<255>("customer_key").is_err());
    }

    #[test]
    fn lists_and_objects_are_read_where_they_are_asked_for() {
        let list: Field<Vec<Value>> = field("[1, \"a\"]");
        assert!(matches!(list, Field::Given(items) if items.len() == 2));
        let entries: Field<Map<String, Value>> = field("{\"a\": [1]}");
        assert!(matches!(entries, Field::Given(entries) if entries.contains_key("a")));
        assert_eq!(field::<Vec<Value>>("{\"a\": 1}"), Field::WrongType);
        assert_eq!(field::<Map<String, Value>>("[1]"), Field::WrongType);
    }

    #[test]
    fn a_time_to_come_has_an_offset_and_is_not_over() {
        let now = DateTime::UNIX_EPOCH;
        let read = |text: &str| Field::Given(text.to_owned()).time_to_come("expires_at", now);
        assert_eq!(
            read("1970-01-01T01:00:00.001+01:00").unwrap(),
            Some(now + TimeDelta::milliseconds(1))
        );
        for text in [
            "1970-01-01T00:00:00Z",
            "1970-01-02",
            "1970-01-02T00:00:00",
            "soon",
            "",
        ] {
            assert!(read(text).is_err(), "{text}");
        }
        assert!(Field::WrongType.time_to_come("expires_at", now).is_err());
        assert_eq!(Field::Absent.time_to_come("expires_at", now).unwrap(), None);
    }
}
