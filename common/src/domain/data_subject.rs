//! The customer who asks what is stored about them, or that it be erased; and how to tell whether a stored record, such as
//! one that could not be processed, is about them.

use std::collections::BTreeSet;

use serde_json::Value;

use super::ids::ProgramId;

/// The end of the name under which records and processors' metadata carry a customer's key, whatever its prefix.
const KEY_FIELD: &str = "customer_key";

/// Every text by which one customer of a program can be known.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct CustomerNames {
    pub keys: BTreeSet<String>,
    pub click_ids: BTreeSet<String>,
    pub email_hashes: BTreeSet<String>,
    /// As it was stated with the request: processors' events hold addresses as they are.
    pub email: Option<String>,
}

/// They are personal data: debug output shows how many there are.
impl std::fmt::Debug for CustomerNames {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names = self.keys.len() + self.click_ids.len() + self.email_hashes.len();
        write!(f, "CustomerNames({names})")
    }
}

impl CustomerNames {
    /// Whether a record is about this customer of this program. A key alone says little (`1` is one), so it counts only as
    /// the value of a key's field, and in a record that names no other program. What is no JSON is searched as text.
    pub fn are_in(&self, record: &[u8], program_id: ProgramId) -> bool {
        match serde_json::from_slice(record) {
            Ok(value) => {
                self.stand_in(&value) || (self.key_stands_in(&value) && may_be_of(&value, program_id))
            }
            Err(_) => self.stand_in_text(&String::from_utf8_lossy(record)),
        }
    }

    /// One that is nobody else's, in any place.
    fn stand_in(&self, value: &Value) -> bool {
        match value {
            Value::String(text) => {
                let is_email = |email: &String| email.to_lowercase() == text.trim().to_lowercase();
                self.click_ids.contains(text)
                    || self.email_hashes.contains(text)
                    || self.email.as_ref().is_some_and(is_email)
            }
            Value::Array(items) => items.iter().any(|item| self.stand_in(item)),
            Value::Object(fields) => fields.values().any(|field| self.stand_in(field)),
            Value::Null | Value::Bool(_) | Value::Number(_) => false,
        }
    }

    fn key_stands_in(&self, value: &Value) -> bool {
        match value {
            Value::Array(items) => items.iter().any(|item| self.key_stands_in(item)),
            Value::Object(fields) => fields.iter().any(|(name, field)| match field {
                Value::String(key) => name.ends_with(KEY_FIELD) && self.keys.contains(key),
                field => self.key_stands_in(field),
            }),
            _ => false,
        }
    }

    fn stand_in_text(&self, text: &str) -> bool {
        let lower = text.to_lowercase();
        let quoted =
            |key: &String| text.contains(KEY_FIELD) && text.contains(&Value::from(key.as_str()).to_string());
        self.click_ids
            .iter()
            .chain(&self.email_hashes)
            .any(|name| text.contains(name))
            || self
                .email
                .as_ref()
                .is_some_and(|email| lower.contains(&email.to_lowercase()))
            || self.keys.iter().any(quoted)
    }
}

/// No program is named in it, or this one is.
fn may_be_of(value: &Value, program_id: ProgramId) -> bool {
    let mut named = Vec::new();
    programs(value, &mut named);
    named.is_empty() || named.contains(&program_id.get())
}

fn programs(value: &Value, named: &mut Vec<i64>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| programs(item, named)),
        Value::Object(fields) => {
            for (name, field) in fields {
                if name == "program_id" {
                    let text = field.as_str().and_then(|text| text.parse().ok());
                    named.extend(field.as_i64().or(text));
                } else {
                    programs(field, named);
                }
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn jane() -> CustomerNames {
        CustomerNames {
            keys: ["1".to_owned()].into(),
            click_ids: ["cust_7_8".to_owned()].into(),
            email_hashes: ["v1:ab".to_owned()].into(),
            email: Some("Jane@customer.example".to_owned()),
        }
    }

    fn is_janes(record: &Value) -> bool {
        jane().are_in(record.to_string().as_bytes(), ProgramId::new(5))
    }

    #[test]
    fn a_record_is_about_whom_it_names() {
        for record in [
            json!({ "program_id": 5, "sale": { "customer_key": "1" } }),
            json!({ "lead": { "mode": "browser", "customer_key": "1" } }),
            json!({ "lead": { "mode": { "server": { "program_id": 5 } }, "customer_key": "1" } }),
            json!({ "metadata": { "shop_customer_key": "1", "program_id": "5" } }),
            json!({ "program_id": 6, "click_id": "cust_7_8" }),
            json!([[{ "email_hash": "v1:ab" }]]),
            json!({ "customer_details": { "email": "jane@Customer.example " } }),
        ] {
            assert!(is_janes(&record), "{record}");
        }
    }

    #[test]
    fn a_record_of_somebody_else_is_left_alone() {
        for record in [
            json!({ "program_id": 6, "sale": { "customer_key": "1" } }),
            json!({ "program_id": 5, "sale": { "customer_key": "11", "product_id": "1" } }),
            json!({ "program_id": 5, "quantity": "1", "session_id": "cust_7_89" }),
            json!({ "email": "not-jane@customer.example" }),
            json!(1),
        ] {
            assert!(!is_janes(&record), "{record}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_searched() {
        for (text, found) in [
            ("{\"customer_key\": \"1\"", true),
            ("… cust_7_8 …", true),
            ("to JANE@customer.example", true),
            ("{\"quantity\": \"1\"", false),
            ("nothing", false),
        ] {
            assert_eq!(jane().are_in(text.as_bytes(), ProgramId::new(5)), found, "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_key_is_found_whatever_its_letters_and_nobody_has_no_names(key in "\\PC{1,20}", depth in 0usize..5) {
            let names = CustomerNames { keys: [key.clone()].into(), ..CustomerNames::default() };
            let mut record = json!({ "customer_key": key });
            for _ in 0..depth {
                record = json!({ "inner": [record] });
            }
            prop_assert!(names.are_in(record.to_string().as_bytes(), ProgramId::new(1)));
            prop_assert!(!CustomerNames::default().are_in(record.to_string().as_bytes(), ProgramId::new(1)));
        }
    }
}
