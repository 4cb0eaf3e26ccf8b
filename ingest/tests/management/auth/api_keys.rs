//! Management keys: created by users, limited, expired, revoked.

use chrono::TimeDelta;
use domain::ids::WorkspaceId;
use domain::people::permission::Role;
use reqwest::StatusCode;
use runtime::clock::Clock;
use serde_json::{Value, json};
use test_harness::{Answer, Stack, Workspace, noon};

const KEYS: &str = "/api/advertiser/api-keys";
const PROGRAMS: &str = "/api/advertiser/affiliate-programs";
const NOBODY: &str = "Missing or invalid credentials";

async fn create(stack: &Stack, workspace: &Workspace, body: Value) -> Answer {
    stack.submit(KEYS, Some(&workspace.owner.token), body).await
}

/// A new key: the answer, and the key itself.
async fn key(stack: &Stack, workspace: &Workspace, body: Value) -> (Value, String) {
    let made = create(stack, workspace, body).await;
    assert_eq!(made.status, StatusCode::CREATED, "{:?}", made.body);
    let data = made.body["data"].clone();
    let key = data["key"].as_str().unwrap().to_owned();
    (data, key)
}

async fn program(stack: &Stack, workspace: &Workspace, name: &str) -> i64 {
    let made = stack
        .submit(PROGRAMS, Some(&workspace.owner.token), json!({ "name": name }))
        .await;
    made.body["data"]["id"].as_i64().unwrap()
}

fn path(key: &Value) -> String {
    format!("{KEYS}/{}", key["id"])
}

#[tokio::test]
async fn a_key_is_shown_once_and_lists_show_its_mask() {
    let stack = Stack::start_with(Clock::manual(noon())).await;
    let acme = stack.workspace("acme").await;
    let (data, key) = key(&stack, &acme, json!({ "name": "Backend" })).await;
    assert_eq!(data["expires_at"], "2027-03-01T12:00:00.000Z");
    assert!(key.starts_with(data["prefix"].as_str().unwrap()));
    let masked = data["key_masked"].as_str().unwrap();
    assert!(masked.starts_with("affk_") && masked.contains('…') && masked.ends_with(&key[key.len() - 4..]));
    for (name, value) in [
        ("name", json!("Backend")),
        ("scopes", json!(["program:list", "program:read"])),
        ("program_scope", Value::Null),
        ("last_used_at", Value::Null),
        (
            "created_by",
            json!({ "id": acme.owner.user_id.get(), "name": "Somebody" }),
        ),
        ("status", json!("active")),
        ("workspace_id", json!(acme.workspace_id.get())),
    ] {
        assert_eq!(data[name], value, "{name}");
    }
    let listed = stack.get(KEYS, &acme.owner.token).await;
    let mut expected = data.clone();
    expected.as_object_mut().unwrap().remove("key");
    assert_eq!(listed.body["data"], json!([expected]));
    assert_eq!(listed.body["meta"]["pagination"]["total"], 1);
    assert_eq!(stack.get(PROGRAMS, &key).await.status, StatusCode::OK);
    let audited: Value = stack
        .value("SELECT details FROM audit_log WHERE action = 'api_key.created'")
        .await;
    assert_eq!(
        audited,
        json!({
            "name": "Backend", "scopes": ["program:list", "program:read"], "program_scope": null,
            "expires_at": "2027-03-01T12:00:00.000Z",
        })
    );
    // This use is recorded; another use within the hour is not.
    stack.clock.advance(TimeDelta::minutes(59));
    assert_eq!(stack.get(PROGRAMS, &key).await.status, StatusCode::OK);
    let last_used = async || stack.get(KEYS, &acme.owner.token).await.body["data"][0]["last_used_at"].clone();
    assert_eq!(last_used().await, "2026-03-01T12:00:00.000Z");
    stack.clock.advance(TimeDelta::minutes(1));
    assert_eq!(stack.get(PROGRAMS, &key).await.status, StatusCode::OK);
    assert_eq!(last_used().await, "2026-03-01T13:00:00.000Z");
}

#[tokio::test]
async fn keys_are_sorted_and_found_by_name_creator_and_status() {
    let stack = Stack::start_with(Clock::manual(noon())).await;
    let acme = stack.workspace("acme").await;
    let mut made = Vec::new();
    for (name, expires_at) in [
        ("Zeta", json!("2026-12-01T00:00:00Z")),
        ("beta", Value::Null),
        ("Alpha", json!("2026-11-01T00:00:00Z")),
    ] {
        let body = json!({ "name": name, "expires_at": expires_at });
        made.push(key(&stack, &acme, body).await);
    }
    assert_eq!(stack.get(PROGRAMS, &made[1].1).await.status, StatusCode::OK);
    stack.delete(&path(&made[2].0), &acme.owner.token).await;
    for (query, names) in [
        ("", vec!["Alpha", "beta", "Zeta"]),
        ("sort=name&order=asc", vec!["Alpha", "beta", "Zeta"]),
        ("sort=name", vec!["Zeta", "beta", "Alpha"]),
        // Keys without a value come last in both orders.
        ("sort=expires_at&order=asc", vec!["Alpha", "Zeta", "beta"]),
        ("sort=expires_at", vec!["Zeta", "Alpha", "beta"]),
        ("sort=last_used_at", vec!["beta", "Alpha", "Zeta"]),
        ("status=revoked", vec!["Alpha"]),
        ("status=active&search=TA", vec!["beta", "Zeta"]),
        ("search=SOMEBODY", vec!["Alpha", "beta", "Zeta"]),
    ] {
        let listed = stack.get(&format!("{KEYS}?{query}"), &acme.owner.token).await;
        let keys = listed.body["data"].as_array().unwrap();
        let found: Vec<_> = keys.iter().map(|key| key["name"].as_str().unwrap()).collect();
        assert_eq!(found, names, "{query}");
        assert_eq!(listed.body["meta"]["pagination"]["total"], names.len(), "{query}");
    }
    for (query, refusal) in [
        ("status=expired", "status must be active or revoked"),
        (
            "sort=status",
            "sort must be one of name, last_used_at, expires_at",
        ),
    ] {
        stack
            .get(&format!("{KEYS}?{query}"), &acme.owner.token)
            .await
            .refused(400, refusal);
    }
}

#[tokio::test]
async fn settings_are_checked_one_by_one() {
    let stack = Stack::start().await;
    let acme = stack.workspace("acme").await;
    let rival = stack.workspace("rival").await;
    let theirs = program(&stack, &rival, "Theirs").await;
    let not_ours = |id: i64| format!("program_scope must name programs of this workspace, which {id} is not");
    let instant = "expires_at must be an ISO 8601 instant such as 2027-01-31T12:00:00Z";
    let (made, _) = key(&stack, &acme, json!({ "name": "Backend" })).await;
    for (body, message) in [
        (json!({ "name": "" }), "name is required".to_owned()),
        (
            json!({ "name": "x".repeat(121) }),
            "name must be at most 120 characters".to_owned(),
        ),
        (
            json!({ "scopes": ["program:read", "everything", "nothing"] }),
            "scopes names no scope: everything".to_owned(),
        ),
        // The contract grants these to no key.
        (
            json!({ "scopes": ["tracking:read"] }),
            "scopes names no scope: tracking:read".to_owned(),
        ),
        (
            json!({ "scopes": "*" }),
            "scopes must be a list of scopes".to_owned(),
        ),
        (
            json!({ "scopes": [1] }),
            "scopes must be a list of scopes".to_owned(),
        ),
        (json!({ "scopes": [] }), "scopes must not be empty".to_owned()),
        (
            json!({ "program_scope": 7 }),
            "program_scope must be a list of program ids, or null".to_owned(),
        ),
        (
            json!({ "program_scope": [] }),
            "program_scope must not be empty".to_owned(),
        ),
        (json!({ "program_scope": [theirs] }), not_ours(theirs)),
        (json!({ "program_scope": ["999999"] }), not_ours(999_999)),
        (json!({ "expires_at": "tomorrow" }), instant.to_owned()),
        (json!({ "expires_at": 5 }), instant.to_owned()),
        (
            json!({ "expires_at": "2020-01-01T00:00:00Z" }),
            "expires_at must be in the future".to_owned(),
        ),
    ] {
        let mut new = json!({ "name": "Another" });
        new.as_object_mut()
            .unwrap()
            .extend(body.as_object().unwrap().clone());
        create(&stack, &acme, new).await.refused(400, &message);
        let put = stack.put(&path(&made), &acme.owner.token, body).await;
        put.refused(400, &message);
    }
    create(&stack, &acme, json!({}))
        .await
        .refused(400, "name is required");
    assert_eq!(stack.count("management_keys").await, 1);
}

#[tokio::test]
async fn a_change_narrows_a_key_at_once_and_tells_what_it_was() {
    let stack = Stack::start().await;
    let acme = stack.workspace("acme").await;
    let ours = program(&stack, &acme, "Ours").await;
    let other = program(&stack, &acme, "Other").await;
    let (made, key) = key(&stack, &acme, json!({ "name": "Backend" })).await;
    let change = json!({ "scopes": ["program:read"], "program_scope": [ours.to_string()], "name": "Reader" });
    let changed = stack.put(&path(&made), &acme.owner.token, change).await;
    assert_eq!(changed.status, StatusCode::OK, "{:?}", changed.body);
    assert_eq!(changed.body["data"]["program_scope"], json!([ours.to_string()]));
    let read = async |id: i64| stack.get(&format!("{PROGRAMS}/{id}"), &key).await.status;
    assert_eq!(read(ours).await, StatusCode::OK);
    assert_eq!(read(other).await, StatusCode::FORBIDDEN);
    assert_eq!(stack.get(PROGRAMS, &key).await.status, StatusCode::FORBIDDEN);
    let nulls = json!({ "scopes": null, "expires_at": null });
    let same = stack.put(&path(&made), &acme.owner.token, nulls).await;
    assert_eq!(same.body["data"]["scopes"], json!(["program:read"]));
    let audited: Value = stack
        .value("SELECT details FROM audit_log WHERE action = 'api_key.updated' ORDER BY id LIMIT 1")
        .await;
    assert_eq!(
        audited,
        json!({
            "name": { "before": "Backend", "after": "Reader" },
            "scopes": { "before": ["program:list", "program:read"], "after": ["program:read"] },
            "program_scope": { "before": null, "after": [ours.to_string()] },
        })
    );
}

#[tokio::test]
async fn a_revoked_key_is_refused_by_every_ingest_and_stays_as_it_is() {
    let mut stack = Stack::start().await;
    let acme = stack.workspace("acme").await;
    let (made, key) = key(&stack, &acme, json!({ "name": "Backend" })).await;
    let second = stack.start_ingest();
    assert_eq!(stack.get(PROGRAMS, &key).await.status, StatusCode::OK);
    let revoke = async |stack: &Stack| stack.delete(&path(&made), &acme.owner.token).await;
    let revoked = revoke(&stack).await;
    assert_eq!(revoked.body["data"]["status"], "revoked");
    stack.get(PROGRAMS, &key).await.refused(401, NOBODY);
    let again = revoke(&stack).await;
    assert_eq!((again.status, &again.body), (StatusCode::OK, &revoked.body));
    let change = stack
        .put(&path(&made), &acme.owner.token, json!({ "name": "New" }))
        .await;
    change.refused(409, "This API key is revoked");
    stack.use_ingest(second);
    stack.ready().await;
    stack.get(PROGRAMS, &key).await.refused(401, NOBODY);
    // The revoked key stays in the list.
    let listed = stack.get(KEYS, &acme.owner.token).await;
    assert_eq!(listed.body["data"][0]["status"], "revoked");
    let audited = stack.count("audit_log WHERE action = 'api_key.revoked'").await;
    assert_eq!(audited, 1);
}

#[tokio::test]
async fn a_change_that_races_a_revocation_never_brings_the_key_back() {
    let stack = Stack::start().await;
    let acme = stack.workspace("acme").await;
    for round in 0..10 {
        let (made, key) = key(&stack, &acme, json!({ "name": "Backend" })).await;
        let path = path(&made);
        let change = stack.put(&path, &acme.owner.token, json!({ "name": "New" }));
        let (change, revoked) = tokio::join!(change, stack.delete(&path, &acme.owner.token));
        assert_eq!(revoked.body["data"]["status"], "revoked", "round {round}");
        assert!([StatusCode::OK, StatusCode::CONFLICT].contains(&change.status));
        stack.get(PROGRAMS, &key).await.refused(401, NOBODY);
    }
}

#[tokio::test]
async fn a_key_works_until_the_moment_it_expires() {
    let clock = Clock::manual(noon());
    let stack = Stack::start_with(clock.clone()).await;
    let acme = stack.workspace("acme").await;
    let expires_at = noon() + TimeDelta::days(1);
    let (data, key) = key(&stack, &acme, json!({ "name": "Day", "expires_at": expires_at })).await;
    assert_eq!(data["expires_at"], "2026-03-02T12:00:00.000Z");
    clock.set(expires_at - TimeDelta::milliseconds(1));
    assert_eq!(stack.get(PROGRAMS, &key).await.status, StatusCode::OK);
    clock.set(expires_at);
    stack.get(PROGRAMS, &key).await.refused(401, NOBODY);
}

#[tokio::test]
async fn only_who_runs_the_workspace_has_to_do_with_its_keys_and_no_key_has() {
    let stack = Stack::start().await;
    let acme = stack.workspace("acme").await;
    let rival = stack.workspace("rival").await;
    let (made, key) = key(&stack, &acme, json!({ "name": "Backend" })).await;
    let admin = stack
        .member(acme.workspace_id, "admin@acme.example", Role::Admin)
        .await;
    let member = stack
        .member(acme.workspace_id, "member@acme.example", Role::Member)
        .await;
    let path = path(&made);
    let each = async |token: &str| {
        let own = json!({ "name": "Mine", "workspace_id": acme.workspace_id.get() });
        [
            stack.submit(KEYS, Some(token), own).await.status.as_u16(),
            stack
                .get(&format!("{KEYS}?workspace_id={}", acme.workspace_id), token)
                .await
                .status
                .as_u16(),
            stack
                .put(&path, token, json!({ "scopes": ["*"] }))
                .await
                .status
                .as_u16(),
            stack.delete(&path, token).await.status.as_u16(),
        ]
    };
    assert_eq!(each(&key).await, [401; 4]);
    assert_eq!(each(&member.token).await, [403; 4]);
    assert_eq!(each(&rival.owner.token).await, [403; 4]);
    assert_eq!(each(&admin.token).await, [201, 200, 200, 200]);
    let unknown = stack.delete(&format!("{KEYS}/999999"), &admin.token).await;
    unknown.refused(404, "API key not found");
}

#[tokio::test]
async fn a_key_is_refused_while_its_creator_lacks_a_required_second_factor() {
    let stack = Stack::start().await;
    let (acme, other) = (stack.workspace("acme").await, stack.workspace("other").await);
    let admin = stack
        .member(acme.workspace_id, "admin@acme.example", Role::Admin)
        .await;
    let made = stack
        .submit(KEYS, Some(&admin.token), json!({ "name": "Backend" }))
        .await;
    let key = made.body["data"]["key"].as_str().unwrap();
    let require = async |id: WorkspaceId| {
        let required = format!("UPDATE workspaces SET second_factor_required = (id = {id})");
        stack.execute(&required).await;
    };
    // Requirements of another workspace do not affect this one's keys.
    let both = format!(
        "INSERT INTO workspace_members (workspace_id, user_id, role) VALUES ({}, {}, 'admin')",
        other.workspace_id, admin.user_id
    );
    stack.execute(&both).await;
    require(other.workspace_id).await;
    assert_eq!(stack.get(PROGRAMS, key).await.status, StatusCode::OK);
    require(acme.workspace_id).await;
    let refusal = "This workspace requires a second factor, and the creator of this API key has none";
    stack.get(PROGRAMS, key).await.refused(403, refusal);
    // Either an app or a passkey suffices.
    let id = admin.user_id;
    for (factor, none) in [
        (
            format!(
                "INSERT INTO second_factors (user_id, secret_sealed, created_at, enabled_at) VALUES ({id}, '', now(), now())"
            ),
            "DELETE FROM second_factors",
        ),
        (
            format!(
                "INSERT INTO passkeys (user_id, name, credential_id, credential, created_at) VALUES ({id}, 'P', 'c', '{{}}', now())"
            ),
            "DELETE FROM passkeys",
        ),
    ] {
        stack.execute(&factor).await;
        assert_eq!(stack.get(PROGRAMS, key).await.status, StatusCode::OK, "{factor}");
        stack.execute(none).await;
        stack.get(PROGRAMS, key).await.refused(403, refusal);
    }
}

#[tokio::test]
async fn a_key_ends_when_its_creator_no_longer_runs_the_workspace() {
    let stack = Stack::start().await;
    let acme = stack.workspace("acme").await;
    let mut keys = Vec::new();
    for email in [
        "removed@acme.example",
        "demoted@acme.example",
        "suspended@acme.example",
    ] {
        let admin = stack.member(acme.workspace_id, email, Role::Admin).await;
        let made = stack
            .submit(KEYS, Some(&admin.token), json!({ "name": email }))
            .await;
        let key = made.body["data"]["key"].as_str().unwrap().to_owned();
        assert_eq!(stack.get(PROGRAMS, &key).await.status, StatusCode::OK);
        let id: i64 = sqlx::query_scalar("SELECT id FROM workspace_members WHERE user_id = $1")
            .bind(admin.user_id.get())
            .fetch_one(stack.pool())
            .await
            .unwrap();
        keys.push((key, format!("/api/advertiser/members/{id}")));
    }
    let (_, owners) = key(&stack, &acme, json!({ "name": "Stays" })).await;
    stack.delete(&keys[0].1, &acme.owner.token).await;
    let member = json!({ "role": "member" });
    stack.put(&keys[1].1, &acme.owner.token, member).await;
    stack
        .execute("UPDATE users SET status = 'suspended' WHERE email = 'suspended@acme.example'")
        .await;
    for (key, _) in &keys {
        stack.get(PROGRAMS, key).await.refused(401, NOBODY);
    }
    assert_eq!(stack.get(PROGRAMS, &owners).await.status, StatusCode::OK);
    // The revocation is final: a later promotion restores no key.
    let admin = json!({ "role": "admin" });
    stack.put(&keys[1].1, &acme.owner.token, admin).await;
    stack.get(PROGRAMS, &keys[1].0).await.refused(401, NOBODY);
    // The third member was suspended by SQL; the next change of a member finds and revokes the key.
    let revoked = "SELECT count(*) FROM audit_log WHERE action = 'api_key.revoked'";
    assert_eq!(stack.value::<i64>(revoked).await, 3);
}
