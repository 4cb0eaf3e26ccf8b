//! A customer_id was given to two visitors: the clicks of the second become dead letters, and never count for
//! the first.

use chrono::{DateTime, TimeDelta, Utc};
use messages::envelope;
use messages::subject::Subject;
use serde_json::value::to_raw_value;
use serde_json::{Value, json};
use test_harness::{Json, Stack, Streams, digests};

/// Another visitor's click_id, which belongs to no customer.
const ANOTHERS: &str = "cust_7204319856127340_1798796400000";

/// The record of a visitor's first click.
async fn first_click(stack: &Stack, streams: &Streams, code: &str) -> Value {
    stack.click(code).await;
    streams.drained(stack).await;
    let message = streams.messages(Subject::Clicks).await.pop().unwrap();
    let record = envelope::decode(&message).unwrap().records.pop().unwrap();
    serde_json::from_str(record.get()).unwrap()
}

/// A copy of the click with an event id of its own and these fields.
fn like(stack: &Stack, click: &Value, fields: &Value) -> Value {
    let event_id = json!({ "event_id": stack.clock.mint() });
    click.clone().with(event_id).with(fields.clone())
}

/// Publishes clicks in one message, and waits until they are settled.
async fn publish(stack: &Stack, streams: &Streams, clicks: &[&Value]) {
    let records: Vec<_> = clicks.iter().map(|click| to_raw_value(click).unwrap()).collect();
    streams
        .publish(Subject::Clicks, envelope::encode(None, &records))
        .await;
    streams.drained(stack).await;
}

async fn only_dead_letter(stack: &Stack, click: &Value) {
    stack.reaches("dead_letters", 1).await;
    let letter: Value = stack.value("SELECT to_jsonb(d) FROM dead_letters d").await;
    assert_eq!(letter["event_id"], click["event_id"]);
    assert_eq!(
        letter["reason"],
        "the customer_id of the click belongs to another click_id"
    );
}

#[tokio::test]
async fn a_new_visitor_with_anothers_id_is_kept_aside_and_the_batch_is_recorded() {
    let (stack, program) = Stack::with_program().await;
    let streams = Streams::of(&stack).await;
    let first = first_click(&stack, &streams, &program.ada.code).await;
    let link = program.bruno.link.get();
    let taken = json!({ "click_id": ANOTHERS, "referral_link_id": link });
    let taken = like(&stack, &first, &taken);
    let again = like(&stack, &first, &json!({ "new_customer": false }));
    let free = json!({ "click_id": ANOTHERS, "customer_id": first["customer_id"].as_i64().unwrap() + 1 });
    let free = like(&stack, &first, &free);
    publish(&stack, &streams, &[&again, &taken, &first, &free]).await;
    only_dead_letter(&stack, &taken).await;
    stack.reaches("customers", 2).await;
    stack.reaches("click_events", 3).await;
    // The click stays a dead letter however often it arrives; repeats of the other clicks are harmless.
    let before = digests(&stack).await;
    streams.replay(&stack).await;
    only_dead_letter(&stack, &taken).await;
    assert_eq!(digests(&stack).await, before);
    stack.verify().await;
}

#[tokio::test]
async fn of_two_visitors_with_one_id_in_a_batch_the_first_is_recorded() {
    let (stack, program) = Stack::with_program().await;
    let streams = Streams::of(&stack).await;
    let click = first_click(&stack, &streams, &program.ada.code).await;
    let customer_id = click["customer_id"].as_i64().unwrap() + 1;
    let one = json!({ "customer_id": customer_id, "click_id": "cust_1_1798796400000" });
    let one = like(&stack, &click, &one);
    let other = like(&stack, &one, &json!({ "click_id": ANOTHERS }));
    publish(&stack, &streams, &[&one, &other, &one]).await;
    only_dead_letter(&stack, &other).await;
    let stored = "customers WHERE click_id = 'cust_1_1798796400000'";
    stack.reaches(stored, 1).await;
    stack.reaches("click_events", 2).await;
    stack.verify().await;
}

#[tokio::test]
async fn a_visitor_who_comes_back_with_anothers_id_does_not_change_their_journey() {
    let (stack, program) = Stack::with_program().await;
    let streams = Streams::of(&stack).await;
    let first = first_click(&stack, &streams, &program.ada.code).await;
    let link = program.bruno.link.get();
    let of_another = json!({ "new_customer": false, "click_id": ANOTHERS, "referral_link_id": link });
    let of_another = like(&stack, &first, &of_another);
    publish(&stack, &streams, &[&of_another]).await;
    only_dead_letter(&stack, &of_another).await;
    assert_eq!(stack.count("click_events").await, 1);
    let touched: Vec<i64> = stack.value("SELECT touched_link_ids FROM customers").await;
    assert_eq!(touched, [program.ada.link.get()]);
    stack.verify().await;
}

/// A visitor's row is dropped after a while, just after ingest has read it.
#[tokio::test]
async fn a_visitor_who_comes_back_after_their_row_is_gone_is_a_customer_again() {
    let (stack, program) = Stack::with_program().await;
    let streams = Streams::of(&stack).await;
    let first = first_click(&stack, &streams, &program.ada.code).await;
    for table in ["customers", "click_events"] {
        stack.execute(&format!("DELETE FROM {table}")).await;
    }
    let link = program.bruno.link.get();
    let clicked_at: DateTime<Utc> = serde_json::from_value(first["clicked_at"].clone()).unwrap();
    let later = clicked_at + TimeDelta::seconds(1);
    let later = json!({ "new_customer": false, "referral_link_id": link, "clicked_at": later });
    let later = like(&stack, &first, &later);
    let of_another = like(&stack, &later, &json!({ "click_id": ANOTHERS }));
    publish(&stack, &streams, &[&later, &of_another]).await;
    only_dead_letter(&stack, &of_another).await;
    // If the visitor's first click arrives only now, it belongs to the same customer.
    publish(&stack, &streams, &[&first]).await;
    let touched: Vec<i64> = stack.value("SELECT touched_link_ids FROM customers").await;
    assert_eq!(touched, [program.ada.link.get(), link]);
    assert_eq!(stack.count("click_events").await, 2);
}
