//! The rows of `docs/payments.md`, in both shapes.
//!
//! A case is a fixture, with some fields of its object changed, and a part of its expected translation.

use serde::Deserialize;
use serde_json::Map;

use super::*;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    /// The name of the row on the page.
    row: String,
    event: String,
    /// The only shape of the event, if it does not exist in both.
    only: Option<String>,
    /// Renames the metadata keys that the merchant's code wrote, so that none is ours.
    #[serde(default)]
    nameless: bool,
    #[serde(rename = "type")]
    kind: Option<String>,
    #[serde(default)]
    set: Map<String, Value>,
    translated: Expected,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Expected {
    unknown: bool,
    review: bool,
    /// Some fields of the sale; null if no sale is expected.
    #[serde(deserialize_with = "given")]
    sale: Option<Value>,
    #[serde(deserialize_with = "given")]
    fact: Option<Value>,
    /// The amount of the fact.
    cents: Option<i64>,
    references: Option<usize>,
    /// The key of our customer to whom the processor's customer is bound.
    #[serde(deserialize_with = "given")]
    customer: Option<Value>,
    occurred_at: Option<i64>,
}

/// Keeps null as an expectation of its own.
fn given<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

fn cases() -> Vec<Case> {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/payments.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

impl Case {
    fn event(&self, shape: &str) -> Value {
        let mut event = fixture(&self.event, shape);
        if self.nameless {
            let object = event["data"]["object"]
                .to_string()
                .replace("tracker_", "foreign_");
            event["data"]["object"] = serde_json::from_str(&object).unwrap();
            event["data"]["object"]["client_reference_id"] = Value::Null;
        }
        for (field, value) in &self.set {
            event["data"]["object"][field] = value.clone();
        }
        if let Some(kind) = &self.kind {
            event["type"] = json!(kind);
        }
        event
    }

    fn check(&self, shape: &str) {
        let name = format!("{} ({}.{shape})", self.row, self.event);
        let body = self.event(shape).to_string();
        let event = Event::parse(body.as_bytes()).unwrap();
        let Some(translated) = translate(&event, &keys()) else {
            assert!(self.translated.unknown, "{name}: of a type nobody knows");
            return;
        };
        assert!(!self.translated.unknown, "{name}: {translated:?}");
        match translated {
            Ok(translated) => self.translated.check(&name, &translated),
            Err(Untranslated::Review(_)) => assert!(self.translated.review, "{name}"),
            Err(Untranslated::Ignored(_)) => self.translated.check(&name, &TranslatedEvent::default()),
            Err(Untranslated::Stuck(reason)) => panic!("{name}: {reason}"),
        }
    }
}

impl Expected {
    fn check(&self, name: &str, translated: &TranslatedEvent) {
        assert!(!self.review, "{name}: {translated:?}");
        let sale = json!(translated.sale);
        match &self.sale {
            Some(Value::Object(fields)) => {
                for (field, value) in fields {
                    assert_eq!(sale[field], *value, "{name}: {field} of {sale}");
                }
            }
            Some(_) => assert!(sale.is_null(), "{name}: {sale}"),
            None => {}
        }
        let fact = json!(translated.fact);
        if let Some(expected) = &self.fact {
            let kind = fact.as_object().and_then(|fact| fact.keys().next().cloned());
            assert_eq!(json!(kind), *expected, "{name}: {fact}");
        }
        if let Some(cents) = self.cents {
            let amounts = ["/refunded/refunded", "/disputed/withdrawn"].map(|path| fact.pointer(path));
            assert_eq!(
                amounts.into_iter().flatten().next(),
                Some(&json!(cents)),
                "{name}: {fact}"
            );
        }
        if let Some(references) = self.references {
            assert_eq!(translated.references.len(), references, "{name}");
        }
        if let Some(expected) = &self.customer {
            let key = translated
                .customer
                .as_ref()
                .map(|named| &named.payer.customer_key);
            assert_eq!(json!(key), *expected, "{name}");
        }
        if let Some(at) = self.occurred_at {
            assert_eq!(
                translated.occurred_at.map(|at| at.timestamp()),
                Some(at),
                "{name}"
            );
        }
    }
}

#[test]
fn every_row_of_the_page_about_payments_is_so_in_both_shapes() {
    for case in cases() {
        for shape in [ACACIA, BASIL] {
            if case.only.as_deref().is_none_or(|only| only == shape) {
                case.check(shape);
            }
        }
    }
}

#[test]
fn the_page_about_payments_and_its_cases_have_the_same_rows() {
    let page = include_str!("../../../../../docs/payments.md");
    let rows: BTreeSet<&str> = page
        .lines()
        .skip_while(|line| !line.starts_with("|---"))
        .filter_map(|line| line.strip_prefix("| ")?.split(" | ").next())
        .collect();
    let cases = cases();
    let tried: BTreeSet<&str> = cases.iter().map(|case| case.row.as_str()).collect();
    assert_eq!(rows, tried);
}
