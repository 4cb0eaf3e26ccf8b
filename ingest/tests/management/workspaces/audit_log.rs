//! The audit log as the owner reads it.

use chrono::TimeDelta;
use reqwest::Method;
use runtime::clock::Clock;
use serde_json::{Value, json};
use test_harness::managed::PROGRAMS;
use test_harness::{Json, PASSWORD, Person, Stack};

const OWNER: &str = "owner@acme.example";

const AUDIT_LOG: &str = "/api/advertiser/audit-log";
const EXPORT: &str = "/api/advertiser/audit-log/export.csv";

/// A new program and a key of the person's workspace. Returns the program's id, and the key in the answer.
async fn program_and_key(owner: &Person) -> (i64, Value) {
    let made = owner.submit(PROGRAMS, json!({ "name": "Acme" })).await;
    let key = owner.api_key(json!({ "name": "Backend", "scopes": ["*"] })).await;
    (made.id(), key)
}

/// Renames the program with the key.
async fn rename(stack: &Stack, program_id: i64, key: &Value) {
    let renamed = stack
        .request(Method::PUT, &format!("{PROGRAMS}/{program_id}"))
        .bearer_auth(key["key"].as_str().unwrap())
        .header("x-forwarded-for", "192.0.2.7")
        .header("x-request-id", "audit-1");
    stack.send(renamed.json(&json!({ "name": "New" }))).await.ok();
}

#[tokio::test]
async fn the_owner_reads_who_did_what_when_and_from_where() {
    let (stack, acme) = Stack::with_workspace().await;
    let rival = stack.workspace("rival").await;
    let (program_id, key) = program_and_key(&acme.owner).await;
    rival
        .owner
        .submit(PROGRAMS, json!({ "name": "Theirs" }))
        .await
        .created();
    rename(&stack, program_id, &key).await;
    let by_operator = format!(
        "INSERT INTO audit_log (created_at, workspace_id, program_id, actor, action)
         VALUES (now(), {}, {program_id}, 'operator', 'program_token.marked_for_rotation')",
        acme.workspace_id
    );
    stack.execute(&by_operator).await;
    let log = acme.owner.get(AUDIT_LOG).await;
    let owner = json!({ "type": "user", "id": acme.owner.user_id, "name": "Somebody" });
    assert_eq!(
        log.data().columns(["action", "actor"]),
        json!([
            ["program_token.marked_for_rotation", { "type": "operator", "id": null, "name": "operator" }],
            ["program.updated", { "type": "key", "id": key["id"], "name": "Backend" }],
            ["api_key.created", owner],
            ["program.created", owner],
            ["user.signed_in", owner],
        ])
    );
    let by_key = &log.data()[1];
    by_key.has(json!({
        "subject_id": program_id, "program_id": program_id,
        "details": { "name": { "before": "Acme", "after": "New" } }, "address": "192.0.2.7", "request_id": "audit-1",
    }));
    assert!(by_key["createdAt"].is_string());
    let of_program = format!("{AUDIT_LOG}?program_id={program_id}&pageSize=1&page=3");
    let last = acme.owner.get(&of_program).await;
    assert_eq!(last.column("action"), json!(["program.created"]));
    assert_eq!(last.total(), 3);
}

#[tokio::test]
async fn the_audit_log_is_narrowed_down_by_who_what_and_when() {
    let stack = Stack::start_with(Clock::manual("2026-11-21T23:59:59Z".parse().unwrap())).await;
    let owner = stack.workspace("acme").await.owner;
    let (program_id, key) = program_and_key(&owner).await;
    stack.clock.advance(TimeDelta::seconds(1));
    rename(&stack, program_id, &key).await;
    let (user, key) = (owner.user_id, &key["id"]);
    let (created, updated) = (json!(["program.created"]), json!(["program.updated"]));
    for (query, expected) in [
        ("actor=key", &updated),
        (&format!("actor=key&actor_id={key}"), &updated),
        (&format!("actor=user&actor_id={user}&action=program"), &created),
        ("actor=operator", &json!([])),
        ("action=program", &json!(["program.updated", "program.created"])),
        ("action=program.created", &created),
        ("action=prog", &json!([])),
        ("from=2026-11-22", &updated),
        ("action=program&to=2026-11-21", &created),
        (
            &format!("program_id={program_id}&from=2026-11-21&to=2026-11-22&pageSize=1"),
            &updated,
        ),
    ] {
        let answer = owner.get(&format!("{AUDIT_LOG}?{query}")).await;
        assert_eq!(answer.column("action"), *expected, "{query}");
        // The file has no pages, and the opposite order.
        let filters = query.split("&pageSize").next().unwrap();
        let listed = owner.get(&format!("{AUDIT_LOG}?{filters}")).await;
        let file = owner.get(&format!("{EXPORT}?{filters}")).await;
        let mut written: Vec<_> = file.text().lines().skip(1).collect();
        written.reverse();
        let actions = written
            .iter()
            .map(|line| line.split(',').nth(5).unwrap().trim_matches('"'));
        assert_eq!(
            json!(actions.collect::<Vec<_>>()),
            listed.column("action"),
            "{filters}"
        );
    }
    let action = "action must be an action such as api_key.revoked, or its noun";
    let refusals = json!({
        "actor=nobody": "actor must be one of user, key, program, operator",
        "actor_id=x": "actor_id must be an integer",
        "action=a.b.c": action,
        "action=Program": action,
        "from=2026-11-22&to=2026-11-21": "from must not be after to",
        "program_id=x": "program_id must be an integer",
    });
    stack.refuses(&owner.token, AUDIT_LOG, refusals).await;
}

#[tokio::test]
async fn the_audit_log_is_of_ones_own_programs_and_cannot_be_rewritten() {
    let (stack, acme) = Stack::with_workspace().await;
    let rival = stack.workspace("rival").await;
    let made = rival.owner.submit(PROGRAMS, json!({ "name": "Theirs" })).await;
    let theirs = format!("{AUDIT_LOG}?program_id={}", made.id());
    acme.owner.get(&theirs).await.is(403);
    let unknown = acme.owner.get(&format!("{AUDIT_LOG}?program_id=999999")).await;
    unknown.refused(404, "Program not found");
    let all = async || stack.value::<Value>("SELECT jsonb_agg(a) FROM audit_log a").await;
    let before = all().await;
    for statement in [
        "UPDATE audit_log SET actor_id = 1",
        "DELETE FROM audit_log",
        "TRUNCATE audit_log",
        "TRUNCATE ledger_entries",
    ] {
        let refused = sqlx::query(statement).execute(stack.pool()).await;
        let refused = refused.unwrap_err().to_string();
        assert!(refused.contains("append-only"), "{statement}: {refused}");
    }
    assert_eq!(all().await, before);
}

/// The entries about users' accounts, oldest first.
async fn of_accounts(owner: &Person) -> Vec<Value> {
    let log = owner.get(&format!("{AUDIT_LOG}?pageSize=100")).await;
    let mut entries = log.data().as_array().unwrap().clone();
    entries.reverse();
    entries.retain(|entry| entry["action"].as_str().unwrap().starts_with("user."));
    entries
}

/// Waits until this many failed sign-ins are counted.
async fn counted(stack: &Stack, many: i64) {
    let sum = "SELECT coalesce(sum(failed), 0)::bigint FROM failed_sign_ins";
    let so_many = async || stack.value::<i64>(sum).await == many;
    stack.eventually("tries are counted", so_many).await;
}

fn actions(entries: &[Value]) -> Vec<&str> {
    entries
        .iter()
        .map(|entry| entry["action"].as_str().unwrap())
        .collect()
}

#[tokio::test]
async fn who_signed_in_and_out_and_who_tried_to_is_written_down() {
    let (stack, acme) = Stack::with_workspace().await;
    let rival = stack.workspace("rival").await;
    for _ in 0..5 {
        stack.sign_in(OWNER, "wrong horse battery").await.is(400);
    }
    counted(&stack, 5).await;
    let again = stack.signed_in(acme.owner.user_id, OWNER).await;
    again.submit("/api/auth/logout", json!({})).await.is(204);
    let entries = of_accounts(&acme.owner).await;
    assert_eq!(
        actions(&entries),
        [
            "user.signed_in",
            "user.sign_in_failed",
            "user.signed_in",
            "user.signed_out"
        ]
    );
    entries[1].has(json!({ "details": { "wrong": "password" }, "subject_id": acme.owner.user_id }));
    assert!(entries[1]["address"].is_string());
    assert_eq!(entries[2]["details"], json!({ "failed_before": 5 }));
    assert_eq!(actions(&of_accounts(&rival.owner).await), ["user.signed_in"]);
    // Attempts at addresses without an account are not recorded.
    stack.sign_in("nobody@acme.example", PASSWORD).await.is(400);
    let query = "SELECT string_agg(a::text, ' ') FROM audit_log a";
    let all: String = stack.value(query).await;
    assert!(!all.contains("nobody@") && !all.contains("horse"), "{all}");
}

/// Many attempts do not flood the log.
#[tokio::test]
async fn failed_tries_have_one_line_an_hour() {
    let stack = Stack::at_noon().await;
    let acme = stack.workspace("acme").await;
    let tries = async |many: i32| {
        for _ in 0..many {
            stack.sign_in(OWNER, "wrong horse battery").await.is(400);
        }
    };
    tries(8).await;
    counted(&stack, 8).await;
    stack.clock.advance(TimeDelta::hours(1));
    tries(2).await;
    counted(&stack, 10).await;
    let entries = of_accounts(&acme.owner).await;
    let failed = entries
        .iter()
        .filter(|entry| entry["action"] == "user.sign_in_failed");
    assert_eq!(failed.count(), 2);
}

#[tokio::test]
async fn the_audit_log_is_a_file() {
    let (stack, acme) = Stack::with_workspace().await;
    stack.workspace("rival").await;
    acme.owner
        .submit(PROGRAMS, json!({ "name": "=1+1" }))
        .await
        .created();
    let file = acme.owner.get(EXPORT).await;
    assert_eq!(file.header("content-type"), "text/csv; charset=utf-8");
    let text = file.text();
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with("\"id\",\"created_at\",\"actor\""), "{text}");
    // A sign-in and a program.
    assert_eq!(lines.len(), 3, "{text}");
    assert!(lines[2].contains("\"program.created\""), "{text}");
}
