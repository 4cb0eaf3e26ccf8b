//! Leads that are settled later than sales sent after them, as after an outage of the workers.

use chrono::TimeDelta;
use messages::envelope;
use messages::subject::Subject;
use serde_json::json;
use serde_json::value::to_raw_value;
use test_harness::{PATIENT, Stack, Streams, answering_within, noon, sale_of};

#[tokio::test]
async fn a_lead_that_a_sale_overtook_is_still_the_customers() {
    let stack = Stack::at_noon().await;
    let program = stack.program().await;
    let streams = Streams::of(&stack).await;
    let click_id = stack.click(&program.ada.code).await;
    let led_at = noon() + TimeDelta::minutes(1);
    stack.clock.set(noon() + TimeDelta::minutes(2));
    let sale = json!({ "transaction_id": "t1", "amount_cents": 5_000, "click_id": click_id });
    stack.sold(&program, sale).await;

    let lead = json!({
        "event_id": stack.clock.mint(), "led_at": led_at,
        "lead": {
            "mode": { "server": { "program_id": program.program_id } },
            "click_id": click_id, "customer_key": "user-1", "email_hash": format!("v1:{}", "0".repeat(64)),
        },
    });
    let packed = envelope::encode(None, &[to_raw_value(&lead).unwrap()]);
    streams.publish(Subject::Leads, packed).await;
    streams.drained(&stack).await;
    let known = "customers WHERE status = 'conversion' AND customer_key = 'user-1' AND email_hash IS NOT NULL
                 AND signup_date < first_purchase_date";
    assert_eq!(stack.count(known).await, 1);
    assert_eq!(stack.count("lead_events").await, 1);
    stack.sold(&program, sale_of("t2", "user-1")).await;
    stack.verify().await;

    // A lead that is sent after the sale is refused, as the contract says.
    stack.lead(&program, &click_id, "user-1").await.is(400);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sale_waits_for_the_lead_that_binds_its_key() {
    let (mut stack, edge) = answering_within(PATIENT).await;
    let (program, other) = (stack.program().await, stack.program().await);
    let streams = Streams::of(&stack).await;
    stack.customer(&other, &other.ada.code, "known").await;
    let click_id = stack.click(&program.ada.code).await;
    stack.reaches("customers", 2).await;
    stack.stop_workers().await;
    let leads = streams.messages(Subject::Leads).await.len();
    let id = program.program_id;
    let lock = format!("SELECT id FROM customers WHERE program_id = {id} FOR UPDATE");
    let holding = stack.holding(&lock).await;
    let lead = json!({ "click_id": click_id, "customer_key": "user-1" });
    let lead = edge.in_background(&program, "lead", lead);
    let published = async |subject, count| {
        stack
            .eventually("it is published", async || {
                streams.messages(subject).await.len() == count
            })
            .await;
    };
    published(Subject::Leads, leads + 1).await;
    let sale = edge.in_background(&program, "sale", sale_of("t1", "user-1"));
    published(Subject::Sales, 1).await;
    stack.start_worker();
    // This sale comes after the waiting one in the stream, and is settled before the lead.
    edge.sale(&other, &sale_of("t2", "known")).await.ok();
    assert!(!sale.is_finished() && !lead.is_finished());
    holding.rollback().await.unwrap();
    lead.await.unwrap().ok();
    sale.await.unwrap().ok();
    stack.verify().await;
}
