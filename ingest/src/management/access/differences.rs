//! Changed fields, as the audit log stores them.

use serde_json::{Map, Value, json};

/// Each field whose values differ: `{"<field>": {"before": …, "after": …}}`. Both arguments are objects with
/// the same fields.
pub fn differences(before: Value, after: &Value) -> Value {
    let Value::Object(before) = before else {
        return json!({});
    };
    before
        .into_iter()
        .filter_map(|(name, before)| {
            let after = after.get(&name)?;
            (before != *after).then(|| (name, json!({ "before": before, "after": after })))
        })
        .collect::<Map<_, _>>()
        .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stayed_is_left_out() {
        let before = json!({ "name": "a", "days": 1, "scope": null });
        let after = json!({ "name": "a", "days": 2, "scope": ["7"] });
        assert_eq!(
            differences(before, &after),
            json!({ "days": { "before": 1, "after": 2 }, "scope": { "before": null, "after": ["7"] } })
        );
    }
}
