//! A processor's payment becomes a sale like any other.

use chrono::TimeDelta;
use reqwest::StatusCode;
use runtime::clock::Clock;
use serde_json::{Value, json};

use super::shop::SESSIONS_HAVE_COME;
use test_harness::{
    Stack,
    hooks::{Hooks, accepted, connected, event, inbox, settled},
    leads::browser,
    noon,
    rows::{commission, sale},
    two_clicks,
};

#[tokio::test]
async fn a_session_paid_is_a_sale_of_the_moment_it_was_paid() {
    let clock = Clock::manual(noon());
    let mut stack = Stack::start_with(clock.clone()).await;
    let hooks = Hooks::start(&mut stack).await;
    let program = connected(&stack).await;
    stack.customer(&program, &program.ada.code, "user-1").await;
    let event = event(
        &stack,
        "checkout.session.completed.with_invoice.acacia",
        &program,
        "user-1",
    );
    clock.advance(TimeDelta::hours(3));
    accepted(&hooks.deliver(&stack, &program, &event).await);
    settled(&stack, &["done"]).await;
    let sale = sale(&stack, "in_1OneOff").await;
    assert_eq!(
        (&sale["amount_cents"], &sale["currency"], &sale["sale_type"]),
        (&json!(4900), &json!("EUR"), &json!("payment"))
    );
    assert_eq!(sale["sale_date"], "2026-03-01T12:00:00+00:00");
    assert_eq!(commission(&stack, "in_1OneOff").await["amount_cents"], 980);
    stack.verify().await;
}

#[tokio::test]
async fn a_payment_takes_a_key_back_that_only_a_browser_bound() {
    let (stack, hooks, program) = Hooks::with_program().await;
    let (theirs, own) = two_clicks(&stack, &program).await;
    browser(&stack, json!({ "click_id": theirs, "customer_key": "1001" })).await;
    let name = "checkout.session.completed.with_invoice.acacia";
    let mut event = event(&stack, name, &program, "1001");
    event["data"]["object"]["metadata"]["tracker_click_id"] = json!(own);
    accepted(&hooks.deliver(&stack, &program, &event).await);
    settled(&stack, &["done"]).await;
    let commission = commission(&stack, "in_1OneOff").await;
    assert_eq!(commission["referral_link_id"], program.bruno.link.get());
    assert!(commission["signals"].to_string().contains("contested_key"));
    stack.verify().await;
}

#[tokio::test]
async fn a_payment_takes_a_key_back_by_the_click_in_its_reference() {
    let (stack, hooks, program) = Hooks::with_program().await;
    let (theirs, own) = two_clicks(&stack, &program).await;
    browser(&stack, json!({ "click_id": theirs, "customer_key": "1001" })).await;
    let name = "checkout.session.completed.with_invoice.acacia";
    let mut event = event(&stack, name, &program, "1001");
    event["data"]["object"]["client_reference_id"] = json!(own);
    accepted(&hooks.deliver(&stack, &program, &event).await);
    settled(&stack, &["done"]).await;
    let commission = commission(&stack, "in_1OneOff").await;
    assert_eq!(commission["referral_link_id"], program.bruno.link.get());
    assert!(commission["signals"].to_string().contains("contested_key"));
    stack.verify().await;
}

#[tokio::test]
async fn an_alias_is_read_like_our_own_prefix() {
    let mut stack = Stack::start().await;
    stack.set("METADATA_ALIASES", "aff-,partner_");
    let hooks = Hooks::start(&mut stack).await;
    let program = connected(&stack).await;
    stack.customer(&program, &program.ada.code, "user-1").await;
    let mut event = event(&stack, "checkout.session.completed.basil", &program, "user-1");
    event["data"]["object"]["metadata"] = json!({ "partner_customer_key": "user-1" });
    accepted(&hooks.deliver(&stack, &program, &event).await);
    settled(&stack, &["done"]).await;
    assert_eq!(sale(&stack, "pi_3Lamp0001").await["amount_cents"], 4900);
}

#[tokio::test]
async fn a_payment_intent_alone_is_a_sale_and_its_charge_says_it_again() {
    let (stack, hooks, program) = Hooks::with_program().await;
    stack.customer(&program, &program.ada.code, "user-1").await;
    for name in ["charge.succeeded.direct.basil", "payment_intent.succeeded.basil"] {
        let event = event(&stack, name, &program, "user-1");
        accepted(&hooks.deliver(&stack, &program, &event).await);
    }
    stack
        .eventually("both wait for what may say more", async || {
            let waiting =
                "SELECT count(*) FROM processor_events WHERE state = 'parked' AND NOT payment_pending";
            stack.value::<i64>(waiting).await == 2
        })
        .await;
    assert_eq!(stack.count("sale_events").await, 0);
    stack.execute(SESSIONS_HAVE_COME).await;
    settled(&stack, &["done"]).await;
    assert_eq!(stack.count("sale_events").await, 1);
    assert_eq!(commission(&stack, "pi_3Direct01").await["amount_cents"], 980);
    stack.verify().await;
}

#[tokio::test]
async fn a_payment_intents_tax_is_what_its_session_says_in_both_orders() {
    for intent_first in [true, false] {
        let (stack, hooks, program) = Hooks::with_program().await;
        stack.customer(&program, &program.ada.code, "user-1").await;
        let intent = event(&stack, "payment_intent.succeeded.basil", &program, "user-1");
        let mut session = event(
            &stack,
            "checkout.session.completed.taxed.basil",
            &program,
            "user-1",
        );
        session["data"]["object"]["payment_intent"] = json!("pi_3Direct01");
        session["data"]["object"]["invoice"] = Value::Null;
        let mut events = [intent, session];
        if !intent_first {
            events.reverse();
        }
        for event in &events {
            accepted(&hooks.deliver(&stack, &program, event).await);
        }
        stack.reaches("sale_events", 1).await;
        // The session ends the wait, whichever arrives first.
        settled(&stack, &["done"]).await;
        assert_eq!(stack.count("sale_events").await, 1);
        let sale = sale(&stack, "pi_3Direct01").await;
        assert!(sale["commissionable_cents"].is_i64(), "{sale}");
        stack.verify().await;
    }
}

#[tokio::test]
async fn both_events_of_an_invoice_are_one_sale() {
    let (stack, hooks, program) = Hooks::with_program().await;
    stack.customer(&program, &program.ada.code, "user-1").await;
    for name in ["invoice.payment_succeeded.acacia", "invoice.paid.acacia"] {
        accepted(
            &hooks
                .deliver(&stack, &program, &event(&stack, name, &program, "user-1"))
                .await,
        );
    }
    settled(&stack, &["done"]).await;
    let reasons: Vec<Value> = inbox(&stack)
        .await
        .iter()
        .map(|row| row["reason"].clone())
        .collect();
    assert_eq!(
        reasons
            .iter()
            .filter(|reason| **reason == json!("duplicate"))
            .count(),
        1,
        "{reasons:?}"
    );
    let sale = sale(&stack, "in_1First01").await;
    assert_eq!(
        (&sale["sale_type"], &sale["currency"]),
        (&json!("subscription"), &json!("USD"))
    );
    assert_eq!(stack.balance(program.ada.membership).await, 380);
    stack.verify().await;
}

#[tokio::test]
async fn a_payment_the_api_reported_is_not_recorded_again() {
    let (stack, hooks, program) = Hooks::with_program().await;
    stack.customer(&program, &program.ada.code, "user-1").await;
    let body = json!({ "transaction_id": "pi_3Lamp0001", "amount_cents": 4900, "customer_key": "user-1" });
    assert_eq!(stack.sale(&program, body).await.status, StatusCode::OK);
    let event = event(&stack, "checkout.session.completed.basil", &program, "user-1");
    accepted(&hooks.deliver(&stack, &program, &event).await);
    settled(&stack, &["done"]).await;
    assert_eq!(inbox(&stack).await[0]["reason"], "duplicate");
    assert_eq!(stack.count("sale_events").await, 1);
    stack.verify().await;
}

#[tokio::test]
async fn nothing_paid_is_no_sale() {
    let (stack, hooks, program) = Hooks::with_program().await;
    stack.customer(&program, &program.ada.code, "user-1").await;
    accepted(
        &hooks
            .deliver(
                &stack,
                &program,
                &event(&stack, "invoice.paid.trial.acacia", &program, "user-1"),
            )
            .await,
    );
    // This event only begins a subscription.
    stack
        .eventually("the event is done", async || {
            let kept = inbox(&stack).await;
            (kept.len(), &kept[0]["state"]) == (1, &json!("done"))
        })
        .await;
    assert_eq!(stack.count("transaction_claims").await, 0);
    let payload: Option<String> = stack.value("SELECT payload FROM processor_events").await;
    assert_eq!(payload, None);
}

/// 10.00 and 1.90 of tax, at 20 %.
#[tokio::test]
async fn tax_earns_nothing_and_is_part_of_what_can_be_refunded() {
    let (stack, hooks, program) = Hooks::with_program().await;
    for (shape, key) in [("acacia", "user-1"), ("basil", "user-2")] {
        stack.customer(&program, &program.ada.code, key).await;
        let mut event = event(&stack, &format!("invoice.paid.taxed.{shape}"), &program, key);
        for field in ["subscription", "payment_intent", "charge"] {
            if shape == "acacia" {
                event["data"]["object"][field] = json!(format!("{field}_{shape}"));
            }
        }
        event["data"]["object"]["id"] = json!(format!("in_{shape}"));
        accepted(&hooks.deliver(&stack, &program, &event).await);
    }
    settled(&stack, &["done"]).await;
    for shape in ["acacia", "basil"] {
        let transaction_id = format!("in_{shape}");
        let sale = sale(&stack, &transaction_id).await;
        assert_eq!(
            (&sale["amount_cents"], &sale["commissionable_cents"]),
            (&json!(1190), &json!(1000))
        );
        assert_eq!(commission(&stack, &transaction_id).await["amount_cents"], 200);
    }
    let refund = json!({ "transaction_id": "in_basil", "refund_amount_cents": 595 });
    let answer = stack.refund(&program, refund).await;
    assert_eq!(answer.body["deductionAmount"], json!(1.0), "{answer:?}");
    stack.verify().await;
}
