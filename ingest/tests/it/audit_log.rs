//! Who did what, as the owner reads it.

use common::domain::permission::Role;
use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::people::refused;
use crate::stack::Stack;

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
    stack.stop().await;
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
    refused(&unknown, 404, "Program not found", "unknown");
    let wrong = stack
        .get(&format!("{AUDIT_LOG}?program_id=x"), &acme.owner.token)
        .await;
    refused(&wrong, 400, "program_id must be an integer", "no number");
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
    stack.stop().await;
}
