//! Events are sent again: one delivery, or all events since a time.

use chrono::{SecondsFormat, TimeDelta};
use runtime::clock::Clock;
use serde_json::{Value, json};
use test_harness::managed::{audit_details, audited};
use test_harness::{Json, refused_each};

use super::{below, endpoint, event, finish, row, with_endpoint};

#[tokio::test]
async fn a_replay_is_another_delivery_of_the_same_event() {
    let (stack, program, id) = with_endpoint().await;
    let delivery = event(&stack, &program, "sale.recorded", Some(id)).await;
    finish(&stack, delivery, "given_up", 500, "oh no").await;
    let replay = async |delivery: i64| {
        let path = below(id, &format!("deliveries/{delivery}/replay"));
        program.submit(&stack, &path, json!({})).await
    };
    let replayed = replay(delivery).await.created();
    assert_ne!(replayed.id(), delivery);
    replayed
        .data()
        .has(json!({ "is_replay": true, "is_test": false, "state": "waiting", "attempts": 0 }));
    let same = row(
        &stack,
        "SELECT q.event_id = d.event_id AND q.position = d.position AND q.customer_id = d.customer_id
                AND q.event_created_at = d.event_created_at AND q.event_type = d.event_type AS is_same, q.is_replay
         FROM webhook_queue q, webhook_deliveries d",
    )
    .await;
    assert_eq!(same, json!({ "is_same": true, "is_replay": true }));
    assert_eq!(
        audit_details(&stack, "webhook_delivery.replayed").await,
        [json!({ "delivery_id": delivery, "replay_delivery_id": replayed.id() })]
    );
    // A delivery that waits, perhaps for hours, can be sent at once; and so can a replay.
    replay(replayed.id()).await.created();
    replay(999_999).await.refused(404, "Webhook delivery not found");
    stack.execute("DELETE FROM outbound_events").await;
    replay(delivery)
        .await
        .refused(409, "This event is not stored any more");
    assert_eq!(stack.count("webhook_queue").await, 2);
}

#[tokio::test]
async fn what_happened_since_then_is_queued_once_in_its_order() {
    let (stack, program, id) = with_endpoint().await;
    let other = endpoint(&stack, &program, &["lead.created"]).await;
    // An earlier event, one of another type, and an example that was sent to another endpoint.
    event(&stack, &program, "sale.recorded", None).await;
    let statement = "UPDATE outbound_events SET created_at = now() - interval '2 days'";
    stack.execute(statement).await;
    event(&stack, &program, "lead.created", None).await;
    event(&stack, &program, "sale.recorded", None).await;
    event(&stack, &program, "sale.recorded", Some(id)).await;
    let test = json!({ "type": "sale.recorded" });
    program
        .submit(&stack, &below(other, "test"), test)
        .await
        .created();
    let replay = async |body: Value| program.submit(&stack, &below(id, "replay"), body).await;
    let queued = async || -> Vec<String> {
        let types = format!(
            "SELECT event_type FROM webhook_queue WHERE endpoint_id = {id} AND is_replay ORDER BY position"
        );
        stack.values(&types).await
    };
    let since = days_from_now(-1);
    let replayed = replay(json!({ "since": since })).await;
    assert_eq!(*replayed.data(), json!({ "replayed_count": 1, "cursor": null }));
    assert_eq!(queued().await, ["sale.recorded"]);
    // A repeated request queues nothing twice; a request for more types queues those.
    let again = replay(json!({ "since": since, "types": ["lead.created", "sale.recorded"] })).await;
    assert_eq!(again.data()["replayed_count"], 1);
    assert_eq!(queued().await, ["lead.created", "sale.recorded"]);
    assert_eq!(audited(&stack, "webhook_endpoint.replayed").await, 2);
}

fn days_from_now(days: i64) -> String {
    let time = Clock::system().now() + TimeDelta::days(days);
    time.to_rfc3339_opts(SecondsFormat::Millis, true)
}

#[tokio::test]
async fn many_events_are_replayed_a_part_at_a_time() {
    let (stack, program, id) = with_endpoint().await;
    let many = format!(
        "INSERT INTO outbound_events (event_id, program_id, event_type, body, occurred_at, position)
         SELECT gen_random_uuid(), {}, 'sale.recorded', '{{}}', now(), nextval('outbound_event_positions')
         FROM generate_series(1, 5001)",
        program.id
    );
    stack.execute(&many).await;
    let replay = async |body: Value| program.submit(&stack, &below(id, "replay"), body).await;
    let since = json!({ "since": "2026-01-01T00:00:00Z" });
    let first = replay(since.clone()).await;
    assert_eq!(first.data()["replayed_count"], 5_000);
    // The queued events have been delivered meanwhile.
    stack.execute("DELETE FROM webhook_queue").await;
    let rest = replay(since.with(json!({ "cursor": first.data()["cursor"] }))).await;
    assert_eq!(*rest.data(), json!({ "replayed_count": 1, "cursor": null }));
}

#[tokio::test]
async fn a_replay_says_since_when_and_of_which_types() {
    let (stack, program, id) = with_endpoint().await;
    let since = "2026-01-01T00:00:00Z";
    let refusals = json!({
        "since is required": [{}],
        "since must be a string": [{ "since": 7 }],
        "since must be an ISO 8601 instant such as 2027-01-31T12:00:00Z": [
            { "since": "yesterday" }, { "since": "2026-01-01" },
        ],
        "since must not be in the future": [{ "since": days_from_now(1) }],
        "types must name at least one type of event": [{ "since": since, "types": [] }],
        "types names no type of event: click": [{ "since": since, "types": ["click"] }],
        "cursor must be one of an answer": [{ "since": since, "cursor": "x" }],
    });
    let path = below(id, "replay");
    refused_each(400, refusals, |body| program.submit(&stack, &path, body)).await;
}

#[tokio::test]
async fn an_endpoint_that_is_deleted_meanwhile_is_sent_nothing_more() {
    let (stack, program, id) = with_endpoint().await;
    let delivery = event(&stack, &program, "sale.recorded", Some(id)).await;
    finish(&stack, delivery, "given_up", 500, "oh no").await;
    let deleting = stack
        .holding(&format!(
            "SELECT FROM programs WHERE id = {} FOR NO KEY UPDATE; DELETE FROM webhook_endpoints WHERE id = {id}",
            program.id
        ))
        .await;
    let [test, replay, replay_one] = [
        below(id, "test"),
        below(id, "replay"),
        below(id, &format!("deliveries/{delivery}/replay")),
    ];
    let requests = async {
        tokio::join!(
            program.submit(&stack, &test, json!({ "type": "sale.recorded" })),
            program.submit(&stack, &replay, json!({ "since": "2026-01-31T12:00:00Z" })),
            program.submit(&stack, &replay_one, json!({})),
        )
    };
    let (answers, ()) = tokio::join!(requests, stack.release(deleting, 3));
    for answer in <[_; 3]>::from(answers) {
        answer.refused(404, "Webhook endpoint not found");
    }
}
