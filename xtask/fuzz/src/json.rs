//! A generic JSON parser that rejects duplicate fields.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

/// Parses a text without duplicate fields: which of two fields counts is unspecified.
pub fn unambiguous(bytes: &[u8]) -> Option<Value> {
    let json: &RawValue = serde_json::from_slice(bytes).ok()?;
    is_unambiguous(json).then(|| serde_json::from_slice(bytes).ok())?
}

fn is_unambiguous(json: &RawValue) -> bool {
    let text = json.get();
    let parts: Result<Vec<&RawValue>, _> = match text.as_bytes().first() {
        Some(b'{') => serde_json::Deserializer::from_str(text).deserialize_map(DistinctFields),
        Some(b'[') => serde_json::from_str(text),
        _ => return true,
    };
    parts.is_ok_and(|parts| parts.into_iter().all(is_unambiguous))
}

/// The values of an object's fields.
struct DistinctFields;

impl<'de> Visitor<'de> for DistinctFields {
    type Value = Vec<&'de RawValue>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Self::Value, A::Error> {
        let mut seen = BTreeMap::new();
        while let Some((name, value)) = fields.next_entry::<String, &RawValue>()? {
            if seen.insert(name, value).is_some() {
                return Err(A::Error::custom("a field twice"));
            }
        }
        Ok(seen.into_values().collect())
    }
}
