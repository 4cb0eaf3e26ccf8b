//! Test mode: events that are recorded and answered with their ids, but affect no real data.

use domain::ids::EventId;
use messages::envelope;
use messages::subject::Subject;
use messages::test_event::{TestClick, TestEvent, TestEventRecord, TestLead, TestSale};
use reqwest::StatusCode;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};
use test_harness::{Answer, Json, Stack, Streams, test_mode};

use super::books;

const TEST_ROWS: &str = "SELECT (SELECT count(*) FROM click_events WHERE is_test)
    + (SELECT count(*) FROM lead_events WHERE is_test)
    + (SELECT count(*) FROM sale_events WHERE is_test)";

async fn test_lead(stack: &Stack, token: Option<&str>, additional_data: Value) -> Answer {
    let body = json!({ "additional_data": additional_data });
    stack.post("lead", token, body).await
}

#[tokio::test]
async fn a_test_event_moves_nothing() {
    let (stack, program) = Stack::with_program().await;
    let click_id = stack.customer(&program, &program.ada.code, "user").await;
    let sale = json!({ "transaction_id": "t", "amount_cents": 5_000, "customer_key": "user",
                       "subscription_id": "s", "is_recurring": true });
    stack.sold(&program, sale.clone()).await;
    stack.verify().await;
    let before = books(&stack).await;
    let lead = json!({ "click_id": click_id, "customer_key": "other" }).with(test_mode());
    let refund = json!({ "transaction_id": "t" }).with(test_mode());
    // Through the other partner's link, with the customer's own click_id: a real click would change the
    // attribution.
    let click = json!({ "existing_click_id": click_id }).with(test_mode());
    let answers = [
        stack.click_with(&program.bruno.code, click).await,
        stack.post("lead", Some(&program.token), lead).await,
        stack.sale(&program, sale.with(test_mode())).await,
        stack
            .sale(&program, json!({ "customer_key": "user" }).with(test_mode()))
            .await,
        stack.refund(&program, refund).await,
    ];
    for answer in answers {
        assert_eq!(answer.data()["test_mode"], true, "{answer:?}");
    }
    assert_eq!(stack.value::<i64>(TEST_ROWS).await, 4);
    assert_eq!(books(&stack).await, before);
    stack.verify().await;
}

#[tokio::test]
async fn the_database_itself_keeps_real_sales_apart_and_whole() {
    let stack = Stack::start().await;
    let insert = async |customer: &str, amount: i64, is_test: bool| {
        sqlx::query(
            "INSERT INTO sale_events (event_id, program_id, customer_id, processor_event_id, amount_cents, currency,
                 sale_type, is_recurring, sale_date, is_test)
             VALUES (gen_random_uuid(), 1, $1::bigint, 't', $2, 'USD', 'payment', false, now(), $3)",
        )
        .bind(customer.parse::<i64>().ok())
        .bind(amount)
        .bind(is_test)
        .execute(stack.pool())
        .await
        .is_ok()
    };
    assert!(insert("", 0, true).await && insert("", 0, true).await);
    assert!(insert("1", 100, false).await);
    assert!(insert("", 0, true).await);
    assert!(!insert("1", 100, false).await, "one real sale a transaction_id");
    assert!(!insert("", 100, false).await, "a real sale has a customer");
    assert!(!insert("1", 0, false).await, "a real sale has an amount");
    assert!(!insert("", -1, true).await, "no amount is negative");
}

#[tokio::test]
async fn a_test_event_delivered_three_times_is_stored_once() {
    let (stack, program) = Stack::with_program().await;
    let sale: TestSale = serde_json::from_value(json!({
        "transaction_id": "t", "currency": "USD", "sale_type": "payment", "is_recurring": false,
    }))
    .unwrap();
    let records: Vec<Box<RawValue>> = [
        TestEvent::Click(TestClick::default()),
        TestEvent::Lead(TestLead::default()),
        TestEvent::Sale(Box::new(sale)),
    ]
    .into_iter()
    .map(|event| TestEventRecord {
        event_id: EventId::new(stack.clock.mint()),
        happened_at: stack.clock.now(),
        program_id: program.program_id,
        event,
    })
    .map(|record| to_raw_value(&record).unwrap())
    .collect();
    // Twice in one message, and again in a second message.
    let twice: Vec<Box<RawValue>> = records.iter().chain(&records).cloned().collect();
    let streams = Streams::of(&stack).await;
    for records in [twice, records] {
        let packed = envelope::encode(None, &records);
        streams.publish(Subject::TestEvents, packed).await;
    }
    // The stream is processed in order: when this record is answered, all earlier ones are done.
    test_lead(&stack, Some(&program.token), json!({ "test_mode": true }))
        .await
        .ok();
    assert_eq!(stack.value::<i64>(TEST_ROWS).await, 3 + 1);
    assert_eq!(stack.count("transaction_claims").await, 0);
    stack.verify().await;
}

#[tokio::test]
async fn test_events_without_a_key_are_limited_by_program() {
    let stack = Stack::start_set(&[("KEYLESS_TEST_LIMIT", "2")]).await;
    let (program, other) = (stack.program().await, stack.program().await);
    let named = |program: i64| json!({ "test_mode": true, "program_id": program });
    // A missing program is counted like an existing one; the minute may end in between, once.
    for id in [program.program_id.get(), 987_654_321] {
        let mut answers = Vec::new();
        while answers.last() != Some(&StatusCode::TOO_MANY_REQUESTS) {
            answers.push(test_lead(&stack, None, named(id)).await.status);
            assert!(answers.len() <= 6, "never refused: {answers:?}");
        }
        assert!(answers.len() >= 3, "{answers:?}");
    }
    let own = named(program.program_id.get());
    test_lead(&stack, Some(&program.token), own).await.ok();
    test_lead(&stack, None, named(other.program_id.get())).await.ok();
}
