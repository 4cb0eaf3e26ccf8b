//! Short words for JSON: in bodies of requests, and in assertions about answers and rows.

use serde_json::{Value, json};

use crate::requests::Answer;

pub trait Json {
    /// The object with these fields added or replaced.
    #[must_use]
    fn with(self, more: Value) -> Self;

    /// Asserts that the object has these fields, whatever others it has. A field that is `null` may be missing.
    fn has(&self, fields: Value);

    /// One field of each entry of the list, as a list.
    fn column(&self, field: &str) -> Value;

    /// The sum of one field of all entries of the list.
    fn sum(&self, field: &str) -> i64;

    /// These fields of each entry of the list, as a list of lists.
    fn columns<const N: usize>(&self, fields: [&str; N]) -> Value;
}

impl Json for Value {
    fn with(mut self, more: Value) -> Self {
        let Value::Object(more) = more else {
            panic!("no object: {more}")
        };
        self.as_object_mut().unwrap().extend(more);
        self
    }

    #[track_caller]
    fn has(&self, fields: Value) {
        for (name, value) in fields.as_object().unwrap() {
            assert_eq!(self[name], *value, "{name} of {self}");
        }
    }

    #[track_caller]
    fn column(&self, field: &str) -> Value {
        self.as_array()
            .unwrap()
            .iter()
            .map(|entry| entry[field].clone())
            .collect()
    }

    #[track_caller]
    fn sum(&self, field: &str) -> i64 {
        let entries = self.as_array().unwrap().iter();
        entries.map(|entry| entry[field].as_i64().unwrap()).sum()
    }

    #[track_caller]
    fn columns<const N: usize>(&self, fields: [&str; N]) -> Value {
        let entries = self.as_array().unwrap().iter();
        entries
            .map(|entry| {
                fields
                    .map(|field| entry[field].clone())
                    .into_iter()
                    .collect::<Value>()
            })
            .collect()
    }
}

impl Answer {
    /// Asserts that the answer is 200.
    #[expect(
        clippy::return_self_not_must_use,
        reason = "many callers only assert the status"
    )]
    #[track_caller]
    pub fn ok(self) -> Self {
        assert_eq!(self.status, 200, "{self:?}");
        self
    }

    /// Asserts that the answer is 201.
    #[expect(
        clippy::return_self_not_must_use,
        reason = "many callers only assert the status"
    )]
    #[track_caller]
    pub fn created(self) -> Self {
        assert_eq!(self.status, 201, "{self:?}");
        self
    }

    /// Asserts that the answer is 429, and tells the caller to come back within this many seconds.
    #[track_caller]
    pub fn rate_limited(&self, within: i64) {
        assert_eq!(self.status, 429, "{self:?}");
        let error = &self.body["error"];
        error.has(json!({ "code": "rate_limited", "status": 429 }));
        let seconds = error["retry_after_seconds"].as_i64().unwrap();
        assert!((1..=within).contains(&seconds), "{self:?}");
        assert_eq!(self.header("retry-after"), seconds.to_string());
    }

    /// The `data` of an answer that succeeded.
    #[track_caller]
    pub fn data(&self) -> &Value {
        assert!(self.status.is_success(), "{self:?}");
        &self.body["data"]
    }

    /// One field of each entry of the list.
    #[track_caller]
    pub fn column(&self, field: &str) -> Value {
        self.data().column(field)
    }

    /// The number of entries on all pages of the list.
    #[track_caller]
    pub fn total(&self) -> &Value {
        assert!(self.status.is_success(), "{self:?}");
        &self.body["meta"]["pagination"]["total"]
    }

    /// The text of a file.
    #[track_caller]
    pub fn text(&self) -> &str {
        self.body.as_str().unwrap_or_else(|| panic!("no text: {self:?}"))
    }

    /// The lines of a file, each a JSON value.
    #[track_caller]
    pub fn ndjson(&self) -> Vec<Value> {
        let lines = self.text().lines();
        lines.map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}
