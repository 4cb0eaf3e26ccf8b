//! Events whose counterpart is missing wait with a reason, and are settled when it arrives.

use chrono::TimeDelta;
use serde_json::{Value, json};
use storage::processor::processor_events;

use super::shop::{Payment, Shop, ended, event};
use test_harness::{Json, Program, rows};

/// Lets the relay retry every waiting event.
async fn every_turn_has_come(shop: &Shop) {
    shop.stack
        .execute("UPDATE processor_events SET relay_after = now() WHERE state = 'parked' AND relay_after IS NOT NULL")
        .await;
}

/// A payment of an unknown customer is reported, and waits.
async fn payment_before_its_lead() -> (Shop, Program) {
    let shop = Shop::open().await;
    let program = shop.program().await;
    shop.report(&program, &shop.payment("1").checkout()).await;
    shop.becomes("evt_checkout_1", "parked", "customer_not_found")
        .await;
    (shop, program)
}

#[tokio::test]
async fn a_payment_waits_for_its_customers_lead() {
    let (shop, program) = payment_before_its_lead().await;
    assert_eq!(rows::claims(&shop.stack, "in_1").await, 0);
    shop.stack.customer(&program, &program.ada.code, "user-1").await;
    every_turn_has_come(&shop).await;
    shop.becomes("evt_checkout_1", "done", None).await;
    assert_eq!(rows::sale(&shop.stack, "in_1").await["amount_cents"], 4900);
    shop.stack.verify().await;
}

/// A lead may be stored while the payment is judged, and then find no payment to wake.
#[tokio::test]
async fn a_payment_that_came_late_is_looked_at_once_more_all_the_same() {
    let (shop, _) = payment_before_its_lead().await;
    let next_look = async || -> i64 {
        let seconds = "SELECT extract(epoch FROM relay_after - now())::bigint FROM processor_events";
        shop.stack.value(seconds).await
    };
    assert!(next_look().await <= 5);
    shop.stack
        .execute(
            "UPDATE processor_events
             SET state = 'open', reason = NULL, waits_for = NULL, received_at = now() - interval '1 hour', relay_after = now()",
        )
        .await;
    shop.becomes("evt_checkout_1", "parked", "customer_not_found")
        .await;
    assert!(next_look().await <= 5);
    every_turn_has_come(&shop).await;
    let days = 86_400;
    shop.stack
        .eventually("then it waits for the lead", async || next_look().await > days)
        .await;
}

#[tokio::test]
async fn what_is_paid_after_a_subscription_ended_earns_nothing() {
    let (shop, program) = Shop::selling().await;
    let ended = |at| ended("sub_1", &format!("evt_ended_{at}"), shop.opened + at);
    // The end is reported before the subscription is known, and an older report follows a newer one.
    shop.report(&program, &ended(100)).await;
    shop.report(&program, &ended(50)).await;
    let paid = |name: &str| shop.payment(name).in_subscription("sub_1");
    shop.process(&program, &paid("1").first()).await;
    for (name, after) in [("2", 97), ("3", 99)] {
        let began = shop.opened + after;
        let renewal = Payment { began, ..paid(name) };
        shop.report(&program, &renewal.renewal()).await;
    }
    shop.settled().await;
    let reason = async |name: &str| rows::sale(&shop.stack, name).await["no_commission_reason"].clone();
    assert_eq!(reason("in_2").await, Value::Null);
    assert_eq!(reason("in_3").await, "subscription_ended");
    assert_eq!(shop.stack.balance(program.ada.membership).await, 2 * 980);
    shop.stack.verify().await;
}

#[tokio::test]
async fn a_refund_in_another_currency_than_its_sale_is_left_to_a_person() {
    let (shop, program) = Shop::selling().await;
    let payment = shop.payment("1");
    let mut refunded = payment.charge_refunded(1000);
    refunded["data"]["object"]["currency"] = json!("jpy");
    shop.report(&program, &refunded).await;
    shop.becomes("evt_refunded_1000_1", "parked", "sale_missing")
        .await;
    shop.process(&program, &payment.checkout()).await;
    shop.becomes("evt_refunded_1000_1", "stuck", "currency_differs")
        .await;
    shop.process(&program, &payment.charge_refunded(2450)).await;
    assert_eq!(shop.stack.balance(program.ada.membership).await, 490);
    shop.stack.verify().await;
}

#[tokio::test]
async fn a_payment_settles_a_lead_that_was_provisional() {
    let shop = Shop::open().await;
    let program = shop.program().await;
    rows::set(&shop.stack, &program, "lead_auth = 'server_required'").await;
    let click_id = shop.stack.click(&program.ada.code).await;
    let lead = json!({ "click_id": click_id, "customer_key": "user-1" });
    shop.stack.post("lead", None, lead).await.ok();
    assert_eq!(
        rows::customer(&shop.stack, &click_id).await["proposed_customer_key"],
        "user-1"
    );
    shop.process(&program, &shop.payment("1").checkout()).await;
    let customer = rows::customer(&shop.stack, &click_id).await;
    customer.has(json!({ "status": "conversion", "customer_key": "user-1", "proposed_customer_key": null }));
    shop.stack.verify().await;
}

#[tokio::test]
async fn an_account_is_what_was_told_of_it_last() {
    let shop = Shop::open().await;
    let program = shop.program().await;
    let account = format!("acct_{}", program.program_id);
    let updated = |created: i64, charges: bool| {
        let object = json!({
            "id": account, "object": "account", "charges_enabled": charges, "payouts_enabled": true,
            "details_submitted": true,
        });
        let mut event = event(
            &format!("evt_updated_{created}"),
            "account.updated",
            created,
            object,
        );
        event["account"] = json!(account);
        event
    };
    let stored = "SELECT jsonb_build_array(status, charges_enabled, payouts_enabled, details_submitted,
                                            connected_at IS NOT NULL)
                  FROM processor_connections";
    let stored = async || shop.stack.value::<Value>(stored).await;
    shop.process(&program, &updated(shop.opened + 20, true)).await;
    assert_eq!(stored().await, json!(["connected", true, true, true, true]));
    shop.process(&program, &updated(shop.opened + 10, false)).await;
    assert_eq!(stored().await, json!(["connected", true, true, true, true]));
    let mut left = event(
        "evt_left",
        "account.application.deauthorized",
        shop.opened + 30,
        json!({ "id": "ca_1", "object": "application" }),
    );
    left["account"] = json!(account);
    shop.process(&program, &left).await;
    assert_eq!(
        stored().await,
        json!(["disconnected", false, false, false, false])
    );
    shop.stack.verify().await;
}

#[tokio::test]
async fn what_is_finished_or_waited_in_vain_is_forgotten() {
    let (shop, program) = Shop::selling().await;
    shop.report(&program, &shop.payment("1").checkout()).await;
    shop.process(&program, &shop.payment("2").charge_refunded(1000))
        .await;
    let (now, a_day) = (shop.stack.clock.now(), TimeDelta::days(1));
    let forget = async |before| processor_events::forget(shop.stack.pool(), before, 10).await;
    let give_up = async |before| processor_events::give_up_parked(shop.stack.pool(), before, 10).await;
    assert_eq!(forget(now - a_day).await.unwrap(), 0);
    assert_eq!(give_up(now - a_day).await.unwrap(), 0);
    assert_eq!(shop.stack.count("processor_events").await, 2);
    assert_eq!(give_up(now + a_day).await.unwrap(), 1);
    shop.becomes("evt_refunded_1000_2", "ignored", "sale_missing")
        .await;
    assert_eq!(forget(now + a_day).await.unwrap(), 2);
    assert_eq!(shop.stack.count("processor_events").await, 0);
}
