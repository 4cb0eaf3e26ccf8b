//! Outbound events: one row each, written in the transaction of their cause, and only if the program wants
//! that type.

use chrono::TimeDelta;
use domain::programs::outbound_event::OutboundEventType;
use reqwest::StatusCode;
use serde_json::json;
use test_harness::outbound_events::{outbound_bodies, outbound_types, want, want_all};
use test_harness::{Json, Program, Stack, Streams, leads, noon, rows, sale_of, sell};

/// A lead, two sales, and refunds of both.
async fn traffic(stack: &Stack, program: &Program) -> String {
    let click_id = stack.customer(program, &program.ada.code, "user-1").await;
    stack.sold(program, sale_of("t1", "user-1")).await;
    let renewal = json!({ "is_recurring": true, "subscription_id": "sub" });
    stack.sold(program, sale_of("t2", "user-1").with(renewal)).await;
    let partly = json!({ "transaction_id": "t1", "refund_amount_cents": 1_000, "refund_reason": "returned" });
    stack.refunded(program, partly).await;
    stack.refunded(program, json!({ "transaction_id": "t1" })).await;
    // A second refund of a refunded sale causes no event.
    stack.refund(program, json!({ "transaction_id": "t1" })).await;
    click_id
}

const TRAFFIC: [&str; 9] = [
    "lead.created",
    "sale.recorded",
    "commission.created",
    "sale.recorded",
    "commission.created",
    "sale.refunded",
    "commission.reversed",
    "sale.refunded",
    "commission.reversed",
];

#[tokio::test]
async fn each_step_tells_what_it_did_in_the_order_in_which_it_happened() {
    let (stack, program) = Stack::with_program().await;
    want_all(&stack, &program).await;
    let click_id = traffic(&stack, &program).await;
    let bodies = outbound_bodies(&stack, &program).await;
    assert_eq!(json!(bodies).column("type"), json!(TRAFFIC));
    let sale = rows::sale(&stack, "t1").await;
    let commission = rows::commission(&stack, "t1").await;
    let common = json!({
        "program_id": program.program_id, "customer_key": "user-1", "click_id": click_id,
        "partner_id": program.ada.partner_id, "referral_link_code": program.ada.code,
    });
    for body in &bodies[..5] {
        body["data"].has(common.clone());
    }
    assert_eq!(bodies[0]["data"]["provisional"], false);
    let recorded = &bodies[1]["data"];
    recorded.has(json!({
        "sale_id": sale["id"], "amount_cents": 5_000, "currency": "USD",
        "commission_ids": [commission["id"]],
    }));
    let created = &bodies[2]["data"];
    created.has(json!({ "amount_cents": 1_000, "status": "pending" }));
    assert_eq!(created["commission_id"], commission["id"]);
    assert_eq!(bodies[3]["data"]["subscription_id"], "sub");
    let (partly, rest) = (&bodies[5]["data"], &bodies[7]["data"]);
    partly.has(json!({ "refunded_cents": 1_000, "total_refunded_cents": 1_000 }));
    rest.has(json!({ "refunded_cents": 4_000, "total_refunded_cents": 5_000 }));
    assert_eq!(partly["refund_reason"], "returned");
    let (partly, rest) = (&bodies[6]["data"], &bodies[8]["data"]);
    partly.has(json!({
        "reversed_cents": 200, "deducted_cents": 200, "status": "refunded", "reason": "returned",
    }));
    rest.has(json!({ "reversed_cents": 800, "deducted_cents": 1_000, "status": "reversed" }));
    let customers = "SELECT count(DISTINCT customer_id) FROM outbound_events WHERE customer_id IS NOT NULL";
    assert_eq!(stack.value::<i64>(customers).await, 1);
    assert_eq!(stack.count("outbound_events WHERE customer_id IS NULL").await, 0);
    stack.verify().await;
}

#[tokio::test]
async fn a_program_of_which_nobody_wants_events_writes_none() {
    let (stack, program) = Stack::with_program().await;
    traffic(&stack, &program).await;
    assert_eq!(stack.count("outbound_events").await, 0);
    let other = stack.program().await;
    want(&stack, &other, &[OutboundEventType::SaleRefunded]).await;
    stack.customer(&other, &other.ada.code, "user-1").await;
    stack.sold(&other, sale_of("t3", "user-1")).await;
    stack.refunded(&other, json!({ "transaction_id": "t3" })).await;
    assert_eq!(outbound_types(&stack, &other).await, ["sale.refunded"]);
    assert_eq!(stack.count("outbound_events").await, 1);
}

#[tokio::test]
async fn a_second_delivery_tells_nothing() {
    let (stack, program) = Stack::with_program().await;
    let streams = Streams::of(&stack).await;
    want_all(&stack, &program).await;
    traffic(&stack, &program).await;
    streams.drained(&stack).await;
    let before = outbound_bodies(&stack, &program).await;
    assert_eq!(before.len(), TRAFFIC.len());
    streams.replay(&stack).await;
    assert_eq!(outbound_bodies(&stack, &program).await, before);
}

#[tokio::test]
async fn a_transaction_that_does_not_commit_tells_nothing() {
    let (stack, program) = Stack::with_customer().await;
    want_all(&stack, &program).await;
    // The constraint trigger fails at the commit, after all rows were written.
    let statement = "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
             BEGIN
                 IF NEW.processor_event_id = 'bad' THEN RAISE check_violation; END IF;
                 RETURN NULL;
             END $$;
             CREATE CONSTRAINT TRIGGER refused AFTER INSERT ON sale_events DEFERRABLE INITIALLY DEFERRED
             FOR EACH ROW EXECUTE FUNCTION refuse()";
    stack.execute(statement).await;
    let sales = ["good-1", "bad", "good-2"].map(|id| stack.sale(&program, sale_of(id, "user-1")));
    let [first, bad, second] = sales;
    let (first, bad, second) = tokio::join!(first, bad, second);
    assert_eq!((first.status, second.status), (StatusCode::OK, StatusCode::OK));
    assert_ne!(bad.status, StatusCode::OK);
    stack.reaches("dead_letters", 1).await;
    let mut sold: Vec<String> = outbound_bodies(&stack, &program)
        .await
        .iter()
        .map(|body| format!("{} {}", body["type"], body["data"]["transaction_id"]).replace('"', ""))
        .collect();
    sold.sort();
    assert_eq!(
        sold,
        [
            "commission.created good-1",
            "commission.created good-2",
            "sale.recorded good-1",
            "sale.recorded good-2",
        ]
    );
}

#[tokio::test]
async fn events_of_browser_leads_are_provisional() {
    let (stack, program) = Stack::with_program().await;
    rows::set(&stack, &program, "lead_auth = 'server_required'").await;
    want_all(&stack, &program).await;
    let click_id = stack.click(&program.ada.code).await;
    leads::browser(&stack, json!({ "click_id": click_id, "customer_key": "user-1" })).await;
    stack.signed_up(&program, &click_id, "user-1").await;
    let bodies = outbound_bodies(&stack, &program).await;
    assert_eq!(
        json!(bodies).column("type"),
        json!(["lead.created", "lead.created"])
    );
    let provisional = json!(bodies)
        .column("data")
        .columns(["provisional", "customer_key"]);
    assert_eq!(provisional, json!([[true, "user-1"], [false, "user-1"]]));
}

#[tokio::test]
async fn the_end_of_a_hold_period_makes_events_of_approval() {
    let mut stack = Stack::at_noon().await;
    let (program, silent) = (stack.program().await, stack.program().await);
    for program in [&program, &silent] {
        rows::set(&stack, program, "hold_days = 5").await;
        stack.customer(program, &program.ada.code, "user-1").await;
    }
    want(&stack, &program, &[OutboundEventType::CommissionApproved]).await;
    sell(&stack, &program, "t1", 5_000, json!({})).await;
    sell(&stack, &silent, "t2", 5_000, json!({})).await;
    stack.clock.advance(TimeDelta::days(5));
    stack.start_worker();
    stack.reaches("commissions WHERE status = 'approved'", 2).await;
    let bodies = outbound_bodies(&stack, &program).await;
    assert_eq!(bodies.len(), 1, "{bodies:?}");
    bodies[0].has(json!({ "type": "commission.approved", "timestamp": "2026-03-06T12:00:00.000Z" }));
    bodies[0]["data"].has(json!({ "transaction_id": "t1", "status": "approved" }));
    assert_eq!(stack.count("outbound_events").await, 1);
}

#[tokio::test]
async fn a_sale_that_is_credited_again_tells_of_both_commissions() {
    let stack = Stack::at_noon().await;
    let program = stack.program().await;
    let click_id = stack.customer(&program, &program.ada.code, "user-1").await;
    stack.clock.advance(TimeDelta::hours(2));
    sell(&stack, &program, "t1", 5_000, json!({})).await;
    want_all(&stack, &program).await;
    // A click before the sale.
    stack.clock.set(noon() + TimeDelta::hours(1));
    stack.returns(&program.bruno, &click_id, 1).await;
    let bodies = outbound_bodies(&stack, &program).await;
    let types = json!(["commission.reversed", "commission.created"]);
    assert_eq!(json!(bodies).column("type"), types);
    let (reversed, created) = (&bodies[0], &bodies[1]);
    assert_eq!(reversed["data"]["partner_id"], program.ada.partner_id.get());
    reversed["data"].has(json!({ "reversed_cents": 1_000, "status": "reversed" }));
    created["data"].has(json!({
        "partner_id": program.bruno.partner_id.get(), "referral_link_code": program.bruno.code.as_str(),
    }));
    stack.verify().await;
}
