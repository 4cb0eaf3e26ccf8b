//! The audit log as the owner reads it.

use chrono::TimeDelta;
use domain::people::permission::Role;
use reqwest::StatusCode;
use runtime::clock::Clock;
use serde_json::{Value, json};
use test_harness::{PASSWORD, Person, Stack};

const AUDIT_LOG: &str = "/api/advertiser/audit-log";
const PROGRAMS: &str = "/api/advertiser/affiliate-programs";

#[tokio::test]
async fn the_owner_reads_who_did_what_when_and_from_where() {
    let stack = Stack::start().await;
    let acme = stack.workspace("acme").await;
    let rival = stack.workspace("rival").await;
    let made = stack
        .submit(PROGRAMS, Some(&acme.owner.token), json!({ "name": "Acme" }))
        .await;
    let program_id = made.body["data"]["id"].as_i64().unwrap();
    stack
        .submit(PROGRAMS, Some(&rival.owner.token), json!({ "name": "Theirs" }))
        .await;
    let body = json!({ "name": "Backend", "scopes": ["*"] });
    let key = stack
        .submit("/api/advertiser/api-keys", Some(&acme.owner.token), body)
        .await
        .body["data"]
        .clone();
    let renamed = stack
        .request(reqwest::Method::PUT, &format!("{PROGRAMS}/{program_id}"))
        .bearer_auth(key["key"].as_str().unwrap())
        .header("x-forwarded-for", "192.0.2.7")
        .header("x-request-id", "audit-1")
        .json(&json!({ "name": "New" }));
    assert_eq!(stack.send(renamed).await.status, StatusCode::OK);
    stack
        .execute(&format!(
            "INSERT INTO audit_log (created_at, workspace_id, program_id, actor, action)
             VALUES (now(), {}, {program_id}, 'operator', 'program_token.marked_for_rotation')",
            acme.workspace_id
        ))
        .await;
    let log = stack.get(AUDIT_LOG, &acme.owner.token).await;
    let entries = log.body["data"].as_array().unwrap();
    let told: Vec<_> = entries
        .iter()
        .map(|entry| (entry["action"].as_str().unwrap(), &entry["actor"]))
        .collect();
    let owner = json!({ "type": "user", "id": acme.owner.user_id.get(), "name": "Somebody" });
    assert_eq!(
        told,
        [
            (
                "program_token.marked_for_rotation",
                &json!({ "type": "operator", "id": null, "name": "operator" })
            ),
            (
                "program.updated",
                &json!({ "type": "key", "id": key["id"], "name": "Backend" })
            ),
            ("api_key.created", &owner),
            ("program.created", &owner),
            ("user.signed_in", &owner),
        ]
    );
    let by_key = &entries[1];
    assert_eq!(by_key["subject_id"], program_id);
    assert_eq!(by_key["program_id"], program_id);
    assert_eq!(
        by_key["details"],
        json!({ "name": { "before": "Acme", "after": "New" } })
    );
    assert_eq!(by_key["address"], "192.0.2.7");
    assert_eq!(by_key["request_id"], "audit-1");
    assert!(by_key["createdAt"].is_string());
    let of_program = format!("{AUDIT_LOG}?program_id={program_id}&pageSize=1&page=3");
    let last = stack.get(&of_program, &acme.owner.token).await;
    assert_eq!(last.body["data"][0]["action"], "program.created");
    assert_eq!(last.body["meta"]["pagination"]["total"], 3);
}

#[tokio::test]
async fn the_audit_log_is_narrowed_down_by_who_what_and_when() {
    let clock = Clock::manual("2026-11-21T23:59:59Z".parse().unwrap());
    let stack = Stack::start_with(clock.clone()).await;
    let acme = stack.workspace("acme").await;
    let made = stack
        .submit(PROGRAMS, Some(&acme.owner.token), json!({ "name": "Acme" }))
        .await;
    let program_id = made.body["data"]["id"].as_i64().unwrap();
    let body = json!({ "name": "Backend", "scopes": ["*"] });
    let key = stack
        .submit("/api/advertiser/api-keys", Some(&acme.owner.token), body)
        .await
        .body["data"]
        .clone();
    clock.advance(TimeDelta::seconds(1));
    let path = format!("{PROGRAMS}/{program_id}");
    let renamed = stack
        .request(reqwest::Method::PUT, &path)
        .bearer_auth(key["key"].as_str().unwrap())
        .json(&json!({ "name": "New" }));
    assert_eq!(stack.send(renamed).await.status, StatusCode::OK);
    let (user, key) = (acme.owner.user_id.get(), &key["id"]);
    for (query, expected) in [
        ("actor=key".to_owned(), &["program.updated"][..]),
        (format!("actor=key&actor_id={key}"), &["program.updated"]),
        (
            format!("actor=user&actor_id={user}&action=program"),
            &["program.created"],
        ),
        ("actor=operator".to_owned(), &[]),
        (
            "action=program".to_owned(),
            &["program.updated", "program.created"],
        ),
        ("action=program.created".to_owned(), &["program.created"]),
        ("action=prog".to_owned(), &[]),
        ("from=2026-11-22".to_owned(), &["program.updated"]),
        ("action=program&to=2026-11-21".to_owned(), &["program.created"]),
        (
            format!("program_id={program_id}&from=2026-11-21&to=2026-11-22&pageSize=1"),
            &["program.updated"],
        ),
    ] {
        let answer = stack
            .get(&format!("{AUDIT_LOG}?{query}"), &acme.owner.token)
            .await;
        let entries = answer.body["data"].as_array().unwrap();
        assert_eq!(actions(entries), expected, "{query}");
        // The file has no pages, and the opposite order.
        let filters = query.split("&pageSize").next().unwrap();
        let listed = stack
            .get(&format!("{AUDIT_LOG}?{filters}"), &acme.owner.token)
            .await;
        let file = stack
            .get(&format!("{AUDIT_LOG}/export.csv?{filters}"), &acme.owner.token)
            .await;
        let lines = file.body.as_str().unwrap().lines().skip(1);
        let mut written: Vec<_> = lines
            .map(|line| line.split(',').nth(5).unwrap().trim_matches('"'))
            .collect();
        written.reverse();
        assert_eq!(
            written,
            actions(listed.body["data"].as_array().unwrap()),
            "{filters}"
        );
    }
    for (query, message) in [
        (
            "actor=nobody",
            "actor must be one of user, key, program, operator",
        ),
        ("actor_id=x", "actor_id must be an integer"),
        (
            "action=a.b.c",
            "action must be an action such as api_key.revoked, or its noun",
        ),
        (
            "action=Program",
            "action must be an action such as api_key.revoked, or its noun",
        ),
        ("from=2026-11-22&to=2026-11-21", "from must not be after to"),
    ] {
        let answer = stack
            .get(&format!("{AUDIT_LOG}?{query}"), &acme.owner.token)
            .await;
        answer.refused(400, message);
    }
}

#[tokio::test]
async fn the_audit_log_is_for_owners_and_cannot_be_rewritten() {
    let stack = Stack::start().await;
    let acme = stack.workspace("acme").await;
    let rival = stack.workspace("rival").await;
    let admin = stack
        .member(acme.workspace_id, "admin@acme.example", Role::Admin)
        .await;
    let made = stack
        .submit(PROGRAMS, Some(&rival.owner.token), json!({ "name": "Theirs" }))
        .await;
    let theirs = format!("{AUDIT_LOG}?program_id={}", made.body["data"]["id"]);
    assert_eq!(stack.get(AUDIT_LOG, &admin.token).await.status, 403);
    assert_eq!(stack.get(&theirs, &acme.owner.token).await.status, 403);
    let unknown = stack
        .get(&format!("{AUDIT_LOG}?program_id=999999"), &acme.owner.token)
        .await;
    unknown.refused(404, "Program not found");
    let wrong = stack
        .get(&format!("{AUDIT_LOG}?program_id=x"), &acme.owner.token)
        .await;
    wrong.refused(400, "program_id must be an integer");
    let before: Value = stack.value("SELECT jsonb_agg(a) FROM audit_log a").await;
    for statement in [
        "UPDATE audit_log SET actor_id = 1",
        "DELETE FROM audit_log",
        "TRUNCATE audit_log",
        "TRUNCATE ledger_entries",
    ] {
        let refused = sqlx::query(statement)
            .execute(stack.pool())
            .await
            .unwrap_err()
            .to_string();
        assert!(refused.contains("append-only"), "{statement}: {refused}");
    }
    assert_eq!(
        stack.value::<Value>("SELECT jsonb_agg(a) FROM audit_log a").await,
        before
    );
}

/// The entries about users' accounts, oldest first.
async fn of_accounts(stack: &Stack, owner: &Person) -> Vec<Value> {
    let log = stack
        .get(&format!("{AUDIT_LOG}?pageSize=100"), &owner.token)
        .await;
    let mut entries = log.body["data"].as_array().unwrap().clone();
    entries.reverse();
    entries.retain(|entry| entry["action"].as_str().unwrap().starts_with("user."));
    entries
}

fn actions(entries: &[Value]) -> Vec<&str> {
    entries
        .iter()
        .map(|entry| entry["action"].as_str().unwrap())
        .collect()
}

#[tokio::test]
async fn who_signed_in_and_out_and_who_tried_to_is_written_down() {
    let stack = Stack::start().await;
    let acme = stack.workspace("acme").await;
    let rival = stack.workspace("rival").await;
    let email = "owner@acme.example";
    for _ in 0..5 {
        stack.sign_in(email, "wrong horse battery").await;
    }
    let counted = async || {
        stack
            .value::<Option<i32>>("SELECT sum(failed)::int FROM failed_sign_ins")
            .await
            == Some(5)
    };
    stack.eventually("five tries are counted", counted).await;
    let again = stack.signed_in(acme.owner.user_id, email).await;
    stack
        .submit("/api/auth/logout", Some(&again.token), json!({}))
        .await;
    let entries = of_accounts(&stack, &acme.owner).await;
    assert_eq!(
        actions(&entries),
        [
            "user.signed_in",
            "user.sign_in_failed",
            "user.signed_in",
            "user.signed_out"
        ]
    );
    assert_eq!(entries[1]["details"], json!({ "wrong": "password" }));
    assert_eq!(entries[1]["subject_id"], acme.owner.user_id.get());
    assert!(entries[1]["address"].is_string());
    assert_eq!(entries[2]["details"], json!({ "failed_before": 5 }));
    assert_eq!(
        actions(&of_accounts(&stack, &rival.owner).await),
        ["user.signed_in"]
    );
    // Attempts at addresses without an account are not recorded.
    stack.sign_in("nobody@acme.example", PASSWORD).await;
    let all: String = stack
        .value("SELECT string_agg(a::text, ' ') FROM audit_log a")
        .await;
    assert!(!all.contains("nobody@") && !all.contains("horse"), "{all}");
}

/// Many attempts do not flood the log.
#[tokio::test]
async fn failed_tries_have_one_line_an_hour() {
    let clock = Clock::manual("2026-11-21T12:00:00Z".parse().unwrap());
    let stack = Stack::start_with(clock.clone()).await;
    let acme = stack.workspace("acme").await;
    let tries = async |many: i32| {
        for _ in 0..many {
            stack.sign_in("owner@acme.example", "wrong horse battery").await;
        }
    };
    let counted = async |many: i32| {
        let so_many = async || {
            stack
                .value::<Option<i32>>("SELECT sum(failed)::int FROM failed_sign_ins")
                .await
                == Some(many)
        };
        stack.eventually("tries are counted", so_many).await;
    };
    tries(8).await;
    counted(8).await;
    clock.advance(TimeDelta::hours(1));
    tries(2).await;
    counted(10).await;
    let failed = actions(&of_accounts(&stack, &acme.owner).await)
        .iter()
        .filter(|action| **action == "user.sign_in_failed")
        .count();
    assert_eq!(failed, 2);
}

#[tokio::test]
async fn the_audit_log_is_a_file_for_owners() {
    let stack = Stack::start().await;
    let acme = stack.workspace("acme").await;
    let rival = stack.workspace("rival").await;
    let admin = stack
        .member(acme.workspace_id, "admin@acme.example", Role::Admin)
        .await;
    let path = format!("{AUDIT_LOG}/export.csv");
    assert_eq!(stack.get(&path, &admin.token).await.status, 403);
    stack
        .created(PROGRAMS, Some(&acme.owner.token), json!({ "name": "=1+1" }))
        .await;
    let file = stack.get(&path, &acme.owner.token).await;
    assert_eq!(file.header("content-type"), "text/csv; charset=utf-8");
    let text = file.body.as_str().unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with("\"id\",\"created_at\",\"actor\""), "{text}");
    // Two sign-ins and a program.
    assert_eq!(lines.len(), 4, "{text}");
    assert!(lines[3].contains("\"program.created\""), "{text}");
    let theirs = stack.get(&path, &rival.owner.token).await;
    assert!(!theirs.body.to_string().contains("program.created"));
}
