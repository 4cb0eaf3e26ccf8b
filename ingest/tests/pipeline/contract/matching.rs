//! Compares an answer with the expected one: every difference, with its path.

use serde_json::{Map, Value};

use super::names::{Names, kind};
use super::table::Answer as Expected;
use test_harness::Answer;

/// Empty if the answer is as expected. Stores the values that the expectation names.
pub fn differences(expected: &Expected, answer: &Answer, names: &mut Names) -> Vec<String> {
    let mut differences = Vec::new();
    if answer.status.as_u16() != expected.status {
        differences.push(format!(
            "status: {} expected, was {}",
            expected.status, answer.status
        ));
    }
    for (name, expected) in &expected.headers {
        let values: Vec<&str> = answer
            .headers
            .get_all(name)
            .iter()
            .map(|value| value.to_str().unwrap())
            .collect();
        differences.extend(header(name, expected, &values, names));
    }
    let body = compare("body", &expected.body(), &answer.body, Extra::Refused, names);
    differences.extend(body);
    differences
}

fn header(name: &str, expected: &str, values: &[&str], names: &mut Names) -> Vec<String> {
    let place = format!("header {name}");
    let value = match (expected, values) {
        ("absent", []) => return Vec::new(),
        ("present", [value]) if !value.is_empty() => return Vec::new(),
        ("absent" | "present", values) => {
            return vec![format!("{place}: {expected} expected, was {values:?}")];
        }
        (_, [value]) => *value,
        (expected, values) => return vec![format!("{place}: {expected} expected, was {values:?}")],
    };
    let number = kind(expected)
        .filter(|(kind, _)| kind.is_number())
        .and_then(|_| value.parse::<i64>().ok());
    let value = number.map_or(Value::from(value), Value::from);
    // In a header, a named number is text.
    let expected = match kind(expected) {
        Some(_) => expected.to_owned(),
        None => match names.fill_text(expected) {
            Ok(text) => text,
            Err(fault) => return vec![format!("{place}: {fault}")],
        },
    };
    compare(&place, &expected.into(), &value, Extra::Refused, names)
}

/// How unexpected fields are treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extra {
    Refused,
    /// A row has more columns than matter to a rule.
    Ignored,
}

/// The differences between two values. Stores the values that the expected one names.
pub fn compare(
    place: &str,
    expected: &Value,
    actual: &Value,
    extra: Extra,
    names: &mut Names,
) -> Vec<String> {
    match (expected, actual) {
        (Value::Object(expected), Value::Object(actual)) => {
            compare_fields(place, expected, actual, extra, names)
        }
        (Value::Array(expected), Value::Array(actual)) if expected.len() == actual.len() => {
            let pairs = expected.iter().zip(actual).enumerate();
            let differences = pairs.flat_map(|(index, (expected, actual))| {
                compare(&format!("{place}[{index}]"), expected, actual, extra, names)
            });
            differences.collect()
        }
        (Value::String(text), actual) => compare_text(place, text, actual, names).into_iter().collect(),
        (expected, actual) if expected == actual => Vec::new(),
        (expected, actual) => vec![format!("{place}: {expected} expected, was {actual}")],
    }
}

fn compare_fields(
    place: &str,
    expected: &Map<String, Value>,
    actual: &Map<String, Value>,
    extra: Extra,
    names: &mut Names,
) -> Vec<String> {
    let mut differences = Vec::new();
    for (name, expected) in expected {
        let place = format!("{place}.{name}");
        match actual.get(name) {
            Some(actual) => differences.extend(compare(&place, expected, actual, extra, names)),
            None => differences.push(format!("{place}: {expected} expected, is missing")),
        }
    }
    let unexpected = actual
        .iter()
        .filter(|(name, _)| extra == Extra::Refused && !expected.contains_key(*name));
    differences.extend(unexpected.map(|(name, value)| format!("{place}.{name}: not expected, was {value}")));
    differences
}

fn compare_text(place: &str, expected: &str, actual: &Value, names: &mut Names) -> Option<String> {
    if let Some((kind, name)) = kind(expected) {
        if !kind.admits(actual) {
            return Some(format!("{place}: {expected} expected, was {actual}"));
        }
        if let Some(name) = name {
            names.insert(name, actual.clone());
        }
        return None;
    }
    match names.fill(expected) {
        Ok(expected) if expected == *actual => None,
        Ok(expected) => Some(format!("{place}: {expected} expected, was {actual}")),
        Err(fault) => Some(format!("{place}: {fault}")),
    }
}

#[cfg(test)]
mod tests {
    use reqwest::StatusCode;
    use reqwest::header::HeaderMap;
    use serde_json::json;

    use super::*;

    fn expected(yaml: &str) -> Expected {
        serde_saphyr::from_str(yaml).unwrap()
    }

    fn answer(status: StatusCode, headers: &[(&'static str, &str)], body: Value) -> Answer {
        let headers: HeaderMap = headers
            .iter()
            .map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()))
            .collect();
        Answer {
            status,
            headers,
            body,
        }
    }

    fn found(yaml: &str, answer: &Answer) -> Vec<String> {
        differences(&expected(yaml), answer, &mut Names::default())
    }

    #[test]
    fn another_status_is_a_difference() {
        let created = answer(StatusCode::CREATED, &[], json!({}));
        assert_eq!(
            found("{ status: 200, body: {} }", &created),
            ["status: 200 expected, was 201 Created"]
        );
        assert!(found("{ status: 201, body: {} }", &created).is_empty());
    }

    #[test]
    fn headers_are_there_not_there_or_as_they_should_be() {
        let ok = answer(StatusCode::OK, &[("x-a", "1")], json!({}));
        let with = |header: &str| format!("{{ status: 200, headers: {{ {header} }}, body: {{}} }}");
        let wrong = [
            "x-b: present",
            "x-b: '1'",
            "x-a: absent",
            "x-a: '2'",
            "x-a: <a minute>",
        ];
        for wrong in wrong {
            assert_eq!(found(&with(wrong), &ok).len(), 1, "{wrong}");
        }
        for right in ["x-b: absent", "x-a: present", "x-a: '1'", "x-a: <an integer>"] {
            assert_eq!(found(&with(right), &ok), [""; 0]);
        }
    }

    #[test]
    fn a_body_has_the_expected_fields_and_no_others() {
        let ok = answer(StatusCode::OK, &[], json!({ "a": 1, "b": [{ "c": null }] }));
        assert_eq!(
            found("{ status: 200, body: { a: 1 } }", &ok),
            [r#"body.b: not expected, was [{"c":null}]"#]
        );
        let other = "{ status: 200, body: { a: '1', b: [{ c: 2 }], d: x } }";
        let differences = [
            r#"body.a: "1" expected, was 1"#,
            "body.b[0].c: 2 expected, was null",
            r#"body.d: "x" expected, is missing"#,
        ];
        assert_eq!(found(other, &ok), differences);
    }

    #[test]
    fn a_named_value_is_compared_where_its_name_stands() {
        let quoted = answer(
            StatusCode::OK,
            &[("x-request-id", "r-1")],
            json!({ "message": "Id: r-1", "n": 5 }),
        );
        let right = "{ status: 200, headers: { x-request-id: <a text as id> }, body: { message: 'Id: <id>', n: <an integer> } }";
        assert_eq!(found(right, &quoted), [""; 0]);
        let wrong = right.replace("Id: <id>", "Id: <id>.");
        assert_eq!(
            found(&wrong, &quoted),
            [r#"body.message: "Id: r-1." expected, was "Id: r-1""#]
        );
    }

    #[test]
    fn an_error_is_the_whole_envelope() {
        let message = "transaction_id is required";
        let error = json!({ "status": 400, "name": "BadRequestError", "message": message, "details": {} });
        let yaml = format!("{{ status: 400, error: {message} }}");
        let refused = answer(
            StatusCode::BAD_REQUEST,
            &[],
            json!({ "data": null, "error": error }),
        );
        assert_eq!(found(&yaml, &refused), [""; 0]);
        let without_data = answer(StatusCode::BAD_REQUEST, &[], json!({ "error": error }));
        assert_eq!(
            found(&yaml, &without_data),
            ["body.data: null expected, is missing"]
        );
    }
}
