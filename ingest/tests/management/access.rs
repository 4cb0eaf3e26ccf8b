//! No caller reaches the data of another tenant: each operation of the API description is called with each
//! kind of credential on tenant A's resources. The expected answers are in the table
//! `ingest/tests/access.yaml`.

mod attackers;
mod table;
mod tenant;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use self::table::{Call, Expected, Operation, Table};
use self::tenant::{Tenant, told_of};
use test_harness::{Answer, Stack};

/// A credential by its name in the table; without a token no credential is sent.
struct Credential {
    name: String,
    token: Option<String>,
    /// The number of the tenant that owns the credential.
    tenant: Option<i64>,
}

/// Tenant A and a rival.
struct Tenants {
    a: Tenant,
    b: Tenant,
}

/// A running stack in which a client may make any number of calls.
async fn unlimited() -> Stack {
    let limits = ["CLI_LIMIT", "READINESS_LIMIT", "CHAIN_LIMIT"];
    Stack::start_set(&limits.map(|limit| (limit, "1000000"))).await
}

#[tokio::test]
async fn every_operation_lets_in_whom_the_table_says_and_nobody_else() {
    let stack = unlimited().await;
    let table = Table::read();
    let (operations, described) = (table.operations(), described(&stack).await);
    every_operation_has_one_row(&operations, &described);
    let mut tenants = 0;
    let shared = Tenants::create(&stack, &mut tenants).await;
    let all = shared.credentials();
    every_credential_is_there(&table, &all);

    let mut wrong = Vec::new();
    for operation in &operations {
        let has_body = described[&operation.name];
        for credential in &all {
            let expected = operation.expected(&credential.name);
            let own = if operation.call.spends && expected == Expected::LetIn {
                Some(Tenants::create(&stack, &mut tenants).await)
            } else {
                None
            };
            let tenants_here = own.as_ref().unwrap_or(&shared);
            let credential = tenants_here.credential(&credential.name);
            let (sent, answer) = call(&stack, operation, has_body, &tenants_here.a, &credential).await;
            let found = judge(operation, &credential, expected, &sent, &answer, tenants);
            wrong.extend(found.map(|what| {
                format!(
                    "{} as {}: {what}: {} {}",
                    operation.name, credential.name, answer.status, answer.body
                )
            }));
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

fn every_operation_has_one_row(operations: &[Operation], described: &BTreeMap<String, bool>) {
    let rows: BTreeSet<_> = operations.iter().map(|operation| &operation.name).collect();
    assert_eq!(operations.len(), rows.len(), "an operation stands in two groups");
    let missing: Vec<_> = described.keys().filter(|name| !rows.contains(name)).collect();
    assert!(
        missing.is_empty(),
        "not in ingest/tests/access.yaml: {missing:#?}"
    );
    let gone: Vec<_> = rows
        .iter()
        .filter(|name| !described.contains_key(**name))
        .collect();
    assert!(
        gone.is_empty(),
        "in ingest/tests/access.yaml, but no operation: {gone:#?}"
    );
}

fn every_credential_is_there(table: &Table, credentials: &[Credential]) {
    let there: BTreeSet<_> = credentials
        .iter()
        .map(|credential| credential.name.clone())
        .collect();
    let unknown: Vec<_> = table.credentials().difference(&there).cloned().collect();
    assert!(unknown.is_empty(), "no such credentials: {unknown:?}");
    // A credential that no row of the table names would be tried without an expected answer.
    let unnamed: Vec<_> = there.difference(&table.credentials()).cloned().collect();
    assert!(unnamed.is_empty(), "in no set of the table: {unnamed:?}");
}

/// The operations of the service's own description, and whether they take a body.
async fn described(stack: &Stack) -> BTreeMap<String, bool> {
    let api = stack.visit("/openapi.json").await.body;
    let paths = api["paths"].as_object().unwrap().iter();
    paths
        .flat_map(|(path, item)| {
            let operations = item.as_object().unwrap().iter();
            operations.map(move |(method, operation)| {
                let has_body = operation.get("requestBody").is_some();
                (format!("{} {path}", method.to_uppercase()), has_body)
            })
        })
        .collect()
}

/// Sends the call, and returns the sent body and the answer.
async fn call(
    stack: &Stack,
    operation: &Operation,
    has_body: bool,
    a: &Tenant,
    credential: &Credential,
) -> (String, Answer) {
    let (method, path) = operation.name.split_once(' ').unwrap();
    let Call { query, body, .. } = &operation.call;
    let query = query
        .as_ref()
        .map(|query| format!("?{query}"))
        .unwrap_or_default();
    let path = filled(&format!("{path}{query}"), &a.resources);
    let mut request = stack.request(method.parse().unwrap(), &path);
    let mut sent = String::new();
    if has_body {
        sent = filled_in(body.clone().unwrap_or_else(|| json!({})), &a.resources).to_string();
        request = request.body(sent.clone());
    }
    if let Some(token) = &credential.token {
        request = request.bearer_auth(token);
    }
    (sent, stack.send(request).await)
}

/// Replaces `{name}` in a text by A's resource of that name.
fn filled(text: &str, resources: &BTreeMap<&'static str, Value>) -> String {
    let mut filled = text.to_owned();
    for (name, value) in resources {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        filled = filled.replace(&format!("{{{name}}}"), &value);
    }
    assert!(!filled.contains('{'), "{filled}: no such resource of a tenant");
    filled
}

/// Replaces a string that is only `{name}` by the resource itself.
fn filled_in(body: Value, resources: &BTreeMap<&'static str, Value>) -> Value {
    match body {
        Value::String(text) => {
            let name = text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
            match name.and_then(|name| resources.get(name)) {
                Some(value) => value.clone(),
                None => filled(&text, resources).into(),
            }
        }
        Value::Array(items) => items.into_iter().map(|item| filled_in(item, resources)).collect(),
        Value::Object(entries) => entries
            .into_iter()
            .map(|(name, value)| (filled(&name, resources), filled_in(value, resources)))
            .collect::<serde_json::Map<_, _>>()
            .into(),
        other => other,
    }
}

/// The faults of an answer.
fn judge(
    operation: &Operation,
    credential: &Credential,
    expected: Expected,
    sent: &str,
    answer: &Answer,
    tenants: i64,
) -> Option<String> {
    let status = answer.status.as_u16();
    if !operation.is_met(expected, status) {
        return Some(format!("expected {expected:?}"));
    }
    let told = told_of(&answer.body.to_string(), tenants);
    let known = told_of(sent, tenants);
    let foreign = |number: &&i64| credential.tenant != Some(**number) && !known.contains(number);
    if let Some(number) = told.iter().find(foreign) {
        return Some(format!("tells of tenant {number}"));
    }
    // A read that shows its owner nothing could not show it to others either, and would prove nothing.
    let looks = operation.name.starts_with("GET ")
        && status == 200
        && operation.group != "public"
        && !operation.call.nameless;
    let is_theirs = ["owner", "partner"].contains(&credential.name.as_str());
    if looks && is_theirs && told.is_empty() {
        return Some("shows nothing of a tenant that has it".to_owned());
    }
    None
}

impl Tenants {
    /// Creates the tenants with the next two numbers.
    async fn create(stack: &Stack, tenants: &mut i64) -> Self {
        let b = Tenant::create(stack, *tenants).await;
        let a = Tenant::create(stack, *tenants + 1).await;
        *tenants += 2;
        Self { a, b }
    }

    fn credentials(&self) -> Vec<Credential> {
        let of = |tenant: &Tenant, suffix: &str| -> Vec<Credential> {
            let all = tenant.credentials.iter();
            all.map(|(name, token)| Credential {
                name: format!("{name}{suffix}"),
                token: Some(token.clone()),
                tenant: Some(tenant.number),
            })
            .collect()
        };
        let nobodys = |name: &str, token: Option<&str>| Credential {
            name: name.to_owned(),
            token: token.map(str::to_owned),
            tenant: None,
        };
        let rivals = [
            "program key",
            "key with *",
            "owner",
            "partner",
            "session of the command line",
        ];
        let rivals = rivals.map(|name| format!("{name} of B"));
        let b = of(&self.b, " of B")
            .into_iter()
            .filter(|credential| rivals.contains(&credential.name));
        [nobodys("nothing", None), nobodys("junk", Some("junk"))]
            .into_iter()
            .chain(of(&self.a, ""))
            .chain(b)
            .collect()
    }

    fn credential(&self, name: &str) -> Credential {
        self.credentials()
            .into_iter()
            .find(|credential| credential.name == name)
            .unwrap()
    }
}
