//! Records that no worker can process become dead letters, and delay no other record.

use messages::envelope;
use messages::subject::Subject;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};
use test_harness::{PATIENT, Stack, Streams, answering_within, sale_of};
use uuid::Uuid;

fn raw(value: &Value) -> Box<RawValue> {
    to_raw_value(value).unwrap()
}

#[tokio::test]
async fn garbage_on_any_stream_is_kept_with_its_reason_and_the_pipeline_goes_on() {
    let (stack, program) = Stack::with_program().await;
    let streams = Streams::of(&stack).await;
    for subject in Subject::ALL {
        let unlike_any_record = json!({ "event_id": stack.clock.mint(), "nonsense": true });
        let packed = envelope::encode(None, &[raw(&unlike_any_record)]);
        streams.publish(subject, "not JSON").await;
        streams.publish(subject, packed).await;
    }
    stack
        .reaches("dead_letters", 2 * i64::try_from(Subject::ALL.len()).unwrap())
        .await;
    let kept: Vec<(String, String, Vec<u8>, Option<Uuid>)> = sqlx::query_as(
        "SELECT subject, reason, payload, event_id FROM dead_letters ORDER BY event_id NULLS FIRST",
    )
    .fetch_all(stack.pool())
    .await
    .unwrap();
    let (unread, unreadable) = kept.split_at(Subject::ALL.len());
    for (_, reason, payload, event_id) in unread {
        assert!(reason.contains("malformed envelope"), "{reason}");
        assert_eq!((payload.as_slice(), event_id), (b"not JSON".as_slice(), &None));
    }
    for (_, reason, payload, event_id) in unreadable {
        assert!(reason.contains("unreadable record"), "{reason}");
        let payload: Value = serde_json::from_slice(payload).unwrap();
        assert_eq!(payload["event_id"], json!(event_id.unwrap()));
    }
    for subject in Subject::ALL {
        let from = kept.iter().filter(|(name, ..)| name.ends_with(subject.noun()));
        assert_eq!(from.count(), 2, "{subject}");
    }
    stack.customer(&program, &program.ada.code, "user-1").await;
    stack.sold(&program, sale_of("t1", "user-1")).await;
    stack.refunded(&program, json!({ "transaction_id": "t1" })).await;
    streams.drained(&stack).await;
    assert_eq!(stack.count("notifications").await, 1);
    stack.verify().await;
}

#[tokio::test]
async fn an_unreadable_record_leaves_the_others_of_its_message_to_be_recorded() {
    let (stack, program) = Stack::with_program().await;
    let streams = Streams::of(&stack).await;
    stack.click(&program.ada.code).await;
    let messages = streams.messages(Subject::Clicks).await;
    let stored = messages
        .iter()
        .map(|payload| envelope::decode(payload).unwrap().records);
    let stored: Value = serde_json::from_str(stored.flatten().next().unwrap().get()).unwrap();
    let again = || {
        let mut click = stored.clone();
        click["event_id"] = json!(stack.clock.mint());
        click["new_customer"] = false.into();
        raw(&click)
    };
    let unreadable = raw(&json!({ "event_id": stack.clock.mint(), "clicked_at": "yesterday" }));
    let packed = envelope::encode(None, &[again(), unreadable, again()]);
    streams.publish(Subject::Clicks, packed).await;
    stack.reaches("dead_letters", 1).await;
    stack.reaches("click_events", 3).await;
    streams.drained(&stack).await;
    stack.verify().await;
}

#[tokio::test]
async fn a_sale_that_can_never_be_stored_is_kept_aside_and_its_batch_is_recorded() {
    let (mut stack, edge) = answering_within(PATIENT).await;
    let program = stack.program_with_customer().await;
    let streams = Streams::of(&stack).await;
    streams.drained(&stack).await;
    stack.stop_workers().await;
    let poison = "ALTER TABLE sale_events ADD CONSTRAINT no_poison CHECK (processor_event_id <> 'poison')";
    stack.execute(poison).await;
    // All calls wait for the worker, so that their records are in one batch.
    let mut ids: Vec<String> = (0..20).map(|n| format!("t{n}")).collect();
    ids.insert(7, "poison".to_owned());
    let calls: Vec<_> = ids
        .iter()
        .map(|transaction_id| edge.in_background(&program, "sale", sale_of(transaction_id, "user-1")))
        .collect();
    stack.reaches("transaction_claims", 21).await;
    stack.start_worker();
    for (transaction_id, call) in ids.iter().zip(calls) {
        if transaction_id == "poison" {
            // Its caller gets the answer "unknown" after the deadline. This test need not wait for that.
            call.abort();
        } else {
            call.await.unwrap().ok();
        }
    }
    stack.reaches("dead_letters", 1).await;
    let reason: String = stack.value("SELECT reason FROM dead_letters").await;
    assert!(reason.contains("no_poison"), "{reason}");
    let same_event =
        "SELECT d.event_id = c.event_id FROM dead_letters d, transaction_claims c WHERE c.state = 'dead'";
    assert!(stack.value::<bool>(same_event).await);
    assert_eq!(stack.balance(program.ada.membership).await, 20_000);
    // Copies of the record change nothing, and its transaction_id stays claimed.
    streams.replay(&stack).await;
    stack.reaches("dead_letters", 1).await;
    stack.sale(&program, sale_of("poison", "user-1")).await.is(409);
    stack.verify().await;
}

/// Makes the stored outcome of an event unreadable and delivers the event again. Expects a dead letter whose
/// reason names the row.
async fn unreadable_outcome_is_named(stack: &Stack, subject: Subject, table: &str) {
    let damage = format!("UPDATE {table} SET outcome = '{{' RETURNING event_id");
    let event_id: Uuid = stack.value(&damage).await;
    let streams = Streams::of(stack).await;
    streams.repeat(subject, streams.end(subject).await).await;
    streams.drained(stack).await;
    let reason = format!("SELECT reason FROM dead_letters WHERE event_id = '{event_id}'");
    let reason: String = stack.value(&reason).await;
    let named = format!("{table}.outcome of row {event_id} holds a value that cannot be read");
    assert_eq!(reason, named);
}

#[tokio::test]
async fn a_remembered_refusal_that_cannot_be_read_is_named_and_not_decided_afresh() {
    let (stack, program) = Stack::with_program().await;
    stack.lead(&program, "cust_1_2", "nobody").await.is(400);
    unreadable_outcome_is_named(&stack, Subject::Leads, "refused_events").await;
}

#[tokio::test]
async fn a_recorded_refund_whose_outcome_cannot_be_read_is_named() {
    let (stack, program) = Stack::with_customer().await;
    stack.sale(&program, sale_of("t1", "user-1")).await;
    stack.refunded(&program, json!({ "transaction_id": "t1" })).await;
    unreadable_outcome_is_named(&stack, Subject::Refunds, "refunds").await;
}
