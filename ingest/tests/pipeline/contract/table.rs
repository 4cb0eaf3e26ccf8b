//! The format of the table: files of entries, each a rule with example calls.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::given::Given;
use super::names::{captured, used};
use test_harness::platform_error;

/// One file, answered by one set of processes.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// Settings of the processes that differ from the defaults.
    #[serde(default)]
    pub settings: BTreeMap<String, String>,
    /// Whether a worker runs; without a worker no call that waits for an outcome is answered in time.
    #[serde(default = "yes")]
    pub worker: bool,
    pub entries: Vec<Entry>,
}

fn yes() -> bool {
    true
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// One sentence that names the entry.
    pub rule: String,
    #[serde(default)]
    pub given: Vec<Given>,
    pub steps: Vec<Step>,
    /// The rows that the steps add, by table. A table that is not named gains no row.
    #[serde(default)]
    pub rows: BTreeMap<String, Added>,
    /// All rows of a table after the steps. Earlier rows may change in these tables only.
    #[serde(default)]
    pub state: BTreeMap<String, Vec<Value>>,
}

/// The number of rows, or rows by the columns that matter.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub enum Added {
    Count(usize),
    Rows(Vec<Value>),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// Method and path.
    pub send: String,
    /// Sent as a bearer token.
    pub key: Option<String>,
    #[serde(default)]
    pub headers: BTreeMap<String, Values>,
    #[serde(default)]
    body: Option<Value>,
    raw: Option<String>,
    /// The request is sent once for each of these; their fields replace those of its body.
    #[serde(default)]
    each_with: Vec<Map<String, Value>>,
    pub answer: Answer,
}

/// A header's value, or several of the same name.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub enum Values {
    One(String),
    Many(Vec<String>),
}

impl Values {
    pub fn all(&self) -> &[String] {
        match self {
            Self::One(value) => std::slice::from_ref(value),
            Self::Many(values) => values,
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    pub status: u16,
    /// A value, `present` or `absent`.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// The message of an error; the whole platform envelope is expected.
    error: Option<String>,
    /// The whole body; a text if the body is not JSON.
    #[serde(default)]
    body: Option<Value>,
}

/// The body of a request.
#[derive(Debug, Clone, PartialEq)]
pub enum Payload {
    Nothing,
    Json(Value),
    Text(String),
}

impl fmt::Display for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => Ok(()),
            Self::Json(body) => body.fmt(f),
            Self::Text(text) => text.fmt(f),
        }
    }
}

impl Step {
    /// The body of each request that this step sends.
    pub fn payloads(&self) -> Vec<Payload> {
        match (&self.body, &self.raw) {
            (Some(body), _) if !self.each_with.is_empty() => {
                let laid_over = |more: &Map<String, Value>| {
                    let mut fields = body.as_object().unwrap().clone();
                    fields.extend(more.clone());
                    Payload::Json(Value::Object(fields))
                };
                self.each_with.iter().map(laid_over).collect()
            }
            (Some(body), _) => vec![Payload::Json(body.clone())],
            (None, Some(text)) => vec![Payload::Text(text.clone())],
            (None, None) => vec![Payload::Nothing],
        }
    }

    /// Every text that may use a name, and those that may capture one.
    fn texts(&self) -> (Vec<String>, Vec<String>) {
        let mut asked = vec![self.send.clone()];
        asked.extend(self.key.clone());
        asked.extend(self.headers.values().flat_map(|values| values.all().to_vec()));
        asked.extend(self.payloads().iter().map(ToString::to_string));
        let mut answered: Vec<String> = self.answer.headers.values().cloned().collect();
        answered.push(self.answer.body().to_string());
        (asked, answered)
    }
}

impl Answer {
    pub fn body(&self) -> Value {
        match (&self.error, &self.body) {
            (Some(message), _) => platform_error(self.status, message),
            (None, body) => body.clone().unwrap_or_default(),
        }
    }
}

impl Table {
    /// Parses a file. Reports all errors at once.
    pub fn parse(text: &str) -> Result<Self, String> {
        let table: Self = serde_saphyr::from_str(text).map_err(|error| error.to_string())?;
        let mut faults = Vec::new();
        let mut rules = BTreeSet::new();
        for entry in &table.entries {
            if !rules.insert(&entry.rule) {
                faults.push(format!("twice: {}", entry.rule));
            }
            // `grep` lists the rules, as docs/contract.md says.
            if !text
                .lines()
                .any(|line| line.trim() == format!("- rule: {}", entry.rule))
            {
                faults.push(format!("not on one line, or quoted: {}", entry.rule));
            }
            faults.extend(entry.faults().map(|fault| format!("{}: {fault}", entry.rule)));
        }
        if faults.is_empty() {
            Ok(table)
        } else {
            Err(faults.join("\n"))
        }
    }
}

impl Entry {
    fn faults(&self) -> impl Iterator<Item = String> {
        let (mut asked, mut answered) = (Vec::new(), Vec::new());
        let mut faults = Vec::new();
        for step in &self.steps {
            let (of_request, of_answer) = step.texts();
            asked.extend(of_request);
            answered.extend(of_answer);
            if step.answer.error.is_some() == step.answer.body.is_some() {
                faults.push(format!("{}: an answer has either an error or a body", step.send));
            }
            if step.raw.is_some() && step.body.is_some() {
                faults.push(format!("{}: a request has one body", step.send));
            }
            if step.raw.is_some() && !step.each_with.is_empty() {
                faults.push(format!("{}: each_with needs a body", step.send));
            }
        }
        if self.steps.is_empty() {
            faults.push("shows nothing".to_owned());
        }
        let rows = self.rows.values().map(|added| format!("{added:?}"));
        let state = self.state.values().map(|rows| format!("{rows:?}"));
        let compared: Vec<String> = rows.chain(state).collect();
        let all: Vec<&String> = asked.iter().chain(&answered).chain(&compared).collect();
        let uses = |name: &str| all.iter().any(|text| used(text).any(|used| used == name));
        for text in answered.iter().chain(&compared) {
            for name in captured(text).filter(|name| !uses(name)) {
                faults.push(format!("<… as {name}> is not used"));
            }
        }
        for given in &self.given {
            let offers = given.offers();
            if !offers.is_empty() && !offers.iter().any(|name| uses(name)) {
                faults.push(format!("given is not used: {given:?}"));
            }
        }
        faults.into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(entry: &str) -> String {
        Table::parse(&format!("entries:\n{entry}")).unwrap_err()
    }

    #[test]
    fn a_field_that_does_not_exist_is_a_fault() {
        let steps = "steps: [{ send: GET /, answer: { status: 200, body: '', heders: {} } }]";
        assert!(fault(&format!("- rule: r\n  {steps}")).contains("heders"));
    }

    #[test]
    fn an_entry_must_show_something() {
        assert!(fault("- rule: r\n  steps: []").contains("shows nothing"));
        let silent = "- rule: r\n  steps: [{ send: GET /, answer: { status: 200 } }]";
        assert!(fault(silent).contains("either an error or a body"));
    }

    #[test]
    fn rules_are_unique_and_names_are_used() {
        let step = "steps: [{ send: GET /, answer: { status: 200, body: { id: <an integer as id> } } }]";
        let twice = format!("- rule: r\n  {step}\n- rule: r\n  {step}");
        let faults = fault(&twice);
        assert!(faults.contains("twice: r"), "{faults}");
        assert!(faults.contains("<… as id> is not used"), "{faults}");
        let step = "steps: [{ send: GET /, answer: { status: 200, body: '' } }]";
        assert!(fault(&format!("- rule: r\n  given: [a sale]\n  {step}")).contains("given is not used"));
    }

    #[test]
    fn each_variant_is_a_request_of_its_own() {
        let entry = "entries:\n- rule: r\n  steps:\n    - send: POST /\n      body: { a: 1 }\n      each_with: [{ a: 2 }, { b: 3 }]\n      answer: { status: 200, body: '' }";
        let table = Table::parse(entry).unwrap();
        let bodies = [
            serde_json::json!({ "a": 2 }),
            serde_json::json!({ "a": 1, "b": 3 }),
        ];
        assert_eq!(table.entries[0].steps[0].payloads(), bodies.map(Payload::Json));
    }
}
