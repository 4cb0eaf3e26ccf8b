//! Test mode: events that are recorded and answered with their ids, but affect no real data.

use bus::publish::Publisher;
use bus::topology::Topology;
use clap::Parser;
use domain::ids::EventId;
use messages::subject::Subject;
use messages::test_event::{TestClick, TestEvent, TestEventRecord, TestLead, TestSale};
use reqwest::StatusCode;
use runtime::config::NatsConfig;
use runtime::lifecycle::Lifecycle;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};
use test_harness::{Answer, Program, Stack};

/// All counts, payments and attributions, as one text.
const BOOKS: &str = "SELECT jsonb_build_object(
    'links', (SELECT jsonb_agg(r ORDER BY r.id) FROM referral_links r),
    'memberships', (SELECT jsonb_agg(r ORDER BY r.id) FROM partner_programs r),
    'customers', (SELECT jsonb_agg(r ORDER BY r.id) FROM customers r),
    'clicks', (SELECT jsonb_agg(r ORDER BY r.id) FROM click_events r WHERE NOT is_test),
    'leads', (SELECT jsonb_agg(r ORDER BY r.id) FROM lead_events r WHERE NOT is_test),
    'sales', (SELECT jsonb_agg(r ORDER BY r.id) FROM sale_events r WHERE NOT is_test),
    'claims', (SELECT jsonb_agg(r ORDER BY r.transaction_id) FROM transaction_claims r),
    'commissions', (SELECT jsonb_agg(r ORDER BY r.id) FROM commissions r),
    'subscriptions', (SELECT jsonb_agg(r ORDER BY r.subscription_id) FROM subscriptions r),
    'refunds', (SELECT jsonb_agg(r ORDER BY r.id) FROM refunds r),
    'ledger', (SELECT jsonb_agg(r ORDER BY r.id) FROM ledger_entries r),
    'balances', (SELECT jsonb_agg(r ORDER BY r.partner_program_id) FROM partner_program_balances r),
    'partner_balances', (SELECT jsonb_agg(r ORDER BY r.partner_id) FROM partner_balances r),
    'notifications', (SELECT count(*) FROM notifications) + (SELECT count(*) FROM outbox),
    'dead_letters', (SELECT count(*) FROM dead_letters)
)::text";

const TEST_ROWS: &str = "SELECT (SELECT count(*) FROM click_events WHERE is_test)
    + (SELECT count(*) FROM lead_events WHERE is_test)
    + (SELECT count(*) FROM sale_events WHERE is_test)";

async fn test_lead(stack: &Stack, token: Option<&str>, additional_data: Value) -> Answer {
    let body = json!({ "additional_data": additional_data });
    stack.post("lead", token, body).await
}

async fn test_sale(stack: &Stack, program: &Program, mut body: Value) -> Answer {
    body["additional_data"] = json!({ "test_mode": true });
    stack.sale(program, body).await
}

#[tokio::test]
async fn a_test_event_moves_nothing() {
    let (stack, program) = Stack::with_program().await;
    let click_id = stack.customer(&program, &program.ada.code, "user").await;
    let sale = json!({ "transaction_id": "t", "amount_cents": 5_000, "customer_key": "user",
                       "subscription_id": "s", "is_recurring": true });
    assert_eq!(stack.sale(&program, sale.clone()).await.status, StatusCode::OK);
    stack.verify().await;
    let before: String = stack.value(BOOKS).await;
    let data = json!({ "test_mode": true });
    let token = Some(program.token.as_str());
    // Through the other partner's link, with the customer's own click_id: a real click would change the
    // attribution.
    let click = json!({ "existing_click_id": click_id, "additional_data": data });
    let answers = [
        stack.click_with(&program.bruno.code, click).await,
        stack
            .post(
                "lead",
                token,
                json!({ "click_id": click_id, "customer_key": "other", "additional_data": data }),
            )
            .await,
        test_sale(&stack, &program, sale).await,
        test_sale(&stack, &program, json!({ "customer_key": "user" })).await,
        stack
            .refund(
                &program,
                json!({ "transaction_id": "t", "additional_data": data }),
            )
            .await,
    ];
    for answer in answers {
        assert_eq!(answer.body["data"]["test_mode"], true, "{answer:?}");
    }
    assert_eq!(stack.value::<i64>(TEST_ROWS).await, 4);
    assert_eq!(stack.value::<String>(BOOKS).await, before);
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

#[derive(Parser)]
struct BusSettings {
    #[command(flatten)]
    nats: NatsConfig,
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
    let setting = |name: &str| {
        let found = stack.settings.iter().find(|(setting, _)| *setting == name);
        found.unwrap().1.clone()
    };
    let flags = [
        "test".to_owned(),
        format!("--nats-url={}", setting("NATS_URL")),
        format!("--stream-prefix={}", setting("STREAM_PREFIX")),
    ];
    let settings = BusSettings::parse_from(flags);
    let nats = bus::connect::connect(&settings.nats, "test").await.unwrap();
    let (lifecycle, topology) = (Lifecycle::new(), Topology::from(&settings.nats));
    let publisher = Publisher::spawn(
        lifecycle.tasks(),
        nats.jetstream,
        &topology,
        Subject::TestEvents,
        None,
    );
    // Twice in one message, and again in a second message.
    let twice: Vec<Box<RawValue>> = records.iter().chain(&records).cloned().collect();
    publisher.publish_packed(&twice, None).await.unwrap();
    publisher.publish_packed(&records, None).await.unwrap();
    // The stream is processed in order: when this record is answered, all earlier ones are done.
    let last = test_lead(&stack, Some(&program.token), json!({ "test_mode": true })).await;
    assert_eq!(last.status, StatusCode::OK);
    assert_eq!(stack.value::<i64>(TEST_ROWS).await, 3 + 1);
    let claims = stack.count("transaction_claims").await;
    assert_eq!(claims, 0);
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
    let by_key = test_lead(&stack, Some(&program.token), named(program.program_id.get())).await;
    assert_eq!(by_key.status, StatusCode::OK, "{by_key:?}");
    let of_other = test_lead(&stack, None, named(other.program_id.get())).await;
    assert_eq!(of_other.status, StatusCode::OK, "{of_other:?}");
}
