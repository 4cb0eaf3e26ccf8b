//! The queue of flagged commissions, and decisions on the amounts that were shown.

use chrono::TimeDelta;
use domain::ids::EventId;
use runtime::clock::Clock;
use serde_json::{Value, json};
use storage::money::commissions;
use test_harness::{Answer, Json, Shop, refused_each, rows};

/// The first two sales followed the click within seconds, the third did not.
async fn shop() -> (Shop, [i64; 3]) {
    let shop = Shop::open_at(Clock::manual(Clock::system().now())).await;
    let fast = [shop.sell("t1", json!({})).await, shop.sell("t2", json!({})).await];
    shop.stack
        .clock
        .set(shop.stack.clock.now() + TimeDelta::minutes(1));
    let slow = shop.sell("t3", json!({})).await;
    (shop, [fast[0], fast[1], slow])
}

async fn queue(shop: &Shop, query: &str) -> Vec<Value> {
    let answer = shop.get(&format!("commissions/review?{query}")).await.ok();
    let rows = answer.body["data"].as_array().unwrap().clone();
    assert_eq!(*answer.total(), rows.len());
    rows
}

async fn ids(shop: &Shop, query: &str) -> Value {
    json!(queue(shop, query).await).column("id")
}

async fn decide(shop: &Shop, how: &str, ids: &[i64], payable: &[i64]) -> Answer {
    let expected: serde_json::Map<_, _> = ids
        .iter()
        .zip(payable)
        .map(|(id, cents)| (id.to_string(), json!(cents)))
        .collect();
    let mut body = json!({ "commission_ids": ids, "expected_payable_cents": expected });
    match how {
        "reject" => body["reason"] = "own purchase".into(),
        "hold" => body["days"] = 30.into(),
        _ => {}
    }
    shop.post(&format!("commissions/{how}"), body).await
}

#[tokio::test]
async fn flagged_commissions_wait_in_a_queue_until_somebody_decides() {
    let (shop, [first, second, slow]) = shop().await;
    let rows = queue(&shop, "").await;
    assert_eq!(rows.len(), 2, "{rows:?}");
    let customer = rows::sale(&shop.stack, "t1").await["customer_id"].clone();
    let expected = json!({
        "id": first, "transaction_id": "t1", "sale_amount_cents": 10_000, "sale_currency": "USD", "amount_cents": 2_000,
        "payable_cents": 2_000, "currency": "USD", "status": "pending", "approves_itself": true, "signals": ["fast_sale"],
        "customer": { "id": customer, "customer_key": "user-1" },
        "partner_program_id": shop.program.ada.membership, "partner": { "id": shop.program.ada.partner_id, "name": "ada" },
    });
    rows[0].has(expected);
    assert_eq!(ids(&shop, "signal=fast_sale").await, json!([first, second]));
    assert_eq!(ids(&shop, "signal=self_referral").await, json!([]));
    let others = format!("partner_program_id={}", shop.program.bruno.membership);
    assert_eq!(ids(&shop, &others).await, json!([]));
    shop.refund("t2", 5_000).await;
    assert_eq!(queue(&shop, "").await[1]["payable_cents"], 1_000);
    rows::set(&shop.stack, &shop.program, "needs_approval = 'flagged'").await;
    assert_eq!(queue(&shop, "").await[0]["approves_itself"], false);
    decide(&shop, "approve", &[first], &[2_000]).await.ok();
    decide(&shop, "reject", &[second], &[1_000]).await.ok();
    assert_eq!(ids(&shop, "").await, json!([]));
    assert_eq!(rows::commission(&shop.stack, "t3").await["id"], slow);
    shop.stack.verify().await;
}

#[tokio::test]
async fn the_queue_is_sorted_by_what_is_payable_and_by_the_end_of_the_hold() {
    let (shop, [first, second, _]) = shop().await;
    shop.refund("t2", 5_000).await;
    let later =
        format!("UPDATE commissions SET hold_until = hold_until + interval '1 day' WHERE id = {first}");
    shop.stack.execute(&later).await;
    for (query, sorted) in [
        ("", [first, second]),
        ("sort=payable", [first, second]),
        ("sort=payable&order=asc", [second, first]),
        ("sort=hold_until", [first, second]),
        ("sort=hold_until&order=asc&signal=fast_sale", [second, first]),
    ] {
        assert_eq!(ids(&shop, query).await, json!(sorted), "{query}");
    }
    let refusals = json!({ "sort=amount": "sort must be payable or hold_until" });
    shop.refuses("commissions/review", refusals).await;
}

#[tokio::test]
async fn what_changed_since_it_was_shown_is_not_decided_on() {
    let (shop, [first, second, _]) = shop().await;
    shop.refund("t2", 5_000).await;
    let commissions = async || queue(&shop, "").await;
    let before = commissions().await;
    for how in ["approve", "hold", "reject"] {
        let answer = decide(&shop, how, &[first, second], &[2_000, 2_000]).await;
        answer.refuses_commissions(&[(second, "changed meanwhile: 1000 is payable, not 2000")]);
        let one_missing = decide(&shop, how, &[first, second], &[2_000]).await;
        let message = "expected_payable_cents must be an object with an integer for each of commission_ids";
        one_missing.refused(400, message);
    }
    assert_eq!(commissions().await, before);
    let decided = "audit_log WHERE action LIKE 'commission.%'";
    assert_eq!(shop.stack.count(decided).await, 0);
}

#[tokio::test]
async fn what_a_payout_would_pay_waits_for_nobody() {
    let (shop, [first, second, _]) = shop().await;
    shop.refund("t2", 5_000).await;
    let over = format!("UPDATE commissions SET hold_until = '2020-01-01' WHERE id = {second}");
    shop.stack.execute(&over).await;
    assert_eq!(ids(&shop, "").await, json!([first]));
    rows::set(&shop.stack, &shop.program, "needs_approval = 'flagged'").await;
    assert_eq!(ids(&shop, "").await, json!([first, second]));
    let payout = json!({ "commission_ids": [second] });
    shop.post("payouts", payout).await.is(400);
}

#[tokio::test]
async fn who_is_held_longer_is_not_approved_meanwhile() {
    let (shop, [first, second, slow]) = shop().await;
    let held = decide(&shop, "hold", &[first, second], &[2_000, 2_000]).await;
    assert_eq!(held.body["data"]["held"], json!([first, second]), "{held:?}");
    let until = held.body["data"]["hold_until"].clone();
    assert_eq!(queue(&shop, "").await[0]["hold_until"], until);
    // A hold never ends earlier than before.
    let body = json!({ "commission_ids": [first], "days": 1, "reason": "looked at" });
    shop.post("commissions/hold", body).await.ok();
    assert_eq!(queue(&shop, "").await[0]["hold_until"], until);
    let logged =
        "SELECT details->>'reason' FROM audit_log WHERE action = 'commission.held' ORDER BY id DESC LIMIT 1";
    assert_eq!(shop.stack.value::<String>(logged).await, "looked at");
    // The hold period is over, but the longer hold is not.
    let now = shop.stack.clock.now() + TimeDelta::days(20);
    let new_event_id = || EventId::new(shop.stack.clock.mint());
    commissions::approve_held(shop.stack.pool(), now, 100, new_event_id)
        .await
        .unwrap();
    assert_eq!(ids(&shop, "").await, json!([first, second]));
    assert_eq!(rows::commission(&shop.stack, "t3").await["status"], "approved");
    let answer = decide(&shop, "hold", &[slow], &[2_000]).await;
    answer.refuses_commissions(&[(slow, "approved commissions cannot be held")]);
    let refusals = json!({
        "days must be an integer from 1 to 365": [0, 366, "30"],
        "days is required": [null],
    });
    let asked = async |days| {
        let body = json!({ "commission_ids": [first], "days": days });
        shop.post("commissions/hold", body).await
    };
    refused_each(400, refusals, asked).await;
    let nobodys = json!({ "commission_ids": [4_711], "days": 1 });
    let answer = shop.post("commissions/hold", nobodys).await;
    answer.refuses_commissions(&[(4_711, "not found")]);
}
