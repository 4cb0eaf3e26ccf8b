//! Management keys: created by users, limited, expired, revoked.

use chrono::TimeDelta;
use domain::ids::WorkspaceId;
use domain::people::permission::Role;
use serde_json::{Value, json};
use test_harness::managed::{Managed, PROGRAMS, audit_details, audited};
use test_harness::{Json, Person, Stack, noon, refused_each};

const KEYS: &str = "/api/advertiser/api-keys";
const NOBODY: &str = "Missing or invalid credentials";

/// A new key: the answer, and the key itself.
async fn key(person: &Person, settings: Value) -> (Value, String) {
    let data = person.api_key(settings).await;
    let key = data["key"].as_str().unwrap().to_owned();
    (data, key)
}

fn path(key: &Value) -> String {
    format!("{KEYS}/{}", key["id"])
}

#[tokio::test]
async fn a_key_is_shown_once_and_lists_show_its_mask() {
    let stack = Stack::at_noon().await;
    let acme = stack.workspace("acme").await;
    let (mut data, key) = key(&acme.owner, json!({ "name": "Backend" })).await;
    let settings = json!({
        "name": "Backend", "scopes": ["program:list", "program:read"], "program_scope": null,
        "expires_at": "2027-03-01T12:00:00.000Z",
    });
    let audited = audit_details(&stack, "api_key.created").await;
    assert_eq!(json!(audited), json!([settings]));
    data.has(settings);
    data.has(json!({
        "last_used_at": null, "created_by": { "id": acme.owner.user_id, "name": "Somebody" },
        "status": "active", "workspace_id": acme.workspace_id,
    }));
    assert!(key.starts_with(data["prefix"].as_str().unwrap()));
    let masked = data["key_masked"].as_str().unwrap();
    assert!(masked.starts_with("affk_") && masked.contains('…') && masked.ends_with(&key[key.len() - 4..]));
    let listed = acme.owner.get(KEYS).await;
    data.as_object_mut().unwrap().remove("key");
    assert_eq!(*listed.data(), json!([data]));
    assert_eq!(listed.total(), 1);
    stack.get(PROGRAMS, &key).await.ok();
    // This use is recorded; another use within the hour is not.
    stack.clock.advance(TimeDelta::minutes(59));
    stack.get(PROGRAMS, &key).await.ok();
    let last_used = async || acme.owner.get(KEYS).await.data()[0]["last_used_at"].clone();
    assert_eq!(last_used().await, "2026-03-01T12:00:00.000Z");
    stack.clock.advance(TimeDelta::minutes(1));
    stack.get(PROGRAMS, &key).await.ok();
    assert_eq!(last_used().await, "2026-03-01T13:00:00.000Z");
}

#[tokio::test]
async fn keys_are_sorted_and_found_by_name_creator_and_status() {
    let stack = Stack::at_noon().await;
    let owner = stack.workspace("acme").await.owner;
    let mut made = Vec::new();
    for (name, expires_at) in [
        ("Zeta", Some("2026-12-01T00:00:00Z")),
        ("beta", None),
        ("Alpha", Some("2026-11-01T00:00:00Z")),
    ] {
        made.push(key(&owner, json!({ "name": name, "expires_at": expires_at })).await);
    }
    stack.get(PROGRAMS, &made[1].1).await.ok();
    owner.delete(&path(&made[2].0)).await.ok();
    let names = json!({
        "": ["Alpha", "beta", "Zeta"],
        "sort=name&order=asc": ["Alpha", "beta", "Zeta"],
        "sort=name": ["Zeta", "beta", "Alpha"],
        // Keys without a value come last in both orders.
        "sort=expires_at&order=asc": ["Alpha", "Zeta", "beta"],
        "sort=expires_at": ["Zeta", "Alpha", "beta"],
        "sort=last_used_at": ["beta", "Alpha", "Zeta"],
        "status=revoked": ["Alpha"],
        "status=active&search=TA": ["beta", "Zeta"],
        "search=SOMEBODY": ["Alpha", "beta", "Zeta"],
    });
    stack.lists(&owner.token, KEYS, "name", names).await;
    let refusals = json!({
        "status=expired": "status must be active or revoked",
        "sort=status": "sort must be one of name, last_used_at, expires_at",
    });
    stack.refuses(&owner.token, KEYS, refusals).await;
}

#[tokio::test]
async fn settings_are_checked_one_by_one() {
    let (stack, acme) = Stack::with_workspace().await;
    let rival = stack.workspace("rival").await;
    let theirs = Managed::new(&stack, &rival, "Theirs").await.id;
    let not_ours = |id: i64| format!("program_scope must name programs of this workspace, which {id} is not");
    let (made, _) = key(&acme.owner, json!({ "name": "Backend" })).await;
    let refusals = json!({
        "name is required": [{ "name": "" }],
        "name must be at most 120 characters": [{ "name": "x".repeat(121) }],
        "scopes names no scope: everything": [{ "scopes": ["program:read", "everything", "nothing"] }],
        // The contract grants these to no key.
        "scopes names no scope: tracking:read": [{ "scopes": ["tracking:read"] }],
        "scopes must be a list of scopes": [{ "scopes": "*" }, { "scopes": [1] }],
        "scopes must not be empty": [{ "scopes": [] }],
        "program_scope must be a list of program ids, or null": [{ "program_scope": 7 }],
        "program_scope must not be empty": [{ "program_scope": [] }],
        not_ours(theirs): [{ "program_scope": [theirs] }],
        not_ours(999_999): [{ "program_scope": ["999999"] }],
        "expires_at must be an ISO 8601 instant such as 2027-01-31T12:00:00Z": [
            { "expires_at": "tomorrow" }, { "expires_at": 5 },
        ],
        "expires_at must be in the future": [{ "expires_at": "2020-01-01T00:00:00Z" }],
    });
    let path = path(&made);
    refused_each(400, refusals.clone(), |body| acme.owner.put(&path, body)).await;
    let create = async |body: Value| {
        acme.owner
            .submit(KEYS, json!({ "name": "Another" }).with(body))
            .await
    };
    refused_each(400, refusals, create).await;
    let nameless = acme.owner.submit(KEYS, json!({})).await;
    nameless.refused(400, "name is required");
    let unknown = acme.owner.delete(&format!("{KEYS}/999999")).await;
    unknown.refused(404, "API key not found");
    assert_eq!(stack.count("management_keys").await, 1);
}

#[tokio::test]
async fn a_change_narrows_a_key_at_once_and_tells_what_it_was() {
    let (stack, acme) = Stack::with_workspace().await;
    let ours = Managed::new(&stack, &acme, "Ours").await;
    let other = Managed::new(&stack, &acme, "Other").await;
    let (made, key) = key(&acme.owner, json!({ "name": "Backend" })).await;
    let scope = json!([ours.id.to_string()]);
    let change = json!({ "scopes": ["program:read"], "program_scope": scope, "name": "Reader" });
    let changed = acme.owner.put(&path(&made), change).await;
    assert_eq!(changed.data()["program_scope"], scope);
    stack.get(&ours.path(""), &key).await.ok();
    stack.get(&other.path(""), &key).await.is(403);
    stack.get(PROGRAMS, &key).await.is(403);
    let nulls = json!({ "scopes": null, "expires_at": null });
    let same = acme.owner.put(&path(&made), nulls).await;
    assert_eq!(same.data()["scopes"], json!(["program:read"]));
    assert_eq!(
        audit_details(&stack, "api_key.updated").await[0],
        json!({
            "name": { "before": "Backend", "after": "Reader" },
            "scopes": { "before": ["program:list", "program:read"], "after": ["program:read"] },
            "program_scope": { "before": null, "after": scope },
        })
    );
}

#[tokio::test]
async fn a_revoked_key_is_refused_by_every_ingest_and_stays_as_it_is() {
    let (mut stack, acme) = Stack::with_workspace().await;
    let (made, key) = key(&acme.owner, json!({ "name": "Backend" })).await;
    let second = stack.start_ingest();
    stack.get(PROGRAMS, &key).await.ok();
    let revoked = acme.owner.delete(&path(&made)).await.ok();
    assert_eq!(revoked.data()["status"], "revoked");
    stack.get(PROGRAMS, &key).await.refused(401, NOBODY);
    let again = acme.owner.delete(&path(&made)).await.ok();
    assert_eq!(again.body, revoked.body);
    let change = acme.owner.put(&path(&made), json!({ "name": "New" })).await;
    change.refused(409, "This API key is revoked");
    stack.use_ingest(second);
    stack.ready().await;
    stack.get(PROGRAMS, &key).await.refused(401, NOBODY);
    // The revoked key stays in the list.
    assert_eq!(acme.owner.get(KEYS).await.column("status"), json!(["revoked"]));
    assert_eq!(audited(&stack, "api_key.revoked").await, 1);
}

#[tokio::test]
async fn a_change_that_races_a_revocation_never_brings_the_key_back() {
    let (stack, acme) = Stack::with_workspace().await;
    for round in 0..10 {
        let (made, key) = key(&acme.owner, json!({ "name": "Backend" })).await;
        let path = path(&made);
        let change = acme.owner.put(&path, json!({ "name": "New" }));
        let (change, revoked) = tokio::join!(change, acme.owner.delete(&path));
        assert_eq!(revoked.data()["status"], "revoked", "round {round}");
        assert!([200, 409].contains(&change.status.as_u16()));
        stack.get(PROGRAMS, &key).await.refused(401, NOBODY);
    }
}

#[tokio::test]
async fn a_key_works_until_the_moment_it_expires() {
    let stack = Stack::at_noon().await;
    let acme = stack.workspace("acme").await;
    let expires_at = noon() + TimeDelta::days(1);
    let (data, key) = key(&acme.owner, json!({ "name": "Day", "expires_at": expires_at })).await;
    assert_eq!(data["expires_at"], "2026-03-02T12:00:00.000Z");
    stack.clock.set(expires_at - TimeDelta::milliseconds(1));
    stack.get(PROGRAMS, &key).await.ok();
    stack.clock.set(expires_at);
    stack.get(PROGRAMS, &key).await.refused(401, NOBODY);
}

#[tokio::test]
async fn a_key_is_refused_while_its_creator_lacks_a_required_second_factor() {
    let (stack, acme) = Stack::with_workspace().await;
    let other = stack.workspace("other").await;
    let admin = acme.join(&stack, "admin", Role::Admin).await;
    let (_, key) = key(&admin, json!({ "name": "Backend" })).await;
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
    stack.get(PROGRAMS, &key).await.ok();
    require(acme.workspace_id).await;
    let refusal = "This workspace requires a second factor, and the creator of this API key has none";
    stack.get(PROGRAMS, &key).await.refused(403, refusal);
    // Either an app or a passkey suffices.
    for (table, columns, values) in [
        ("second_factors", "secret_sealed, enabled_at", "'', now()"),
        ("passkeys", "name, credential_id, credential", "'P', 'c', '{}'"),
    ] {
        let id = admin.user_id;
        let factor =
            format!("INSERT INTO {table} (user_id, created_at, {columns}) VALUES ({id}, now(), {values})");
        stack.execute(&factor).await;
        stack.get(PROGRAMS, &key).await.ok();
        stack.execute(&format!("DELETE FROM {table}")).await;
        stack.get(PROGRAMS, &key).await.refused(403, refusal);
    }
}

#[tokio::test]
async fn a_key_ends_when_its_creator_no_longer_runs_the_workspace() {
    let (stack, acme) = Stack::with_workspace().await;
    let mut keys = Vec::new();
    for name in ["removed", "demoted", "suspended"] {
        let admin = acme.join(&stack, name, Role::Admin).await;
        let (_, key) = key(&admin, json!({ "name": name })).await;
        stack.get(PROGRAMS, &key).await.ok();
        keys.push((key, stack.member_path(&admin).await));
    }
    let (_, owners) = key(&acme.owner, json!({ "name": "Stays" })).await;
    acme.owner.delete(&keys[0].1).await.is(204);
    acme.owner.put(&keys[1].1, json!({ "role": "member" })).await.ok();
    let statement = "UPDATE users SET status = 'suspended' WHERE email = 'suspended@acme.example'";
    stack.execute(statement).await;
    for (key, _) in &keys {
        stack.get(PROGRAMS, key).await.refused(401, NOBODY);
    }
    stack.get(PROGRAMS, &owners).await.ok();
    // The revocation is final: a later promotion restores no key.
    acme.owner.put(&keys[1].1, json!({ "role": "admin" })).await.ok();
    stack.get(PROGRAMS, &keys[1].0).await.refused(401, NOBODY);
    // The third member was suspended by SQL; the next change of a member finds and revokes the key.
    assert_eq!(audited(&stack, "api_key.revoked").await, 3);
}
