//! `ingest/tests/access.yaml`: which operation lets which credentials in.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::Value;

/// Statuses of calls that were given access.
const LET_IN: [u16; 7] = [200, 201, 202, 204, 400, 404, 409];

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// Names for several credentials.
    sets: BTreeMap<String, Vec<String>>,
    groups: BTreeMap<String, Group>,
    /// By group, then by `METHOD /path`.
    operations: BTreeMap<String, BTreeMap<String, Option<Call>>>,
}

/// The credentials that are let in. `unauthorized` precedes `in`, and `in` precedes `forbidden`. A credential
/// in none of them is unauthorized.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Group {
    #[serde(rename = "in")]
    let_in: Vec<String>,
    forbidden: Vec<String>,
    unauthorized: Vec<String>,
    /// The statuses of calls that are let in, if they are not the usual ones.
    answers: Vec<u16>,
}

/// The request, if `{}` or no body does not suffice.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Call {
    pub query: Option<String>,
    pub body: Option<Value>,
    /// The call changes what later calls need: each credential that is let in calls it on tenants of its own.
    pub spends: bool,
    /// The answer shows nothing that identifies its owner.
    pub nameless: bool,
}

#[derive(Debug)]
pub struct Operation {
    /// `METHOD /path`.
    pub name: String,
    pub group: String,
    pub call: Call,
    access: Group,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected {
    LetIn,
    Forbidden,
    Unauthorized,
}

impl Table {
    pub fn read() -> Self {
        let text = include_str!("../../access.yaml");
        // Parsed as a value first: its errors name the position, and flow style reads like block style.
        let value: Value = serde_saphyr::from_str(text).unwrap();
        serde_json::from_value(value).unwrap()
    }

    pub fn operations(&self) -> Vec<Operation> {
        self.operations
            .iter()
            .flat_map(|(group, calls)| {
                let access = self
                    .groups
                    .get(group)
                    .unwrap_or_else(|| panic!("no group {group}"));
                let access = Group {
                    let_in: self.resolve(&access.let_in),
                    forbidden: self.resolve(&access.forbidden),
                    unauthorized: self.resolve(&access.unauthorized),
                    answers: access.answers.clone(),
                };
                calls.iter().map(move |(name, call)| Operation {
                    name: name.clone(),
                    group: group.clone(),
                    call: call.clone().unwrap_or_default(),
                    access: access.clone(),
                })
            })
            .collect()
    }

    /// The credentials, with sets replaced by their members.
    fn resolve(&self, names: &[String]) -> Vec<String> {
        names
            .iter()
            .flat_map(|name| match self.sets.get(name) {
                Some(set) => self.resolve(set),
                None => vec![name.clone()],
            })
            .collect()
    }

    /// Every credential that the table names.
    pub fn credentials(&self) -> BTreeSet<String> {
        let groups = self.groups.values();
        let named = groups.flat_map(|group| [&group.let_in, &group.forbidden, &group.unauthorized]);
        named
            .chain(self.sets.values())
            .flat_map(|names| self.resolve(names))
            .collect()
    }
}

impl Operation {
    pub fn expected(&self, credential: &str) -> Expected {
        let holds = |names: &[String]| names.iter().any(|name| name == credential);
        if holds(&self.access.unauthorized) {
            Expected::Unauthorized
        } else if holds(&self.access.let_in) {
            Expected::LetIn
        } else if holds(&self.access.forbidden) {
            Expected::Forbidden
        } else {
            Expected::Unauthorized
        }
    }

    pub fn is_met(&self, expected: Expected, status: u16) -> bool {
        match expected {
            Expected::LetIn if self.access.answers.is_empty() => LET_IN.contains(&status),
            Expected::LetIn => self.access.answers.contains(&status),
            Expected::Forbidden => status == 403,
            Expected::Unauthorized => status == 401,
        }
    }
}
