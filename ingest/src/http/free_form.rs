//! Free-form detail of a tracking body.

use serde_json::Value;
use serde_json::value::RawValue;

use crate::http::error::ApiError;
use crate::http::field::refused;

/// Free-form detail: an object or an array, kept as the caller wrote it.
///
/// It is stored in a `jsonb` column, which refuses some valid JSON: NUL, lone surrogates, and numbers out of
/// range. Such values are refused here with the field's name.
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
    let value: Value = serde_json::from_str(raw.get()).map_err(|_| refused(name, "must be valid JSON"))?;
    if holds_nul(&value) {
        return Err(refused(name, "must not contain NUL characters"));
    }
    if numbers(raw.get()).any(|number| !is_storable(number)) {
        return Err(refused(name, "must not contain numbers of more than 64 digits"));
    }
    Ok(Some(raw.to_owned()))
}

/// The numbers of a valid JSON text, as written.
fn numbers(json: &str) -> impl Iterator<Item = &str> {
    let mut in_string = false;
    let mut escaped = false;
    json.split(move |c: char| {
        let inside = in_string;
        match c {
            _ if escaped => escaped = false,
            '\\' if in_string => escaped = true,
            '"' => in_string = !in_string,
            _ => {}
        }
        inside || !(c.is_ascii_digit() || matches!(c, '-' | '+' | '.' | 'e' | 'E'))
    })
    .filter(|token| token.starts_with(|c: char| c == '-' || c.is_ascii_digit()))
}

/// A `numeric` holds up to 16,383 digits after the point. 64 are enough here.
fn is_storable(number: &str) -> bool {
    let exponent = number
        .split_once(['e', 'E'])
        .map_or("0", |(_, exponent)| exponent);
    number.len() <= 64 && exponent.parse::<i16>().is_ok_and(|exponent| exponent.abs() <= 64)
}

fn holds_nul(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains('\0'),
        Value::Array(items) => items.iter().any(holds_nul),
        Value::Object(entries) => entries
            .iter()
            .any(|(key, value)| key.contains('\0') || holds_nul(value)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_told_from_digits_in_texts() {
        let found = |json: &'static str| numbers(json).collect::<Vec<_>>();
        assert_eq!(
            found(r#"{"a1": [1, -2.5e+3,"4\\"], "5\"6": 7E8}"#),
            ["1", "-2.5e+3", "7E8"]
        );
        assert_eq!(found(r#"[true,false,null,"1e-20000"]"#), [""; 0]);
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
            "[1e-65]",
            r#"{"\"a": -1E-20000}"#,
        ] {
            assert!(read(json).is_err(), "{json}");
        }
        assert!(read(r#"["0123456789012345678901234567890123456789012345678901234567890123"]"#).is_err());
    }
}
