//! Lists of ids in a body.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::http::field::refused;
use crate::management::prelude::*;

pub const MOST: usize = 1_000;

/// An array of 1 to [`MOST`] integers, sorted and without duplicates; `None` if absent.
pub fn id_list(value: Option<Value>, name: &str) -> Result<Option<Vec<i64>>, ApiError> {
    let Some(value) = value.filter(|value| !value.is_null()) else {
        return Ok(None);
    };
    let rule = || refused(name, &format!("must be an array of 1 to {MOST} integers"));
    let items = value.as_array().ok_or_else(rule)?;
    if !(1..=MOST).contains(&items.len()) {
        return Err(rule());
    }
    let ids = items
        .iter()
        .map(|item| item.as_i64().ok_or_else(rule))
        .collect::<Result<BTreeSet<_>, _>>()?;
    Ok(Some(ids.into_iter().collect()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn ids_are_integers_each_once() {
        assert_eq!(id_list(Some(json!([3, 1, 3])), "ids").unwrap(), Some(vec![1, 3]));
        assert_eq!(id_list(Some(Value::Null), "ids").unwrap(), None);
        assert_eq!(id_list(None, "ids").unwrap(), None);
        for value in [
            json!([]),
            json!(1),
            json!(["1"]),
            json!([1.5]),
            json!(vec![1; 1001]),
        ] {
            let refusal = id_list(Some(value), "ids").unwrap_err();
            assert_eq!(refusal.to_string(), "ids must be an array of 1 to 1000 integers");
        }
    }
}
