//! Webhook endpoints and their deliveries. No worker delivers here: queued events stay rows.

mod deliveries;
mod endpoints;
mod operator;
mod replays;

use serde_json::{Value, json};
use test_harness::{Stack, managed::Managed};

const URL: &str = "https://hooks.acme.example/referrals";
const ENDPOINTS: &str = "webhook-endpoints";

/// Every endpoint has failed for an hour.
const FAILS: &str = "UPDATE webhook_endpoints
    SET failing_since = '2026-03-01 10:00Z', last_failure_at = '2026-03-01 11:00Z'";

/// A program of the workspace `acme` with an endpoint for sales; returns the endpoint's id.
async fn add_endpoint(stack: &Stack) -> (Managed, i64) {
    let program = Managed::new(stack, &stack.workspace("acme").await, "Acme").await;
    let id = endpoint(stack, &program, &["sale.recorded"]).await;
    (program, id)
}

/// A running stack, and a program with an endpoint for sales.
async fn with_endpoint() -> (Stack, Managed, i64) {
    let stack = Stack::start().await;
    let (program, id) = add_endpoint(&stack).await;
    (stack, program, id)
}

/// As [`with_endpoint`], on a clock that the test moves.
async fn with_endpoint_at_noon() -> (Stack, Managed, i64) {
    let stack = Stack::at_noon().await;
    let (program, id) = add_endpoint(&stack).await;
    (stack, program, id)
}

async fn endpoint(stack: &Stack, program: &Managed, types: &[&str]) -> i64 {
    let body = json!({ "url": URL, "event_types": types });
    program.submit(stack, ENDPOINTS, body).await.created().id()
}

/// A path below an endpoint.
fn below(endpoint_id: i64, path: &str) -> String {
    format!("{ENDPOINTS}/{endpoint_id}/{path}")
}

/// Adds an event of the program with a position, queued for this endpoint if given. Returns the id of its
/// delivery.
async fn event(stack: &Stack, program: &Managed, event_type: &str, queued_for: Option<i64>) -> i64 {
    let endpoint_id = queued_for.map_or_else(|| "NULL".to_owned(), |id| id.to_string());
    let statement = format!(
        "WITH event AS (
             INSERT INTO outbound_events (event_id, program_id, event_type, customer_id, body, occurred_at, position)
             VALUES (gen_random_uuid(), {}, '{event_type}', 7, '{{}}', now(), nextval('outbound_event_positions'))
             RETURNING *
         ), queued AS (
             INSERT INTO webhook_queue (endpoint_id, program_id, event_id, event_type, event_created_at, position, customer_id,
                 created_at, due_at)
             SELECT w.id, e.program_id, e.event_id, e.event_type, e.created_at, e.position, e.customer_id, now(), now()
             FROM event e JOIN webhook_endpoints w ON w.id = {endpoint_id}
             RETURNING id
         )
         SELECT coalesce((SELECT id FROM queued), 0)",
        program.id
    );
    stack.value(&statement).await
}

/// Ends a delivery as the delivery role does.
async fn finish(stack: &Stack, delivery_id: i64, state: &str, status: i16, answer: &str) {
    let statement = format!(
        "WITH taken AS (DELETE FROM webhook_queue WHERE id = {delivery_id} RETURNING *)
         INSERT INTO webhook_deliveries (id, endpoint_id, program_id, event_id, event_type, event_created_at, position,
             customer_id, is_replay, created_at, attempts, attempted_at, status, answer, duration_ms, state, finished_at)
         SELECT id, endpoint_id, program_id, event_id, event_type, event_created_at, position, customer_id, is_replay,
                created_at, 1, now(), {status}, '{answer}', 12, '{state}', now()
         FROM taken"
    );
    stack.execute(&statement).await;
}

/// The only row of a query, as JSON.
async fn row(stack: &Stack, query: &str) -> Value {
    stack.value(&format!("SELECT to_jsonb(r) FROM ({query}) r")).await
}
