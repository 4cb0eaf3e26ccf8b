//! Events are sent again: one delivery, or all events since a time.

use chrono::{SecondsFormat, TimeDelta};
use reqwest::StatusCode;
use runtime::clock::Clock;
use serde_json::{Value, json};
use test_harness::{Stack, managed::audited};

use super::{below, endpoint, event, finish, row, with_endpoint};

const QUEUE: &str = "SELECT array_agg(event_type ORDER BY position) AS types, bool_and(is_replay) AS replays, count(*) AS count
                     FROM webhook_queue";

#[tokio::test]
async fn a_replay_is_another_delivery_of_the_same_event() {
    let stack = Stack::start().await;
    let (program, id) = with_endpoint(&stack).await;
    let delivery = event(&stack, &program, "sale.recorded", Some(id)).await;
    finish(&stack, delivery, "given_up", 500, "oh no").await;
    let path = below(id, &format!("deliveries/{delivery}/replay"));
    let replayed = program
        .submit(&stack, &path, json!({}))
        .await
        .expect_status(StatusCode::CREATED);
    let data = &replayed.body["data"];
    assert_ne!(data["id"], delivery);
    assert_eq!(
        [
            &data["is_replay"],
            &data["is_test"],
            &data["state"],
            &data["attempts"]
        ],
        [&json!(true), &json!(false), &json!("waiting"), &json!(0)]
    );
    let same = row(
        &stack,
        "SELECT q.event_id = d.event_id AND q.position = d.position AND q.customer_id = d.customer_id
                AND q.event_created_at = d.event_created_at AND q.event_type = d.event_type AS is_same, q.is_replay
         FROM webhook_queue q, webhook_deliveries d",
    )
    .await;
    assert_eq!(same, json!({ "is_same": true, "is_replay": true }));
    let details: Value = stack
        .value("SELECT details FROM audit_log WHERE action = 'webhook_delivery.replayed'")
        .await;
    assert_eq!(
        details,
        json!({ "delivery_id": delivery, "replay_delivery_id": data["id"] })
    );
    // A delivery that waits, perhaps for hours, can be sent at once; and so can a replay.
    let again = program
        .submit(
            &stack,
            &below(id, &format!("deliveries/{}/replay", data["id"])),
            json!({}),
        )
        .await;
    assert_eq!(again.status, StatusCode::CREATED);
    let unknown = below(id, "deliveries/999999/replay");
    program
        .submit(&stack, &unknown, json!({}))
        .await
        .refused(404, "Webhook delivery not found");
    stack.execute("DELETE FROM outbound_events").await;
    program
        .submit(&stack, &path, json!({}))
        .await
        .refused(409, "This event is not stored any more");
    assert_eq!(stack.count("webhook_queue").await, 2);
}

#[tokio::test]
async fn what_happened_since_then_is_queued_once_in_its_order() {
    let stack = Stack::start().await;
    let (program, id) = with_endpoint(&stack).await;
    let other = endpoint(&stack, &program, &["lead.created"]).await;
    // An earlier event, one of another type, and an example that was sent to another endpoint.
    event(&stack, &program, "sale.recorded", None).await;
    stack
        .execute("UPDATE outbound_events SET created_at = now() - interval '2 days'")
        .await;
    event(&stack, &program, "lead.created", None).await;
    event(&stack, &program, "sale.recorded", None).await;
    event(&stack, &program, "sale.recorded", Some(id)).await;
    let test = json!({ "type": "sale.recorded" });
    program.submit(&stack, &below(other, "test"), test).await;
    let replay = async |body: Value| program.submit(&stack, &below(id, "replay"), body).await;
    let since = (Clock::system().now() - TimeDelta::days(1)).to_rfc3339_opts(SecondsFormat::Millis, true);
    let replayed = replay(json!({ "since": since }))
        .await
        .expect_status(StatusCode::OK);
    assert_eq!(
        replayed.body["data"],
        json!({ "replayed_count": 1, "cursor": null })
    );
    assert_eq!(
        row(&stack, &format!("{QUEUE} WHERE endpoint_id = {id} AND is_replay")).await,
        json!({ "types": ["sale.recorded"], "replays": true, "count": 1 })
    );
    // A repeated request queues nothing twice; a request for more types queues those.
    let again = replay(json!({ "since": since, "types": ["lead.created", "sale.recorded"] })).await;
    assert_eq!(again.body["data"]["replayed_count"], 1);
    assert_eq!(
        row(&stack, &format!("{QUEUE} WHERE endpoint_id = {id} AND is_replay")).await,
        json!({ "types": ["lead.created", "sale.recorded"], "replays": true, "count": 2 })
    );
    assert_eq!(audited(&stack, "webhook_endpoint.replayed").await, 2);
}

#[tokio::test]
async fn many_events_are_replayed_a_part_at_a_time() {
    let stack = Stack::start().await;
    let (program, id) = with_endpoint(&stack).await;
    stack
        .execute(&format!(
            "INSERT INTO outbound_events (event_id, program_id, event_type, body, occurred_at, position)
             SELECT gen_random_uuid(), {}, 'sale.recorded', '{{}}', now(), nextval('outbound_event_positions')
             FROM generate_series(1, 5001)",
            program.id
        ))
        .await;
    let since = "2026-01-01T00:00:00Z";
    let replay =
        async |body: Value| program.submit(&stack, &below(id, "replay"), body).await.body["data"].clone();
    let first = replay(json!({ "since": since })).await;
    assert_eq!(first["replayed_count"], 5_000);
    // The queued events have been delivered meanwhile.
    stack.execute("DELETE FROM webhook_queue").await;
    let rest = replay(json!({ "since": since, "cursor": first["cursor"] })).await;
    assert_eq!(rest, json!({ "replayed_count": 1, "cursor": null }));
}

#[tokio::test]
async fn a_replay_says_since_when_and_of_which_types() {
    let stack = Stack::start().await;
    let (program, id) = with_endpoint(&stack).await;
    let tomorrow = (Clock::system().now() + TimeDelta::days(1)).to_rfc3339_opts(SecondsFormat::Millis, true);
    let instant = "since must be an ISO 8601 instant such as 2027-01-31T12:00:00Z";
    for (body, message) in [
        (json!({}), "since is required"),
        (json!({ "since": 7 }), "since must be a string"),
        (json!({ "since": "yesterday" }), instant),
        (json!({ "since": "2026-01-01" }), instant),
        (json!({ "since": tomorrow }), "since must not be in the future"),
        (
            json!({ "since": "2026-01-01T00:00:00Z", "types": [] }),
            "types must name at least one type of event",
        ),
        (
            json!({ "since": "2026-01-01T00:00:00Z", "types": ["click"] }),
            "types names no type of event: click",
        ),
        (
            json!({ "since": "2026-01-01T00:00:00Z", "cursor": "x" }),
            "cursor must be one of an answer",
        ),
    ] {
        program
            .submit(&stack, &below(id, "replay"), body)
            .await
            .refused(400, message);
    }
}

#[tokio::test]
async fn an_endpoint_that_is_deleted_meanwhile_is_sent_nothing_more() {
    let stack = Stack::start().await;
    let (program, id) = with_endpoint(&stack).await;
    let delivery = event(&stack, &program, "sale.recorded", Some(id)).await;
    finish(&stack, delivery, "given_up", 500, "oh no").await;
    let mut deleting = stack.pool().begin().await.unwrap();
    for statement in [
        format!("SELECT FROM programs WHERE id = {} FOR NO KEY UPDATE", program.id),
        format!("DELETE FROM webhook_endpoints WHERE id = {id}"),
    ] {
        sqlx::query(sqlx::AssertSqlSafe(statement))
            .execute(&mut *deleting)
            .await
            .unwrap();
    }
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
    let deletion = async {
        stack.locked_out("all three wait for the deletion", 3).await;
        deleting.commit().await.unwrap();
    };
    let (answers, ()) = tokio::join!(requests, deletion);
    for answer in <[_; 3]>::from(answers) {
        answer.refused(404, "Webhook endpoint not found");
    }
}
