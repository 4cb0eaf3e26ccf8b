//! Two attackers try every operation of the API description on a victim: a stranger who knows what a public
//! page shows, and the owner of another workspace with each of its credentials. They use guessed ids of the
//! victim wherever a request takes an id: in paths, also beside ids of the attacker's own, in queries, and in
//! the example bodies of the description.
//!
//! No answer may contain an id or a text of the victim's, and no row of the victim's may be changed, added or
//! lost.

use std::collections::BTreeMap;

use reqwest::Method;
use serde_json::{Map, Value, json};

use super::table::Table;
use super::tenant::{Tenant, marker, told_of};
use super::{Credential, Tenants, unlimited};
use test_harness::{Answer, Stack, Streams, rows};

/// One request, without its sender.
#[derive(Debug, Clone)]
struct Attempt {
    method: Method,
    path: String,
    body: Option<Value>,
}

/// The ids of the victim, and of the attacker.
struct Sides<'a> {
    victim: &'a Tenant,
    own: &'a Tenant,
}

#[tokio::test]
async fn a_stranger_and_the_owner_of_another_workspace_come_away_with_nothing() {
    let stack = unlimited().await;
    let api = stack.visit("/openapi.json").await.body;
    let mut tenants = 0;
    let shared = Tenants::create(&stack, &mut tenants).await;
    let sides = Sides {
        victim: &shared.a,
        own: &shared.b,
    };
    let streams = Streams::of(&stack).await;
    streams.drained(&stack).await;
    let before = rows_of(&stack, sides.victim).await;
    assert!(before.len() > 30, "the victim has hardly anything: {before:#?}");

    let attempts = sides.attempts(&api);
    assert!(attempts.len() > 150, "only {} attempts", attempts.len());
    let attackers: Vec<Credential> = shared
        .credentials()
        .into_iter()
        .filter(|credential| credential.tenant != Some(sides.victim.number))
        .collect();
    let (mut taken, mut answered) = (Vec::new(), BTreeMap::<u16, usize>::new());
    for attempt in &attempts {
        for attacker in &attackers {
            let answer = send(&stack, attempt, attacker).await;
            *answered.entry(answer.status.as_u16()).or_default() += 1;
            for text in sides.leaks(attempt, &answer.body) {
                taken.push(format!("{} learns {text:?} from {attempt:?}", attacker.name));
            }
            if answer.status.is_server_error() {
                taken.push(format!("{} gets {answer:?} from {attempt:?}", attacker.name));
            }
        }
    }
    assert!(taken.is_empty(), "{} taken:\n{}", taken.len(), taken.join("\n"));
    // Some requests concern the attackers' own resources: a test that meets only refusals would show nothing.
    assert!(answered[&200] > 50, "{answered:?}");
    let owner = shared.credential("owner of B").token.unwrap();
    let own = stack.get("/api/advertiser/affiliate-programs", &owner).await;
    assert_eq!(own.status, 200, "the attacker was locked out on the way: {own:?}");
    streams.drained(&stack).await;
    let after = rows_of(&stack, sides.victim).await;
    let gone: Vec<_> = before.iter().filter(|row| !after.contains(row)).collect();
    let new: Vec<_> = after.iter().filter(|row| !before.contains(row)).collect();
    assert!(
        gone.is_empty() && new.is_empty(),
        "before: {gone:#?}\nnow: {new:#?}"
    );
}

async fn send(stack: &Stack, attempt: &Attempt, attacker: &Credential) -> Answer {
    let mut request = stack.request(attempt.method.clone(), &attempt.path);
    if let Some(body) = &attempt.body {
        request = request.json(body);
    }
    if let Some(token) = &attacker.token {
        request = request.bearer_auth(token);
    }
    stack.send(request).await
}

impl Sides<'_> {
    /// For every operation: each choice of victim or attacker for the ids of its path, and each of its
    /// examples with the victim's ids.
    fn attempts(&self, api: &Value) -> Vec<Attempt> {
        let table = Table::read();
        // An operation that ends the attacker's own credentials would end the attack.
        let spending: Vec<String> = table
            .operations()
            .into_iter()
            .filter(|operation| operation.call.spends)
            .map(|operation| operation.name)
            .collect();
        let mut attempts = Vec::new();
        for (path, item) in api["paths"].as_object().unwrap() {
            for (method, operation) in item.as_object().unwrap() {
                let method: Method = method.to_uppercase().parse().unwrap();
                let query = self.query(operation);
                let spends = spending.contains(&format!("{method} {path}"));
                for filled in self.paths(path) {
                    if spends && !names(&filled, self.victim.number) {
                        continue;
                    }
                    attempts.extend(self.bodies(operation).into_iter().map(|body| Attempt {
                        method: method.clone(),
                        path: format!("{filled}{query}"),
                        body,
                    }));
                }
            }
        }
        attempts
    }

    fn paths(&self, path: &str) -> Vec<String> {
        let mut paths = vec![path.to_owned()];
        for name in path.split(['{', '}']).skip(1).step_by(2) {
            let values = [self.victim, self.own].map(|tenant| text(&tenant.resources[name]));
            let fill = |path: &String| {
                values
                    .each_ref()
                    .map(|value| path.replace(&format!("{{{name}}}"), value))
            };
            paths = paths.iter().flat_map(fill).collect();
        }
        paths
    }

    /// Gives every filter that takes an id the victim's id.
    fn query(&self, operation: &Value) -> String {
        let parameters = operation["parameters"].as_array().into_iter().flatten();
        let named = parameters
            .filter(|parameter| parameter["in"] == "query")
            .filter_map(|parameter| {
                let name = parameter["name"].as_str()?;
                let value = self.victim.resources.get(name)?;
                Some(format!("{name}={}", text(value)))
            });
        let named: Vec<String> = named.collect();
        if named.is_empty() {
            String::new()
        } else {
            format!("?{}", named.join("&"))
        }
    }

    /// The description's examples, with the victim's ids.
    fn bodies(&self, operation: &Value) -> Vec<Option<Value>> {
        let content = &operation["requestBody"]["content"]["application/json"]["examples"];
        let Some(examples) = content.as_object() else {
            return vec![None];
        };
        // Anyone may send test events to a program by its id. Test events do not count.
        let examples = examples.values().map(|example| &example["value"]);
        let examples = examples.filter(|body| body["additional_data"]["test_mode"].is_null());
        examples.map(|body| Some(self.about_victim("", body))).collect()
    }

    fn about_victim(&self, name: &str, value: &Value) -> Value {
        if let Some(known) = self.known(name) {
            return if value.is_array() { json!([known]) } else { known };
        }
        match value {
            Value::Object(entries) => entries
                .iter()
                .map(|(name, value)| (name.clone(), self.about_victim(name, value)))
                .collect::<Map<_, _>>()
                .into(),
            Value::Array(items) => items.iter().map(|item| self.about_victim("", item)).collect(),
            other => other.clone(),
        }
    }

    /// The victim's guessable values, by the name of the field. A click_id is signed and known to one browser
    /// only, so it cannot be guessed.
    fn known(&self, name: &str) -> Option<Value> {
        let marker = marker(self.victim.number);
        let resource = name.strip_suffix('s').unwrap_or(name);
        if let Some(id) = self.victim.resources.get(resource) {
            return Some(id.clone());
        }
        Some(match name {
            "program_scope" => self.victim.resources["program_id"].clone(),
            "customer_key" => format!("{marker}-customer").into(),
            "transaction_id" => format!("{marker}-sale").into(),
            "email" | "identifier" => format!("owner@{marker}.example").into(),
            "slug" => format!("{marker}-program").into(),
            "processor_customer_id" => format!("cus_{marker}").into(),
            "affiliate_url" => {
                let code = text(&self.own.resources["code"]);
                format!("https://shop.example/?aff={code}").into()
            }
            _ => return None,
        })
    }

    /// The victim's values in an answer that were not in the request.
    fn leaks(&self, attempt: &Attempt, answer: &Value) -> Vec<String> {
        let mut sent = Vec::new();
        leaves(&attempt.body.clone().unwrap_or_default(), &mut sent);
        sent.extend(attempt.path.split(['/', '?', '=', '&']).map(str::to_owned));
        sent.retain(|text| names(text, self.victim.number));
        sent.sort_by_key(|text| std::cmp::Reverse(text.len()));
        let mut told = Vec::new();
        leaves(answer, &mut told);
        told.retain(|text| {
            let rest = sent
                .iter()
                .fold(text.clone(), |rest, sent| rest.replace(sent, ""));
            names(&rest, self.victim.number)
        });
        told
    }
}

fn names(text: &str, number: i64) -> bool {
    told_of(text, number + 1).contains(&number)
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// All names, texts and numbers of the value.
fn leaves(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(entries) => {
            for (name, value) in entries {
                found.push(name.clone());
                leaves(value, found);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| leaves(item, found)),
        other => found.push(text(other)),
    }
}

/// The rows that contain an id of the tenant, without rows that are written behind the answers. Those record
/// attempts to sign in as the tenant's users, which the tenant may know.
async fn rows_of(stack: &Stack, tenant: &Tenant) -> Vec<String> {
    let tables = rows::tables_but(stack, &["failed_sign_ins"]).await;
    let marker = marker(tenant.number);
    let mut rows = Vec::new();
    for table in tables {
        let query = sqlx::AssertSqlSafe(format!("SELECT t::text FROM {table} t"));
        let of_table: Vec<String> = sqlx::query_scalar(query).fetch_all(stack.pool()).await.unwrap();
        // A name of the victim that an attacker typed does not make a row the victim's.
        let is_theirs = |row: &String| {
            names(&row.replace(&marker, ""), tenant.number) && !row.contains("user.sign_in_failed")
        };
        rows.extend(
            of_table
                .into_iter()
                .filter(is_theirs)
                .map(|row| format!("{table}: {row}")),
        );
    }
    rows
}

#[test]
fn what_is_learned_is_what_was_not_sent() {
    let tenant = |number| Tenant {
        number,
        credentials: BTreeMap::new(),
        resources: BTreeMap::new(),
    };
    let sides = Sides {
        victim: &tenant(1),
        own: &tenant(0),
    };
    let attempt = Attempt {
        method: Method::POST,
        path: "/programs/7000001000001".to_owned(),
        body: Some(json!({ "email": "owner@quokka1q.example" })),
    };
    let leaks = |answer: Value| sides.leaks(&attempt, &answer);
    let own = 7_000_000_000_005_i64;
    let echo = json!({ "error": { "message": "7000001000001 has no owner@quokka1q.example", "id": own } });
    assert_eq!(leaks(echo), [""; 0]);
    assert_eq!(leaks(json!({ "id": own + 1_000_000 })), ["7000001000005"]);
    assert_eq!(
        leaks(json!([{ "name": "quokka1q program" }])),
        ["quokka1q program"]
    );
}
