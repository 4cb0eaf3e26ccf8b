//! A program's payment processor: connected, changed, rotated and disconnected; its secret is never shown.

use chrono::TimeDelta;
use domain::ids::ProgramId;
use domain::processors::processor::WebhookSecret;
use domain::sealed::SealingKeys;
use reqwest::StatusCode;
use runtime::clock::Clock;
use serde_json::{Value, json};
use storage::processor::processor_connections;
use test_harness::{Stack, Workspace, noon};

const OLD: &str = "whsec_an_old_secret_1111";
const NEW: &str = "whsec_a_newer_secret_2222";

async fn program(stack: &Stack, workspace: &Workspace) -> i64 {
    let body = json!({ "name": "Shop" });
    let made = stack
        .submit(
            "/api/advertiser/affiliate-programs",
            Some(&workspace.owner.token),
            body,
        )
        .await;
    made.body["data"]["id"].as_i64().unwrap()
}

fn path(program: i64) -> String {
    format!("/api/advertiser/affiliate-programs/{program}/processor-connection")
}

/// The secrets that the consumer of webhooks accepts now, under the stack's keys or others.
async fn accepted(stack: &Stack, program: i64, keys: &SealingKeys) -> Vec<String> {
    let mut connection = stack.pool().acquire().await.unwrap();
    let found =
        processor_connections::secrets(&mut connection, keys, ProgramId::new(program), stack.clock.now())
            .await;
    found
        .unwrap()
        .iter()
        .map(|secret: &WebhookSecret| secret.expose().to_owned())
        .collect()
}

fn keys() -> SealingKeys {
    SealingKeys::new(&[0x33; 32], &[])
}

#[tokio::test]
async fn a_connection_shows_that_it_has_a_secret_and_its_last_four_only() {
    let stack = Stack::start_with(Clock::manual(noon())).await;
    let acme = stack.workspace("acme").await;
    let id = program(&stack, &acme).await;
    let put = async |body: Value| stack.put(&path(id), &acme.owner.token, body).await;
    let get = || async { stack.get(&path(id), &acme.owner.token).await };
    get().await.refused(404, "Processor connection not found");
    put(json!({ "status": "connected" }))
        .await
        .refused(400, "account_id is required");
    let begun = put(json!({ "account_id": "acct_1" })).await;
    assert_eq!(
        begun.body["data"],
        json!({ "account_id": "acct_1", "webhook_endpoint_id": null, "status": "pending", "confirmed": false, "charges_enabled": false,
                "payouts_enabled": false, "webhook_secret_set": false, "webhook_secret_last4": null,
                "previous_secret_valid_until": null, "connected_at": null })
    );
    let done = put(json!({
        "webhook_endpoint_id": "we_1", "webhook_secret": OLD, "charges_enabled": true, "status": "connected",
    }))
    .await;
    let shown = json!({ "account_id": "acct_1", "webhook_endpoint_id": "we_1", "status": "connected", "confirmed": false, "charges_enabled": true,
                        "payouts_enabled": false, "webhook_secret_set": true, "webhook_secret_last4": "1111",
                        "previous_secret_valid_until": null, "connected_at": "2026-03-01T12:00:00.000Z" });
    assert_eq!(done.body["data"], shown);
    assert_eq!(get().await.body["data"], shown);
    assert_eq!(accepted(&stack, id, &keys()).await, [OLD]);
    // Only named fields change. Removing the status ends the connection.
    stack.clock.advance(TimeDelta::hours(1));
    stack.prove(&acme.owner).await;
    let paused = put(json!({ "status": "disconnected", "charges_enabled": null })).await;
    assert_eq!(paused.body["data"]["connected_at"], Value::Null);
    assert_eq!(paused.body["data"]["charges_enabled"], false);
    assert_eq!(paused.body["data"]["webhook_secret_last4"], "1111");
    let stored: String = stack.value("SELECT string_agg(c::text, '') || string_agg(a::text, '') FROM processor_connections c, audit_log a").await;
    assert!(!stored.contains("whsec") && !stored.contains(&OLD[6..]));
    let audited: Value = stack.value("SELECT details FROM audit_log WHERE action = 'processor_connection.updated' ORDER BY id OFFSET 1 LIMIT 1").await;
    assert_eq!(audited["webhook_secret"], "set");
    assert_eq!(
        audited["status"],
        json!({ "before": "pending", "after": "connected" })
    );
    assert_eq!(
        stack.delete(&path(id), &acme.owner.token).await.status,
        StatusCode::NO_CONTENT
    );
    get().await.refused(404, "Processor connection not found");
    assert_eq!(
        stack.delete(&path(id), &acme.owner.token).await.status,
        StatusCode::NOT_FOUND
    );
}

#[tokio::test]
async fn a_rotated_secret_leaves_the_one_before_for_as_long_as_was_said() {
    let clock = Clock::manual(noon());
    let stack = Stack::start_with(clock.clone()).await;
    let acme = stack.workspace("acme").await;
    let id = program(&stack, &acme).await;
    let rotate = async |body: Value| {
        let path = format!("{}/rotate-secret", path(id));
        stack.submit(&path, Some(&acme.owner.token), body).await
    };
    rotate(json!({ "webhook_secret": NEW }))
        .await
        .refused(404, "Processor connection not found");
    stack
        .put(
            &path(id),
            &acme.owner.token,
            json!({ "account_id": "acct_1", "webhook_secret": OLD }),
        )
        .await;
    for (body, message) in [
        (json!({}), "webhook_secret is required"),
        (
            json!({ "webhook_secret": OLD }),
            "webhook_secret is the one in use",
        ),
        (
            json!({ "webhook_secret": NEW, "previous_valid_hours": 169 }),
            "previous_valid_hours must be an integer from 0 to 168",
        ),
        (
            json!({ "webhook_secret": NEW, "previous_valid_hours": "1" }),
            "previous_valid_hours must be an integer from 0 to 168",
        ),
    ] {
        rotate(body).await.refused(400, message);
    }
    assert_eq!(accepted(&stack, id, &keys()).await, [OLD]);
    let rotated = rotate(json!({ "webhook_secret": NEW })).await;
    assert_eq!(rotated.body["data"]["webhook_secret_last4"], "2222");
    assert_eq!(
        rotated.body["data"]["previous_secret_valid_until"],
        "2026-03-02T12:00:00.000Z"
    );
    clock.advance(TimeDelta::days(1) - TimeDelta::milliseconds(1));
    assert_eq!(accepted(&stack, id, &keys()).await, [NEW, OLD]);
    clock.advance(TimeDelta::milliseconds(1));
    assert_eq!(accepted(&stack, id, &keys()).await, [NEW]);
    let shown = stack.get(&path(id), &acme.owner.token).await;
    assert_eq!(shown.body["data"]["previous_secret_valid_until"], Value::Null);
    stack.prove(&acme.owner).await;
    rotate(json!({ "webhook_secret": OLD, "previous_valid_hours": 0 })).await;
    assert_eq!(accepted(&stack, id, &keys()).await, [OLD]);
    // A replaced secret is not kept, unlike a rotated one.
    rotate(json!({ "webhook_secret": NEW })).await;
    stack
        .put(
            &path(id),
            &acme.owner.token,
            json!({ "webhook_secret": "whsec_one_more_secret" }),
        )
        .await;
    assert_eq!(accepted(&stack, id, &keys()).await, ["whsec_one_more_secret"]);
    let audited: Value = stack.value("SELECT details FROM audit_log WHERE action = 'processor_connection.secret_rotated' ORDER BY id LIMIT 1").await;
    assert_eq!(audited, json!({ "previous_valid_hours": 24 }));
}

#[tokio::test]
async fn a_secret_opens_with_its_key_and_for_its_program_only() {
    let mut stack = Stack::start().await;
    let acme = stack.workspace("acme").await;
    let (id, other) = (program(&stack, &acme).await, program(&stack, &acme).await);
    let body = json!({ "account_id": "acct_1", "webhook_secret": OLD });
    stack.put(&path(id), &acme.owner.token, body.clone()).await;
    // A secret copied to another program's row cannot be opened there.
    stack
        .execute(&format!(
            "INSERT INTO processor_connections (program_id, account_id, webhook_secret_sealed)
             SELECT {other}, account_id, webhook_secret_sealed FROM processor_connections"
        ))
        .await;
    let mut connection = stack.pool().acquire().await.unwrap();
    let now = stack.clock.now();
    let moved = processor_connections::secrets(&mut connection, &keys(), ProgramId::new(other), now).await;
    assert!(moved.is_err());
    drop(connection);
    let shown = stack.get(&path(other), &acme.owner.token).await;
    assert_eq!(shown.body["data"]["webhook_secret_set"], true);
    assert_eq!(shown.body["data"]["webhook_secret_last4"], Value::Null);
    // With a new key in front, the service still opens what the old key sealed, and seals with the new key.
    let setting = stack
        .settings
        .iter_mut()
        .find(|(name, _)| *name == "SECRETS_KEYS")
        .unwrap();
    setting.1 = format!("{},{}", "44".repeat(32), "33".repeat(32));
    let address = stack.start_ingest();
    stack.use_ingest(address);
    stack.ready().await;
    assert_eq!(
        stack.get(&path(id), &acme.owner.token).await.body["data"]["webhook_secret_last4"],
        "1111"
    );
    let rotate = format!("{}/rotate-secret", path(id));
    stack
        .submit(&rotate, Some(&acme.owner.token), json!({ "webhook_secret": NEW }))
        .await;
    let both = SealingKeys::new(&[0x44; 32], &[[0x33; 32]]);
    assert_eq!(accepted(&stack, id, &both).await, [NEW, OLD]);
}

#[tokio::test]
async fn nobody_else_sees_or_changes_a_connection() {
    let stack = Stack::start().await;
    let (acme, rival) = (stack.workspace("acme").await, stack.workspace("rival").await);
    let id = program(&stack, &acme).await;
    let body = json!({ "account_id": "acct_1", "webhook_secret": OLD });
    stack.put(&path(id), &acme.owner.token, body.clone()).await;
    let rotate = format!("{}/rotate-secret", path(id));
    let token = &rival.owner.token;
    for answer in [
        stack.get(&path(id), token).await,
        stack.put(&path(id), token, body.clone()).await,
        stack.delete(&path(id), token).await,
        stack
            .submit(&rotate, Some(token), json!({ "webhook_secret": NEW }))
            .await,
    ] {
        answer.refused(403, "You do not have access to this resource");
    }
    stack
        .delete(
            &format!("/api/advertiser/affiliate-programs/{id}"),
            &acme.owner.token,
        )
        .await;
    let owner = &acme.owner.token;
    for answer in [
        stack.put(&path(id), owner, body).await,
        stack
            .submit(&rotate, Some(owner), json!({ "webhook_secret": NEW }))
            .await,
    ] {
        answer.refused(409, "This program is archived");
    }
    // An archived program can still be disconnected.
    assert_eq!(
        stack.delete(&path(id), owner).await.status,
        StatusCode::NO_CONTENT
    );
}

#[tokio::test]
async fn of_changes_at_once_none_is_lost() {
    let stack = Stack::start().await;
    let acme = stack.workspace("acme").await;
    let id = program(&stack, &acme).await;
    let put = |body: Value| {
        let path = path(id);
        let stack = &stack;
        let token = &acme.owner.token;
        async move { stack.put(&path, token, body).await }
    };
    // Both concurrent requests name the account.
    let (one, other) = tokio::join!(
        put(json!({ "account_id": "acct_1", "charges_enabled": true })),
        put(json!({ "account_id": "acct_1", "payouts_enabled": true }))
    );
    assert_eq!((one.status, other.status), (StatusCode::OK, StatusCode::OK));
    let stored: bool = stack
        .value("SELECT charges_enabled AND payouts_enabled FROM processor_connections")
        .await;
    assert!(stored);
}
