//! A processor's payment becomes a sale like any other.

use chrono::TimeDelta;
use runtime::clock::Clock;
use serde_json::{Value, json};

use super::shop::SESSIONS_HAVE_COME;
use test_harness::{
    Json, Stack,
    hooks::{Hooks, accepted, connected, event, inbox, settled},
    leads::browser,
    noon, refund_of,
    rows::{commission, sale},
    sale_of, two_clicks,
};

const WITH_INVOICE: &str = "checkout.session.completed.with_invoice.acacia";

#[tokio::test]
async fn a_session_paid_is_a_sale_of_the_moment_it_was_paid() {
    let clock = Clock::manual(noon());
    let (stack, hooks) = Hooks::with_stack(clock.clone()).await;
    let program = connected(&stack).await;
    stack.customer(&program, &program.ada.code, "user-1").await;
    let event = event(&stack, WITH_INVOICE, &program, "user-1");
    clock.advance(TimeDelta::hours(3));
    hooks.process(&stack, &program, &event).await;
    sale(&stack, "in_1OneOff").await.has(json!({
        "amount_cents": 4900, "currency": "EUR", "sale_type": "payment",
        "sale_date": "2026-03-01T12:00:00+00:00",
    }));
    assert_eq!(commission(&stack, "in_1OneOff").await["amount_cents"], 980);
    stack.verify().await;
}

#[tokio::test]
async fn a_payment_takes_a_key_back_that_only_a_browser_bound() {
    for named in ["/metadata/tracker_click_id", "/client_reference_id"] {
        let (stack, hooks, program) = Hooks::with_program().await;
        let (theirs, own) = two_clicks(&stack, &program).await;
        browser(&stack, json!({ "click_id": theirs, "customer_key": "1001" })).await;
        let mut event = event(&stack, WITH_INVOICE, &program, "1001");
        *event["data"]["object"].pointer_mut(named).unwrap() = json!(own);
        hooks.process(&stack, &program, &event).await;
        let commission = commission(&stack, "in_1OneOff").await;
        assert_eq!(
            commission["referral_link_id"],
            program.bruno.link.get(),
            "{named}"
        );
        assert!(commission["signals"].to_string().contains("contested_key"));
        stack.verify().await;
    }
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
    hooks.process(&stack, &program, &event).await;
    assert_eq!(sale(&stack, "pi_3Lamp0001").await["amount_cents"], 4900);
}

#[tokio::test]
async fn a_payment_intent_alone_is_a_sale_and_its_charge_says_it_again() {
    let (stack, hooks, program) = Hooks::with_customer().await;
    for name in ["charge.succeeded.direct.basil", "payment_intent.succeeded.basil"] {
        let event = event(&stack, name, &program, "user-1");
        accepted(&hooks.deliver(&stack, &program, &event).await);
    }
    let waiting = "processor_events WHERE state = 'parked' AND NOT payment_pending";
    stack.reaches(waiting, 2).await;
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
        let (stack, hooks, program) = Hooks::with_customer().await;
        let intent = event(&stack, "payment_intent.succeeded.basil", &program, "user-1");
        let taxed = "checkout.session.completed.taxed.basil";
        let mut session = event(&stack, taxed, &program, "user-1");
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
    let (stack, hooks, program) = Hooks::with_customer().await;
    for name in ["invoice.payment_succeeded.acacia", "invoice.paid.acacia"] {
        let event = event(&stack, name, &program, "user-1");
        accepted(&hooks.deliver(&stack, &program, &event).await);
    }
    settled(&stack, &["done"]).await;
    assert_eq!(
        stack.count("processor_events WHERE reason = 'duplicate'").await,
        1
    );
    let sale = sale(&stack, "in_1First01").await;
    sale.has(json!({ "sale_type": "subscription", "currency": "USD" }));
    assert_eq!(stack.balance(program.ada.membership).await, 380);
    stack.verify().await;
}

#[tokio::test]
async fn a_payment_the_api_reported_is_not_recorded_again() {
    let (stack, hooks, program) = Hooks::with_customer().await;
    let body = sale_of("pi_3Lamp0001", "user-1").with(json!({ "amount_cents": 4900 }));
    stack.sold(&program, body).await;
    let event = event(&stack, "checkout.session.completed.basil", &program, "user-1");
    hooks.process(&stack, &program, &event).await;
    assert_eq!(inbox(&stack).await[0]["reason"], "duplicate");
    assert_eq!(stack.count("sale_events").await, 1);
    stack.verify().await;
}

#[tokio::test]
async fn nothing_paid_is_no_sale() {
    let (stack, hooks, program) = Hooks::with_customer().await;
    // This event only begins a subscription.
    let trial = event(&stack, "invoice.paid.trial.acacia", &program, "user-1");
    hooks.process(&stack, &program, &trial).await;
    assert_eq!(stack.count("processor_events WHERE payload IS NULL").await, 1);
    assert_eq!(stack.count("transaction_claims").await, 0);
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
        let amounts = json!({ "amount_cents": 1190, "commissionable_cents": 1000 });
        sale(&stack, &transaction_id).await.has(amounts);
        assert_eq!(commission(&stack, &transaction_id).await["amount_cents"], 200);
    }
    let refund = refund_of("in_basil", 595);
    let answer = stack.refund(&program, refund).await;
    assert_eq!(answer.body["deductionAmount"], json!(1.0), "{answer:?}");
    stack.verify().await;
}
