//! Webhook endpoints and events of a program, created in the tables.

use chrono::TimeDelta;
use domain::ids::{CustomerId, WebhookEndpointId};
use domain::programs::outbound_event::{OutboundEventType, WantedEvents};
use domain::programs::webhook::SigningSecret;
use domain::sealed::SealingKeys;
use runtime::clock::Clock;
use serde_json::json;
use sqlx::AssertSqlSafe;
use storage::outbound::outbound_events::{self, NewOutboundEvent};

use crate::program::Program;
use crate::receiver::{Receiver, Reply};
use crate::stack::Stack;

/// The installation's keys in [`Stack`].
fn keys() -> SealingKeys {
    SealingKeys::new(&[0x33; 32], &[])
}

fn seal(endpoint_id: WebhookEndpointId, secret: &SigningSecret) -> Vec<u8> {
    keys()
        .seal(
            secret.expose(),
            &SigningSecret::purpose(endpoint_id),
            rand::random(),
        )
        .unwrap()
}

/// A stack without services, whose program has one endpoint: it wants events of leads, at a receiver that
/// replies like this.
pub async fn receiving(clock: Clock, reply: Reply) -> (Stack, Program, Receiver) {
    let stack = Stack::without_services(clock).await;
    let (program, receiver) = (stack.program().await, Receiver::replying(reply).await);
    endpoint(
        &stack,
        &program,
        &receiver.url(),
        &[OutboundEventType::LeadCreated],
    )
    .await;
    (stack, program, receiver)
}

/// Creates an endpoint that wants these types of events. Returns its id and its secret.
pub async fn endpoint(
    stack: &Stack,
    program: &Program,
    url: &str,
    types: &[OutboundEventType],
) -> (WebhookEndpointId, SigningSecret) {
    let names: Vec<&str> = types.iter().map(|event_type| event_type.as_str()).collect();
    let id: i64 = sqlx::query_scalar(
        "INSERT INTO webhook_endpoints (program_id, url, event_types, secret_sealed, created_at)
         VALUES ($1, $2, $3, '', $4) RETURNING id",
    )
    .bind(program.program_id.get())
    .bind(url)
    .bind(&names)
    .bind(stack.clock.now())
    .fetch_one(stack.pool())
    .await
    .unwrap();
    let (id, secret) = (
        WebhookEndpointId::new(id),
        SigningSecret::generate(rand::random()),
    );
    sqlx::query("UPDATE webhook_endpoints SET secret_sealed = $2 WHERE id = $1")
        .bind(id.get())
        .bind(seal(id, &secret))
        .execute(stack.pool())
        .await
        .unwrap();
    let wanted: WantedEvents = types.iter().copied().collect();
    sqlx::query("UPDATE programs SET wanted_events = wanted_events | $2 WHERE id = $1")
        .bind(program.program_id.get())
        .bind(wanted.bits())
        .execute(stack.pool())
        .await
        .unwrap();
    (id, secret)
}

/// Writes one lead event for each customer, in order. Returns their `webhook-id`s.
pub async fn leads(
    stack: &Stack,
    program: &Program,
    customers: impl IntoIterator<Item = i64>,
) -> Vec<String> {
    let now = stack.clock.now();
    let events: Vec<NewOutboundEvent> = customers
        .into_iter()
        .enumerate()
        .map(|(n, customer)| NewOutboundEvent {
            event_id: stack.clock.mint(),
            program_id: program.program_id,
            event_type: OutboundEventType::LeadCreated,
            customer_id: Some(CustomerId::new(customer)),
            occurred_at: now,
            body: json!({
                "type": "lead.created",
                "timestamp": now,
                "data": { "program_id": program.program_id, "customer": customer, "n": n },
            })
            .to_string(),
        })
        .collect();
    let mut connection = stack.pool().acquire().await.unwrap();
    outbound_events::add(&mut connection, &events).await.unwrap();
    events
        .iter()
        .map(|event| domain::programs::webhook::message_id(event.event_id))
        .collect()
}

/// Number of finished deliveries that fit the condition.
pub async fn finished(stack: &Stack, condition: &str) -> i64 {
    stack
        .count(&format!("webhook_deliveries WHERE {condition}"))
        .await
}

/// Waits until the webhook queue is empty.
pub async fn drained(stack: &Stack) {
    stack
        .eventually("all webhooks are finished", async || {
            let unplaced = stack.count("outbound_events WHERE position IS NULL").await;
            unplaced + stack.count("webhook_queue").await == 0
        })
        .await;
}

/// The text of one column in the endpoint's row.
pub async fn of_endpoint(stack: &Stack, id: WebhookEndpointId, column: &str) -> Option<String> {
    let query = AssertSqlSafe(format!(
        "SELECT ({column})::text FROM webhook_endpoints WHERE id = $1"
    ));
    sqlx::query_scalar(query)
        .bind(id.get())
        .fetch_one(stack.pool())
        .await
        .unwrap()
}

/// Replaces an endpoint's secret. The previous secret also signs during `overlap`.
pub async fn rotate(stack: &Stack, id: WebhookEndpointId, new: &SigningSecret, overlap: TimeDelta) {
    sqlx::query(
        "UPDATE webhook_endpoints
         SET previous_secret_sealed = secret_sealed, previous_secret_until = $3, secret_sealed = $2 WHERE id = $1",
    )
    .bind(id.get())
    .bind(seal(id, new))
    .bind(stack.clock.now() + overlap)
    .execute(stack.pool())
    .await
    .unwrap();
}
