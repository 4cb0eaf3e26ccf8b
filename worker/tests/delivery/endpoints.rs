//! Health of endpoints: which are disabled, who is notified, and what replays do not change.

use chrono::TimeDelta;
use domain::ids::WebhookEndpointId;
use domain::programs::outbound_event::OutboundEventType::{EndpointDisabled, LeadCreated};
use domain::programs::webhook::message_id;
use runtime::clock::Clock;
use serde_json::{Value, json};
use test_harness::{Json, Program, Receiver, Reply, Stack, noon, webhooks};
use uuid::Uuid;

/// Starts a delivery role on a stopped clock, with an endpoint at a receiver, and another endpoint that wants
/// events about disabled endpoints.
async fn watched(reply: Reply) -> (Stack, Program, Receiver, WebhookEndpointId, Receiver) {
    let mut stack = Stack::without_services(Clock::manual(noon())).await;
    let program = stack.program().await;
    let (receiver, watcher) = (Receiver::replying(reply).await, Receiver::start().await);
    let (id, _) = webhooks::endpoint(
        &stack,
        &program,
        &receiver.url(),
        &[LeadCreated, EndpointDisabled],
    )
    .await;
    webhooks::endpoint(&stack, &program, &watcher.url(), &[EndpointDisabled]).await;
    stack.start_delivery();
    (stack, program, receiver, id, watcher)
}

async fn disabled(stack: &Stack, id: WebhookEndpointId, reason: &str) {
    stack
        .eventually("the endpoint is disabled", async || {
            webhooks::of_endpoint(stack, id, "disabled_reason")
                .await
                .as_deref()
                == Some(reason)
        })
        .await;
}

/// The advertiser's only notification, and the only event that the other endpoint received.
async fn told(stack: &Stack, watcher: &Receiver) -> (Value, Value) {
    watcher.arrived(stack, 1).await;
    let query = "SELECT jsonb_build_object('recipient', recipient, 'kind', kind, 'details', details) FROM notifications";
    let notification = stack.value(query).await;
    (notification, watcher.received()[0].json())
}

#[tokio::test]
async fn an_endpoint_that_only_fails_for_five_days_is_disabled_and_its_owner_told() {
    let (stack, program, receiver, id, watcher) = watched(Reply::Status(500)).await;
    let since = stack.clock.now();
    webhooks::leads(&stack, &program, [1, 1, 2]).await;
    stack.reaches("webhook_queue WHERE attempts = 1", 2).await;
    stack.clock.advance(TimeDelta::hours(119));
    stack.reaches("webhook_queue WHERE attempts = 2", 2).await;
    assert_eq!(webhooks::of_endpoint(&stack, id, "disabled_at").await, None);
    stack.clock.advance(TimeDelta::hours(1));
    disabled(&stack, id, "failing").await;
    stack
        .reaches("webhook_deliveries WHERE state = 'cancelled'", 3)
        .await;
    let (notification, event) = told(&stack, &watcher).await;
    let data = json!({
        "endpoint_id": id, "url": receiver.url(), "reason": "failing", "failing_since": "2026-03-01T12:00:00.000Z",
    });
    assert_eq!(since.to_rfc3339(), "2026-03-01T12:00:00+00:00");
    let expected = json!({
        "recipient": "advertiser", "kind": "webhook_endpoint_disabled", "details": data,
    });
    assert_eq!(notification, expected);
    event.has(json!({ "type": "endpoint.disabled", "timestamp": "2026-03-06T12:00:00.000Z" }));
    event["data"].has(json!({ "program_id": program.program_id.get(), "endpoint_id": id }));
    // Later events are not even queued.
    let before = receiver.count();
    webhooks::leads(&stack, &program, [3]).await;
    webhooks::drained(&stack).await;
    assert_eq!(receiver.count(), before);
}

#[tokio::test]
async fn one_success_begins_the_five_days_again() {
    let (stack, program, receiver, id, _) = watched(Reply::Status(500)).await;
    webhooks::leads(&stack, &program, [1]).await;
    stack.reaches("webhook_queue WHERE attempts = 1", 1).await;
    receiver.reply(Reply::Status(200));
    stack.clock.advance(TimeDelta::hours(100));
    webhooks::drained(&stack).await;
    receiver.reply(Reply::Status(500));
    stack.clock.advance(TimeDelta::hours(1));
    webhooks::leads(&stack, &program, [2]).await;
    stack.reaches("webhook_queue WHERE attempts = 1", 1).await;
    stack.clock.advance(TimeDelta::hours(100));
    stack.reaches("webhook_queue WHERE attempts = 2", 1).await;
    let failing_since = webhooks::of_endpoint(&stack, id, "failing_since AT TIME ZONE 'UTC'").await;
    assert_eq!(failing_since.as_deref(), Some("2026-03-05 17:00:00"));
    assert_eq!(webhooks::of_endpoint(&stack, id, "disabled_at").await, None);
}

#[tokio::test]
async fn a_receiver_that_is_gone_gets_nothing_more() {
    let (stack, program, receiver, id, watcher) = watched(Reply::Status(410)).await;
    let ids = webhooks::leads(&stack, &program, [1, 1, 1]).await;
    disabled(&stack, id, "gone").await;
    webhooks::drained(&stack).await;
    assert_eq!(receiver.ids(), ids[..1]);
    let states = "SELECT state FROM webhook_deliveries WHERE event_type = 'lead.created' ORDER BY position";
    let states: Vec<String> = stack.values(states).await;
    assert_eq!(states, ["given_up", "cancelled", "cancelled"]);
    let (notification, event) = told(&stack, &watcher).await;
    assert_eq!(notification["details"]["reason"], "gone");
    assert_eq!(event["data"]["reason"], "gone");
}

async fn switch(stack: &Stack, id: WebhookEndpointId, is_on: bool) {
    let now = stack.clock.now();
    let set = if is_on {
        "disabled_at = NULL, disabled_reason = NULL".to_owned()
    } else {
        format!("disabled_at = '{now}', disabled_reason = 'by_hand'")
    };
    let statement = format!("UPDATE webhook_endpoints SET {set} WHERE id = {id}");
    stack.execute(&statement).await;
}

/// If the endpoint is enabled within two seconds, waiting deliveries may be cancelled or not. Later, they are
/// cancelled.
#[tokio::test]
async fn an_endpoint_enabled_again_gets_nothing_twice_and_lists_what_it_does_not_get() {
    for at_once in [true, false] {
        let (stack, program, receiver, id, _) = watched(Reply::Hang).await;
        let mut ids = webhooks::leads(&stack, &program, [1]).await;
        receiver.holds(&stack, 1).await;
        ids.extend(webhooks::leads(&stack, &program, [1, 2, 1, 3]).await);
        stack.reaches("webhook_queue", 5).await;
        switch(&stack, id, false).await;
        if !at_once {
            stack
                .reaches("webhook_deliveries WHERE state = 'cancelled'", 4)
                .await;
        }
        switch(&stack, id, true).await;
        let last = webhooks::leads(&stack, &program, [1]).await;
        stack
            .reaches("outbound_events WHERE position IS NOT NULL", 6)
            .await;
        receiver.release();
        webhooks::drained(&stack).await;
        ids.extend(last);
        let delivered = "SELECT event_id FROM webhook_deliveries
                         WHERE state = 'delivered' AND customer_id = 1 ORDER BY position";
        let delivered: Vec<Uuid> = stack.values(delivered).await;
        let mut arrived = receiver.ids();
        let of_first: Vec<String> = arrived
            .iter()
            .filter(|id| delivered.iter().any(|delivered| message_id(*delivered) == **id))
            .cloned()
            .collect();
        let in_order: Vec<String> = delivered.into_iter().map(message_id).collect();
        assert_eq!(of_first, in_order);
        assert!(
            arrived.contains(&ids[0]) && arrived.contains(&ids[5]),
            "{arrived:?}"
        );
        let (delivered, cancelled) = (
            webhooks::finished(&stack, "state = 'delivered' AND attempts = 1").await,
            webhooks::finished(&stack, "state = 'cancelled' AND attempts = 0").await,
        );
        assert_eq!(delivered + cancelled, 6);
        assert_eq!(arrived.len(), usize::try_from(delivered).unwrap());
        arrived.sort();
        arrived.dedup();
        assert_eq!(arrived.len(), usize::try_from(delivered).unwrap(), "twice");
        assert!(at_once || cancelled == 4);
    }
}

/// Queues the deliveries of an event again, as a replay.
async fn replay(stack: &Stack) {
    let now = stack.clock.now();
    let statement = format!(
        "INSERT INTO webhook_queue (endpoint_id, program_id, event_id, event_type, event_created_at, position, customer_id,
                                    is_replay, created_at, due_at)
         SELECT endpoint_id, program_id, event_id, event_type, event_created_at, position, customer_id, true, '{now}', '{now}'
         FROM webhook_deliveries WHERE event_type = 'lead.created' AND NOT is_replay"
    );
    stack.execute(&statement).await;
}

#[tokio::test]
async fn replays_reach_a_disabled_endpoint_and_change_no_health() {
    let (stack, program, receiver, id, _) = watched(Reply::Status(410)).await;
    let ids = webhooks::leads(&stack, &program, [1]).await;
    disabled(&stack, id, "gone").await;
    webhooks::drained(&stack).await;
    let health =
        "concat_ws(' ', failing_since, last_failure_at, last_success_at, disabled_at, disabled_reason)";
    let before = webhooks::of_endpoint(&stack, id, health).await;
    stack.clock.advance(TimeDelta::hours(1));
    receiver.reply(Reply::Status(200));
    replay(&stack).await;
    webhooks::drained(&stack).await;
    assert_eq!(receiver.ids(), [ids[0].clone(), ids[0].clone()]);
    assert_eq!(
        webhooks::finished(&stack, "is_replay AND state = 'delivered'").await,
        1
    );
    // A failure of a replay does not count for the endpoint, not even a 410.
    let statement =
        "UPDATE webhook_endpoints SET disabled_at = NULL, disabled_reason = NULL, failing_since = NULL";
    stack.execute(statement).await;
    let enabled = webhooks::of_endpoint(&stack, id, health).await;
    receiver.reply(Reply::Status(410));
    replay(&stack).await;
    webhooks::drained(&stack).await;
    assert_eq!(
        webhooks::finished(&stack, "is_replay AND state = 'given_up'").await,
        1
    );
    assert_eq!(webhooks::of_endpoint(&stack, id, health).await, enabled);
    assert!(before.is_some_and(|before| before.ends_with("gone")));
}
