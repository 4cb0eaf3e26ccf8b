//! A program's payment processor: connected, changed, rotated and disconnected; its secret is never shown.

use chrono::TimeDelta;
use domain::ids::ProgramId;
use domain::processors::processor::WebhookSecret;
use domain::sealed::SealingKeys;
use serde_json::{Value, json};
use storage::processor::processor_connections;
use test_harness::managed::{Managed, audit_details};
use test_harness::{Json, Stack, noon, refused_each, rows, statuses};

const OLD: &str = "whsec_an_old_secret_1111";
const NEW: &str = "whsec_a_newer_secret_2222";
const CONNECTION: &str = "processor-connection";
const ROTATE: &str = "processor-connection/rotate-secret";
const NOT_FOUND: &str = "Processor connection not found";

/// A program at noon.
async fn program() -> (Stack, Managed) {
    let stack = Stack::at_noon().await;
    let program = Managed::new(&stack, &stack.workspace("acme").await, "Shop").await;
    (stack, program)
}

/// The secrets that the consumer of webhooks accepts now, under the stack's keys or others.
async fn accepted(stack: &Stack, program: &Managed, keys: &SealingKeys) -> Vec<String> {
    let mut connection = stack.pool().acquire().await.unwrap();
    let (id, now) = (ProgramId::new(program.id), stack.clock.now());
    let found = processor_connections::secrets(&mut connection, keys, id, now).await;
    let found = found.unwrap();
    let texts = found
        .iter()
        .map(|secret: &WebhookSecret| secret.expose().to_owned());
    texts.collect()
}

fn keys() -> SealingKeys {
    SealingKeys::new(&[0x33; 32], &[])
}

#[tokio::test]
async fn a_connection_shows_that_it_has_a_secret_and_its_last_four_only() {
    let (stack, program) = program().await;
    let put = async |body: Value| program.put(&stack, CONNECTION, body).await;
    let get = async || program.get(&stack, CONNECTION).await;
    get().await.refused(404, NOT_FOUND);
    put(json!({ "status": "connected" }))
        .await
        .refused(400, "account_id is required");
    let begun = put(json!({ "account_id": "acct_1" })).await;
    let shown = json!({
        "account_id": "acct_1", "webhook_endpoint_id": null, "status": "pending", "confirmed": false,
        "charges_enabled": false, "payouts_enabled": false, "webhook_secret_set": false,
        "webhook_secret_last4": null, "previous_secret_valid_until": null, "connected_at": null,
    });
    assert_eq!(*begun.data(), shown);
    let done = put(json!({
        "webhook_endpoint_id": "we_1", "webhook_secret": OLD, "charges_enabled": true, "status": "connected",
    }))
    .await;
    let shown = shown.with(json!({
        "webhook_endpoint_id": "we_1", "status": "connected", "charges_enabled": true,
        "webhook_secret_set": true, "webhook_secret_last4": "1111", "connected_at": "2026-03-01T12:00:00.000Z",
    }));
    assert_eq!(*done.data(), shown);
    assert_eq!(*get().await.data(), shown);
    assert_eq!(accepted(&stack, &program, &keys()).await, [OLD]);
    // Only named fields change. Removing the status ends the connection.
    stack.clock.advance(TimeDelta::hours(1));
    stack.prove(&program.owner).await;
    let paused = put(json!({ "status": "disconnected", "charges_enabled": null })).await;
    paused
        .data()
        .has(json!({ "connected_at": null, "charges_enabled": false, "webhook_secret_last4": "1111" }));
    assert!(!rows::text_of_all_rows(&stack).await.contains(&OLD[6..]));
    audit_details(&stack, "processor_connection.updated").await[1].has(json!({
        "webhook_secret": "set", "status": { "before": "pending", "after": "connected" },
    }));
    program.delete(&stack, CONNECTION).await.is(204);
    get().await.refused(404, NOT_FOUND);
    program.delete(&stack, CONNECTION).await.is(404);
}

#[tokio::test]
async fn a_rotated_secret_leaves_the_one_before_for_as_long_as_was_said() {
    let (stack, program) = program().await;
    let rotate = async |body: Value| program.submit(&stack, ROTATE, body).await;
    let accepted = async || accepted(&stack, &program, &keys()).await;
    rotate(json!({ "webhook_secret": NEW }))
        .await
        .refused(404, NOT_FOUND);
    let body = json!({ "account_id": "acct_1", "webhook_secret": OLD });
    program.put(&stack, CONNECTION, body).await.ok();
    let refusals = json!({
        "webhook_secret is required": [{}],
        "webhook_secret is the one in use": [{ "webhook_secret": OLD }],
        "previous_valid_hours must be an integer from 0 to 168": [
            { "webhook_secret": NEW, "previous_valid_hours": 169 },
            { "webhook_secret": NEW, "previous_valid_hours": "1" },
        ],
    });
    refused_each(400, refusals, &rotate).await;
    assert_eq!(accepted().await, [OLD]);
    let rotated = rotate(json!({ "webhook_secret": NEW })).await;
    rotated.data().has(json!({
        "webhook_secret_last4": "2222", "previous_secret_valid_until": "2026-03-02T12:00:00.000Z",
    }));
    stack
        .clock
        .set(noon() + TimeDelta::days(1) - TimeDelta::milliseconds(1));
    assert_eq!(accepted().await, [NEW, OLD]);
    stack.clock.set(noon() + TimeDelta::days(1));
    assert_eq!(accepted().await, [NEW]);
    let shown = program.get(&stack, CONNECTION).await;
    assert_eq!(shown.data()["previous_secret_valid_until"], Value::Null);
    stack.prove(&program.owner).await;
    rotate(json!({ "webhook_secret": OLD, "previous_valid_hours": 0 }))
        .await
        .ok();
    assert_eq!(accepted().await, [OLD]);
    // A replaced secret is not kept, unlike a rotated one.
    rotate(json!({ "webhook_secret": NEW })).await.ok();
    let replaced = json!({ "webhook_secret": "whsec_one_more_secret" });
    program.put(&stack, CONNECTION, replaced).await.ok();
    assert_eq!(accepted().await, ["whsec_one_more_secret"]);
    let details = audit_details(&stack, "processor_connection.secret_rotated").await;
    assert_eq!(details[0], json!({ "previous_valid_hours": 24 }));
}

#[tokio::test]
async fn a_secret_opens_with_its_key_and_for_its_program_only() {
    let (mut stack, acme) = Stack::with_workspace().await;
    let program = Managed::new(&stack, &acme, "Shop").await;
    let other = Managed::new(&stack, &acme, "Other").await;
    let body = json!({ "account_id": "acct_1", "webhook_secret": OLD });
    program.put(&stack, CONNECTION, body).await.ok();
    // A secret copied to another program's row cannot be opened there.
    let copy = format!(
        "INSERT INTO processor_connections (program_id, account_id, webhook_secret_sealed)
         SELECT {}, account_id, webhook_secret_sealed FROM processor_connections",
        other.id
    );
    stack.execute(&copy).await;
    let mut connection = stack.pool().acquire().await.unwrap();
    let (id, now) = (ProgramId::new(other.id), stack.clock.now());
    let moved = processor_connections::secrets(&mut connection, &keys(), id, now).await;
    assert!(moved.is_err());
    drop(connection);
    let shown = other.get(&stack, CONNECTION).await;
    shown
        .data()
        .has(json!({ "webhook_secret_set": true, "webhook_secret_last4": null }));
    // With a new key in front, the service still opens what the old key sealed, and seals with the new key.
    let keys = format!("{},{}", "44".repeat(32), "33".repeat(32));
    stack.set("SECRETS_KEYS", &keys);
    let address = stack.start_ingest();
    stack.use_ingest(address);
    stack.ready().await;
    let shown = program.get(&stack, CONNECTION).await;
    assert_eq!(shown.data()["webhook_secret_last4"], "1111");
    program
        .submit(&stack, ROTATE, json!({ "webhook_secret": NEW }))
        .await
        .ok();
    let both = SealingKeys::new(&[0x44; 32], &[[0x33; 32]]);
    assert_eq!(accepted(&stack, &program, &both).await, [NEW, OLD]);
}

#[tokio::test]
async fn of_changes_at_once_none_is_lost() {
    let (stack, program) = Stack::with_managed().await;
    // Both concurrent requests name the account.
    let enable = |what: &str| program.put(&stack, CONNECTION, json!({ "account_id": "acct_1", what: true }));
    let (one, other) = tokio::join!(enable("charges_enabled"), enable("payouts_enabled"));
    assert_eq!(statuses([one, other]), [200, 200]);
    let shown = program.get(&stack, CONNECTION).await;
    shown
        .data()
        .has(json!({ "charges_enabled": true, "payouts_enabled": true }));
}
