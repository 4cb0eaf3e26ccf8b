//! A customer who requests access to their data or its erasure, and the search for this customer in stored
//! records. The search includes records that could not be processed.

use std::collections::BTreeSet;

use serde_json::Value;

use super::ids::ProgramId;
use super::people::account::EmailAddress;

/// Suffix of the field names of a customer's key, in records and processors' metadata, after any prefix.
const KEY_FIELD: &str = "customer_key";

#[derive(Clone, Default, PartialEq, Eq)]
pub struct CustomerNames {
    pub keys: BTreeSet<String>,
    pub click_ids: BTreeSet<String>,
    pub email_hashes: BTreeSet<String>,
    /// Ids of the customer at the payment processor.
    pub processor_customers: BTreeSet<String>,
    /// As written in the request: events of the processor hold addresses unhashed.
    pub email: Option<EmailAddress>,
}

/// Names are personal data: debug output shows only their number.
impl std::fmt::Debug for CustomerNames {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names = [
            &self.keys,
            &self.click_ids,
            &self.email_hashes,
            &self.processor_customers,
        ];
        let names: usize = names.iter().map(|names| names.len()).sum();
        write!(f, "CustomerNames({names})")
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordOwner {
    /// The customer's program.
    Program,
    /// No program is known: only an operator searches these records.
    Unknown,
}

impl CustomerNames {
    /// Whether a record is about this customer of this program. The caller excludes records of other
    /// programs. A record that is not JSON is searched as text.
    pub fn are_in(&self, record: &[u8], program_id: ProgramId, owner: RecordOwner) -> bool {
        match serde_json::from_slice(record) {
            Ok(value) => {
                self.name_stands_in(&value)
                    || self.email_stands_in(&value, false)
                    || (self.key_stands_in(&value) && key_counts(&value, program_id, owner))
            }
            Err(_) => self.stand_in_text(&String::from_utf8_lossy(record)),
        }
    }

    /// These names are unique, because this installation or the processor made them. They match in any field.
    fn name_stands_in(&self, value: &Value) -> bool {
        match value {
            Value::String(text) => [&self.click_ids, &self.email_hashes, &self.processor_customers]
                .into_iter()
                .any(|names| names.contains(text)),
            Value::Array(items) => items.iter().any(|item| self.name_stands_in(item)),
            Value::Object(fields) => fields.values().any(|field| self.name_stands_in(field)),
            Value::Null | Value::Bool(_) | Value::Number(_) => false,
        }
    }

    /// An address counts only in a field for addresses.
    fn email_stands_in(&self, value: &Value, field_of_addresses: bool) -> bool {
        match value {
            Value::String(text) => {
                field_of_addresses && self.email.as_ref().is_some_and(|email| is_address(text, email))
            }
            Value::Array(items) => items
                .iter()
                .any(|item| self.email_stands_in(item, field_of_addresses)),
            Value::Object(fields) => fields
                .iter()
                .any(|(name, field)| self.email_stands_in(field, holds_addresses(name))),
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
        let quoted =
            |key: &String| text.contains(KEY_FIELD) && text.contains(&Value::from(key.as_str()).to_string());
        self.click_ids
            .iter()
            .chain(&self.email_hashes)
            .chain(&self.processor_customers)
            .any(|name| text.contains(name))
            || self
                .email
                .as_ref()
                .is_some_and(|email| address_stands_in(text, email))
            || self.keys.iter().any(quoted)
    }
}

fn holds_addresses(field: &str) -> bool {
    let letters = field.chars().filter(char::is_ascii_alphabetic);
    let name: String = letters.map(|letter| letter.to_ascii_lowercase()).collect();
    name.contains("email")
}

fn is_address(text: &str, email: &EmailAddress) -> bool {
    text.trim().to_lowercase() == email.as_str().to_lowercase()
}

/// A whole address: `ann@shop.example` is not in `joann@shop.example`.
fn address_stands_in(text: &str, email: &EmailAddress) -> bool {
    let continues = |c: char| c.is_alphanumeric() || "+-_%@".contains(c);
    let (text, email) = (text.to_lowercase(), email.as_str().to_lowercase());
    text.match_indices(&email).any(|(start, found)| {
        let (before, after) = text.split_at(start);
        let after = after.get(found.len()..).unwrap_or_default();
        // A dot after the address may end a sentence.
        let after = after.strip_prefix('.').unwrap_or(after);
        !before.ends_with(|c: char| continues(c) || c == '.') && !after.starts_with(continues)
    })
}

/// Whether a matching customer_key identifies the customer. Keys are not unique across programs (`1` is a valid
/// key). So the record must name this program, or be one of the program's own that names no program.
fn key_counts(value: &Value, program_id: ProgramId, owner: RecordOwner) -> bool {
    let mut named = Vec::new();
    programs(value, &mut named);
    named.contains(&program_id.get()) || (owner == RecordOwner::Program && named.is_empty())
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
            processor_customers: BTreeSet::new(),
            email: EmailAddress::parse("Jane@customer.example").ok(),
        }
    }

    fn is_janes(record: &Value) -> bool {
        is_janes_of(record, RecordOwner::Program)
    }

    fn is_janes_of(record: &Value, owner: RecordOwner) -> bool {
        jane().are_in(record.to_string().as_bytes(), ProgramId::new(5), owner)
    }

    #[test]
    fn in_a_record_of_no_program_a_key_counts_beside_the_programs_name_only() {
        for (record, found) in [
            (
                json!({ "lead": { "mode": "browser", "customer_key": "1" } }),
                false,
            ),
            (
                json!({ "metadata": { "shop_customer_key": "1", "program_id": "5" } }),
                true,
            ),
            (
                json!({ "lead": { "mode": "browser", "click_id": "cust_7_8" } }),
                true,
            ),
        ] {
            assert_eq!(is_janes_of(&record, RecordOwner::Unknown), found, "{record}");
        }
    }

    #[test]
    fn a_record_is_about_whom_it_names() {
        for record in [
            json!({ "program_id": 5, "sale": { "customer_key": "1" } }),
            json!({ "lead": { "mode": "browser", "customer_key": "1" } }),
            json!({ "lead": { "mode": { "server": { "program_id": 5 } }, "customer_key": "1" } }),
            json!({ "metadata": { "shop_customer_key": "1", "program_id": "5" } }),
            json!({ "program_id": 5, "click_id": "cust_7_8" }),
            json!([[{ "email_hash": "v1:ab" }]]),
            json!({ "customer_details": { "email": "jane@Customer.example " } }),
            json!({ "charge": { "receipt_email": "jane@customer.example" } }),
            json!({ "e-Mails": ["x", "jane@customer.example"] }),
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
            json!({ "program_id": 5, "note": "jane@customer.example" }),
            json!({ "email": { "note": "jane@customer.example" } }),
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
            ("from Jane@customer.example.", true),
            ("to mary.jane@customer.example", false),
            ("to jane@customer.examples", false),
            ("to jane@customer.example.org", false),
            ("{\"quantity\": \"1\"", false),
            ("nothing", false),
        ] {
            assert_eq!(
                jane().are_in(text.as_bytes(), ProgramId::new(5), RecordOwner::Unknown),
                found,
                "{text}"
            );
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
            let (record, program_id) = (record.to_string(), ProgramId::new(1));
            prop_assert!(names.are_in(record.as_bytes(), program_id, RecordOwner::Program));
            prop_assert!(!CustomerNames::default().are_in(record.as_bytes(), program_id, RecordOwner::Program));
        }
    }
}
