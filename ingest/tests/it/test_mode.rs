//! Test mode: events that are recorded, answered with their ids, and touch nothing real.

use clap::Parser;
use common::bus;
use common::bus::publish::Publisher;
use common::bus::topology::Topology;
use common::domain::ids::EventId;
use common::messages::subject::Subject;
use common::messages::test_event::{TestClick, TestEvent, TestEventRecord, TestLead, TestSale};
use common::runtime::clock::Clock;
use common::runtime::config::NatsConfig;
use common::runtime::lifecycle::Lifecycle;
use reqwest::StatusCode;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};

use crate::stack::{Answer, Program, Stack, noon};

/// Everything that counts, pays or attributes, as one text.
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

async fn test_click(stack: &Stack, code: &str, token: Option<&str>, additional_data: Value) -> Answer {
    let body = json!({
        "affiliate_url": format!("https://shop.example/?aff={code}"),
        "additional_data": additional_data,
    });
    stack.post("click", token, body).await
}

async fn test_lead(stack: &Stack, token: Option<&str>, additional_data: Value) -> Answer {
    let body = json!({ "additional_data": additional_data });
    stack.post("lead", token, body).await
}

async fn test_sale(stack: &Stack, program: &Program, mut body: Value) -> Answer {
    body["additional_data"] = json!({ "test_mode": true });
    stack.sale(program, body).await
}

fn assert_tracked(answer: &Answer, kind: &str, program: &Program, event_id: i64) {
    assert_eq!(answer.status, StatusCode::OK, "{answer:?}");
    let data = json!({ "eventId": event_id, "programId": program.program_id, "test_mode": true });
    let message = format!("Test {kind} event tracked successfully");
    assert_eq!(
        answer.body,
        json!({ "success": true, "message": message, "data": data })
    );
}

fn assert_refused(answer: &Answer, status: StatusCode, message: &str) {
    assert_eq!((answer.status, answer.message()), (status, message), "{answer:?}");
}

#[tokio::test]
async fn a_test_event_is_answered_with_its_row() {
    let stack = Stack::start().await;
    let program = stack.program().await;
    let token = Some(program.token.as_str());
    let data = json!({ "test_mode": true });
    let click = test_click(&stack, &program.ada.code, token, data.clone()).await;
    let id = stack
        .value("SELECT id FROM click_events WHERE is_test AND customer_id IS NULL")
        .await;
    assert_tracked(&click, "click", &program, id);
    let link: i64 = stack.value("SELECT referral_link_id FROM click_events").await;
    assert_eq!(link, program.ada.link.get());
    let lead = test_lead(&stack, token, data).await;
    let id = stack
        .value("SELECT id FROM lead_events WHERE is_test AND customer_id IS NULL")
        .await;
    assert_tracked(&lead, "lead", &program, id);
    let sale = test_sale(
        &stack,
        &program,
        json!({ "transaction_id": "t", "amount_cents": 250, "currency": "eur", "line_items": [{ "sku": 1 }] }),
    )
    .await;
    let id = stack
        .value(
            "SELECT id FROM sale_events WHERE is_test AND customer_id IS NULL AND processor_event_id = 't'
             AND amount_cents = 250 AND currency = 'EUR' AND line_items = '[{\"sku\": 1}]'",
        )
        .await;
    assert_tracked(&sale, "sale", &program, id);
    stack.verify().await;
    stack.stop().await;
}

#[tokio::test]
async fn a_test_event_moves_nothing() {
    let stack = Stack::start().await;
    let program = stack.program().await;
    let click_id = stack.customer(&program, &program.ada.code, "user").await;
    let sale = json!({ "transaction_id": "t", "amount_cents": 5_000, "customer_key": "user",
                       "subscription_id": "s", "is_recurring": true });
    assert_eq!(stack.sale(&program, sale.clone()).await.status, StatusCode::OK);
    stack.verify().await;
    let before: String = stack.value(BOOKS).await;
    let data = json!({ "test_mode": true });
    let token = Some(program.token.as_str());
    // Through the other partner's link, by the customer's own click_id: for real, that would move attribution.
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
    ];
    for answer in answers {
        assert_eq!(answer.body["data"]["test_mode"], true, "{answer:?}");
    }
    assert_eq!(stack.value::<i64>(TEST_ROWS).await, 4);
    assert_eq!(stack.value::<String>(BOOKS).await, before);
    stack.verify().await;
    stack.stop().await;
}

#[tokio::test]
async fn a_test_transaction_id_collides_with_nothing_in_either_order() {
    let stack = Stack::start().await;
    let program = stack.program().await;
    stack.customer(&program, &program.ada.code, "user").await;
    let sale = json!({ "transaction_id": "t", "amount_cents": 100, "customer_key": "user" });
    for _ in 0..2 {
        let test = test_sale(&stack, &program, sale.clone()).await;
        assert_eq!(test.status, StatusCode::OK, "{test:?}");
    }
    let refund = stack.refund(&program, json!({ "transaction_id": "t" })).await;
    assert_refused(
        &refund,
        StatusCode::NOT_FOUND,
        "Sale not found for transaction_id",
    );
    let real = stack.sale(&program, sale.clone()).await;
    assert!(real.body["commission_id"].is_i64(), "{real:?}");
    assert_eq!(
        test_sale(&stack, &program, sale.clone()).await.status,
        StatusCode::OK
    );
    assert_eq!(stack.sale(&program, sale).await.status, StatusCode::CONFLICT);
    assert_eq!(stack.balance(program.ada.membership).await, 20);
    stack.verify().await;
    stack.stop().await;
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
    stack.stop().await;
}

#[tokio::test]
async fn a_test_sale_may_leave_out_transaction_id_and_amount() {
    let clock = Clock::manual(noon());
    let stack = Stack::start_with(clock).await;
    let program = stack.program().await;
    assert_eq!(
        test_sale(&stack, &program, json!({})).await.status,
        StatusCode::OK
    );
    let stored: String = stack
        .value("SELECT processor_event_id || ' ' || amount_cents FROM sale_events")
        .await;
    assert_eq!(stored, format!("test_txn_{} 0", noon().timestamp_millis()));
    for amount in [json!(0), json!(-5), json!(1.5), json!("100")] {
        let answer = test_sale(&stack, &program, json!({ "amount_cents": amount })).await;
        let message = "amount_cents is required and must be a positive integer";
        assert_refused(&answer, StatusCode::BAD_REQUEST, message);
    }
    let answer = test_sale(&stack, &program, json!({ "transaction_id": 7 })).await;
    let message = "transaction_id is required and must be a string";
    assert_refused(&answer, StatusCode::BAD_REQUEST, message);
    stack.stop().await;
}

#[derive(Parser)]
struct BusSettings {
    #[command(flatten)]
    nats: NatsConfig,
}

#[tokio::test]
async fn a_test_event_delivered_three_times_is_stored_once() {
    let stack = Stack::start().await;
    let program = stack.program().await;
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
    // Twice in one message, and a second message.
    let twice: Vec<Box<RawValue>> = records.iter().chain(&records).cloned().collect();
    publisher.publish_packed(&twice, None).await.unwrap();
    publisher.publish_packed(&records, None).await.unwrap();
    // The stream is worked on in order: what came before this one is done when it is answered.
    let last = test_lead(&stack, Some(&program.token), json!({ "test_mode": true })).await;
    assert_eq!(last.status, StatusCode::OK);
    assert_eq!(stack.value::<i64>(TEST_ROWS).await, 3 + 1);
    let claims: i64 = stack.value("SELECT count(*) FROM transaction_claims").await;
    assert_eq!(claims, 0);
    stack.verify().await;
    stack.stop().await;
}

#[tokio::test]
async fn the_program_is_the_keys_else_the_one_named_else_the_links() {
    let stack = Stack::start().await;
    let program = stack.program().await;
    let other = stack.program().await;
    let named = |id: Value| json!({ "test_mode": true, "program_id": id });
    let id = program.program_id.get();
    for data in [named(json!(id)), named(json!(id.to_string()))] {
        for token in [
            None,
            Some(program.token.as_str()),
            Some("aff_of_nobody"),
            Some(""),
        ] {
            for answer in [
                test_lead(&stack, token, data.clone()).await,
                test_click(&stack, "unknown-link", token, data.clone()).await,
                // Another program's link: the program that was named is the one that is tested.
                test_click(&stack, &other.ada.code, token, data.clone()).await,
            ] {
                assert_eq!(answer.body["data"]["programId"], id, "{token:?} {answer:?}");
            }
        }
    }
    let foreign_links: i64 = stack
        .value("SELECT count(*) FROM click_events WHERE referral_link_id IS NOT NULL")
        .await;
    assert_eq!(foreign_links, 0);
    let by_link = test_click(&stack, &other.ada.code, None, json!({ "test_mode": true })).await;
    assert_eq!(by_link.body["data"]["programId"], other.program_id.get());
    let by_key = test_lead(&stack, Some(&other.token), json!({ "test_mode": true })).await;
    assert_eq!(by_key.body["data"]["programId"], other.program_id.get());
    stack.stop().await;
}

#[tokio::test]
async fn a_program_nobody_knows_is_refused() {
    let stack = Stack::start().await;
    let program = stack.program().await;
    let message = "additional_data.program_id must name a program";
    for id in [
        json!(null),
        json!(987_654_321),
        json!(-1),
        json!("seven"),
        json!([1]),
    ] {
        let data = json!({ "test_mode": true, "program_id": id });
        let lead = test_lead(&stack, None, data.clone()).await;
        assert_refused(&lead, StatusCode::BAD_REQUEST, message);
        let click = test_click(&stack, "unknown-link", None, data).await;
        assert_refused(&click, StatusCode::BAD_REQUEST, message);
    }
    // Of an ingest that has not heard of it yet, a new program is known all the same.
    let data = json!({ "test_mode": true, "program_id": program.program_id });
    assert_eq!(test_lead(&stack, None, data).await.status, StatusCode::OK);
    stack.stop().await;
}

#[tokio::test]
async fn a_key_and_another_programs_id_are_403_on_click_and_lead_only() {
    let stack = Stack::start().await;
    let program = stack.program().await;
    let other = stack.program().await;
    let token = Some(program.token.as_str());
    let data = json!({ "test_mode": true, "program_id": other.program_id });
    for answer in [
        test_click(&stack, &program.ada.code, token, data.clone()).await,
        test_lead(&stack, token, data.clone()).await,
    ] {
        let message = "program_id does not match the API key";
        let error = json!({ "status": 403, "name": "ForbiddenError", "message": message, "details": {} });
        assert_eq!(answer.status, StatusCode::FORBIDDEN);
        assert_eq!(answer.body, json!({ "data": null, "error": error }));
    }
    let sale = stack.sale(&program, json!({ "additional_data": data })).await;
    assert_eq!(sale.body["data"]["programId"], program.program_id.get());
    // Outside test mode the field means nothing.
    let click = json!({ "additional_data": { "program_id": other.program_id } });
    assert_eq!(
        stack.click_with(&program.ada.code, click).await.status,
        StatusCode::OK
    );
    stack.stop().await;
}

#[tokio::test]
async fn a_test_sale_still_needs_a_key_and_a_lead_in_earnest_a_good_one() {
    let stack = Stack::start().await;
    let program = stack.program().await;
    let data = json!({ "test_mode": true, "program_id": program.program_id });
    let body = json!({ "additional_data": data });
    let sale = stack.post("sale", None, body.clone()).await;
    assert_eq!(sale.status, StatusCode::UNAUTHORIZED);
    let sale = stack.post("sale", Some("aff_of_nobody"), body).await;
    assert_refused(&sale, StatusCode::UNAUTHORIZED, "Invalid API token");
    // The credential comes before the body, however broken that is.
    for body in ["{", r#"{"additional_data": {"test_mode": false}}"#] {
        let lead = stack.post_raw("lead", Some("aff_of_nobody"), body).await;
        assert_refused(&lead, StatusCode::UNAUTHORIZED, "Invalid API token");
    }
    assert_eq!(stack.value::<i64>(TEST_ROWS).await, 0);
    stack.stop().await;
}

#[tokio::test]
async fn a_test_click_is_refused_for_the_reasons_of_a_real_one() {
    let stack = Stack::start().await;
    let program = stack.program().await;
    let data = json!({ "test_mode": true, "program_id": program.program_id });
    for (url, message) in [
        (json!(null), "affiliate_url is required"),
        (json!("/landing?aff=x"), "Invalid affiliate_url"),
        (
            json!("https://shop.example/"),
            "No aff parameter found in affiliate_url",
        ),
    ] {
        let body = json!({ "affiliate_url": url, "additional_data": data });
        let answer = stack.post("click", None, body).await;
        assert_refused(&answer, StatusCode::BAD_REQUEST, message);
    }
    sqlx::query("UPDATE referral_links SET status = 'inactive' WHERE id = $1")
        .bind(program.ada.link.get())
        .execute(stack.pool())
        .await
        .unwrap();
    stack
        .eventually("the link is known to be inactive", async || {
            let answer = test_click(&stack, &program.ada.code, None, data.clone()).await;
            answer.status == StatusCode::GONE && answer.body["error"]["code"] == "link_disabled"
        })
        .await;
    stack.stop().await;
}

#[tokio::test]
async fn additional_data_is_an_object_and_test_mode_a_boolean() {
    let stack = Stack::start().await;
    let program = stack.program().await;
    let url = format!("https://shop.example/?aff={}", program.ada.code);
    for (data, message) in [
        (json!([true]), "additional_data must be an object"),
        (json!("test_mode"), "additional_data must be an object"),
        (json!(true), "additional_data must be an object"),
        (
            json!({ "test_mode": "true" }),
            "additional_data.test_mode must be a boolean",
        ),
        (
            json!({ "test_mode": 1 }),
            "additional_data.test_mode must be a boolean",
        ),
    ] {
        let body = json!({ "affiliate_url": url, "additional_data": data });
        for (route, token) in [("click", None), ("lead", None), ("sale", Some(&program.token))] {
            let answer = stack.post(route, token.map(String::as_str), body.clone()).await;
            assert_refused(&answer, StatusCode::BAD_REQUEST, message);
        }
    }
    let click = stack
        .click_with(&program.ada.code, json!({ "additional_data": null }))
        .await;
    assert!(click.body["click_id"].is_string(), "{click:?}");
    assert_eq!(stack.value::<i64>(TEST_ROWS).await, 0);
    stack.stop().await;
}
