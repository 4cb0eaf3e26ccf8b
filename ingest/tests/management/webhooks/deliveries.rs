//! Sent and queued deliveries of an endpoint, and example events that test it.

use serde_json::{Value, json};
use test_harness::managed::audited;
use test_harness::{Json, refused_each};

use super::{below, endpoint, event, finish, row, with_endpoint, with_endpoint_at_noon};

#[tokio::test]
async fn waiting_and_finished_deliveries_are_one_list_newest_first() {
    let (stack, program, id) = with_endpoint().await;
    let other = endpoint(&stack, &program, &["lead.created"]).await;
    let delivered = event(&stack, &program, "sale.recorded", Some(id)).await;
    let waiting = event(&stack, &program, "lead.created", Some(id)).await;
    event(&stack, &program, "lead.created", Some(other)).await;
    let given_up = event(&stack, &program, "lead.created", Some(id)).await;
    finish(&stack, delivered, "delivered", 200, "thanks").await;
    finish(&stack, given_up, "given_up", 500, "oh no").await;
    let list = async |query: &str| {
        program
            .get(&stack, &below(id, &format!("deliveries?{query}")))
            .await
    };
    assert_eq!(list("").await.body["meta"], json!({ "next_before": null }));
    for (query, expected) in [
        ("", json!([given_up, waiting, delivered])),
        ("state=waiting", json!([waiting])),
        ("state=delivered", json!([delivered])),
        ("state=given_up&type=sale.recorded", json!([])),
        ("type=lead.created", json!([given_up, waiting])),
    ] {
        assert_eq!(list(query).await.column("id"), expected, "{query}");
    }
    // A page at a time.
    let mut seen = Vec::new();
    let mut query = "limit=1".to_owned();
    loop {
        let page = list(&query).await;
        seen.extend(page.column("id").as_array().unwrap().clone());
        let Some(before) = page.body["meta"]["next_before"].as_i64() else {
            break;
        };
        query = format!("limit=1&before={before}");
    }
    assert_eq!(json!(seen), json!([given_up, waiting, delivered]));
    let refusals = json!({
        "state=lost": "state must be one of waiting, delivered, given_up, cancelled",
        "type=click": "type must be a type of event",
        "limit=0": "limit must be an integer from 1 to 100",
        "limit=101": "limit must be an integer from 1 to 100",
        "before=x": "before must be an integer",
    });
    let path = program.path(&below(id, "deliveries"));
    stack.refuses(&program.owner.token, &path, refusals).await;
}

#[tokio::test]
async fn a_delivery_shows_its_last_attempt() {
    let (stack, program, id) = with_endpoint().await;
    let delivery = event(&stack, &program, "sale.recorded", Some(id)).await;
    let one = below(id, &format!("deliveries/{delivery}"));
    let event_id: String = stack.value("SELECT 'evt_' || event_id FROM webhook_queue").await;
    let statement = "UPDATE webhook_queue SET created_at = '2026-03-01 12:00Z', due_at = '2026-03-01 12:05Z', attempts = 2,
                 attempted_at = '2026-03-01 12:00:05Z', failure = 'timeout', duration_ms = 15000";
    stack.execute(statement).await;
    let shown = program.get(&stack, &one).await;
    assert_eq!(
        *shown.data(),
        json!({ "id": delivery, "event_id": event_id, "type": "sale.recorded", "state": "waiting", "is_replay": false,
                "is_test": false, "attempts": 2, "status": null, "failure": "timeout", "answer": null, "duration_ms": 15_000,
                "attempted_at": "2026-03-01T12:00:05.000Z", "next_attempt_at": "2026-03-01T12:05:00.000Z",
                "finished_at": null, "created_at": "2026-03-01T12:00:00.000Z" })
    );
    finish(&stack, delivery, "delivered", 204, "thanks").await;
    let shown = program.get(&stack, &one).await;
    shown.data().has(json!({
        "state": "delivered", "status": 204, "answer": "thanks", "next_attempt_at": null,
    }));
    assert!(shown.data()["finished_at"].is_string());
    for missing in [delivery - 1, delivery + 1, i64::MAX] {
        let path = below(id, &format!("deliveries/{missing}"));
        let unknown = program.get(&stack, &path).await;
        unknown.refused(404, "Webhook delivery not found");
    }
}

#[tokio::test]
async fn a_test_event_is_queued_for_its_endpoint_alone() {
    let (stack, program, id) = with_endpoint_at_noon().await;
    endpoint(&stack, &program, &["sale.recorded"]).await;
    let test = async |body: Value| program.submit(&stack, &below(id, "test"), body).await;
    let refusals = json!({
        "type is required": [{}],
        "type must be a string": [{ "type": 7 }],
        "type names no type of event: click": [{ "type": "click" }],
    });
    refused_each(400, refusals, &test).await;
    assert_eq!(stack.count("outbound_events").await, 0);
    // A disabled endpoint may be tested, even with types that it does not receive.
    let statement = "UPDATE webhook_endpoints SET disabled_at = now(), disabled_reason = 'gone'";
    stack.execute(statement).await;
    let sent = test(json!({ "type": "lead.created" })).await.created();
    sent.data().has(json!({
        "type": "lead.created", "state": "waiting", "is_test": true, "is_replay": false, "attempts": 0,
    }));
    let event = row(
        &stack,
        "SELECT body::jsonb AS body, event_type, customer_id, position < 0 AS is_apart FROM outbound_events",
    )
    .await;
    event.has(json!({ "event_type": "lead.created", "customer_id": null }));
    assert_eq!(event["is_apart"], true, "no reader of the stream is there");
    let body = &event["body"];
    body.has(json!({ "type": "lead.created", "timestamp": "2026-03-01T12:00:00.000Z", "is_test": true }));
    assert_eq!(body["data"]["program_id"], program.id);
    let queued = row(
        &stack,
        "SELECT q.endpoint_id, q.is_replay, q.attempts, q.due_at = '2026-03-01 12:00Z' AS is_due,
                q.event_id = e.event_id AND q.position = e.position AND q.event_created_at = e.created_at AS is_found
         FROM webhook_queue q, outbound_events e",
    )
    .await;
    assert_eq!(
        queued,
        json!({ "endpoint_id": id, "is_replay": true, "attempts": 0, "is_due": true, "is_found": true })
    );
    assert_eq!(audited(&stack, "webhook_endpoint.tested").await, 1);
    let listed = program.get(&stack, &below(id, "deliveries")).await;
    assert_eq!(*listed.data(), json!([sent.data()]));
}
