//! Commissions changed by hand: rejected with a reason, adjusted by an amount; and what becomes of balances, payouts and refunds.

use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::payouts::Shop;
use crate::people::refused;
use crate::rows;
use crate::stack::Answer;

async fn adjust(shop: &Shop, id: i64, amount_cents: i64) -> Answer {
    let body = json!({ "amount_cents": amount_cents, "reason": "agreed" });
    shop.post(&format!("commissions/{id}/adjust"), body).await
}

async fn reject(shop: &Shop, ids: &[i64]) -> Answer {
    let body = json!({ "commission_ids": ids, "reason": "own purchase" });
    shop.post("commissions/reject", body).await
}

fn reason(answer: &Answer) -> &Value {
    assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{answer:?}");
    &answer.body["error"]["details"]["commissions"][0]["reason"]
}

#[tokio::test]
async fn a_rejected_commission_is_never_paid_and_its_partner_is_told_why() {
    let shop = Shop::open().await;
    let (pending, approved) = (shop.sell("t1", json!({})).await, shop.sell("t2", json!({})).await);
    shop.approve(&[approved]).await;
    let answer = reject(&shop, &[pending, approved]).await;
    assert_eq!(answer.status, StatusCode::OK, "{answer:?}");
    assert_eq!(
        answer.body["data"][0],
        json!({ "id": pending, "amount_cents": 0, "payable_cents": 0, "currency": "USD", "status": "reversed" })
    );
    assert_eq!(shop.balance().await, 0);
    assert_eq!(reason(&reject(&shop, &[pending]).await), "reversed");
    refused(
        &shop.post("payouts", json!({ "all_approved": true })).await,
        400,
        "There is nothing to pay",
        "rejected",
    );
    let listed = shop.get("commissions").await.body["data"][1].clone();
    assert_eq!(
        (&listed["rejection_reason"], &listed["adjusted_cents"]),
        (&json!("own purchase"), &json!(-2_000))
    );
    shop.stack
        .eventually("the partner is told", async || {
            let told = "SELECT count(*) FROM notifications WHERE kind = 'commission_adjusted'
                        AND message LIKE '%by -20.00 USD, and is reversed. Reason: own purchase'";
            shop.stack.value::<i64>(told).await == 2
        })
        .await;
    let logged = "SELECT count(*) FROM audit_log WHERE action = 'commission.rejected'";
    assert_eq!(shop.stack.value::<i64>(logged).await, 1);
    // The sale can still be refunded; nothing more is taken.
    shop.refund("t1", 2_500).await;
    shop.refund("t1", 0).await;
    assert_eq!(shop.balance().await, 0);
    shop.close().await;
}

#[tokio::test]
async fn a_paid_commission_that_is_rejected_is_held_back_from_later_payouts() {
    let shop = Shop::open().await;
    let first = shop.sell("t1", json!({})).await;
    shop.approve(&[first]).await;
    shop.pay(json!({ "all_approved": true })).await;
    assert_eq!(reason(&adjust(&shop, first, 1).await), "already paid");
    assert_eq!(adjust(&shop, first, -500).await.status, StatusCode::OK);
    assert_eq!(reject(&shop, &[first]).await.status, StatusCode::OK);
    assert_eq!(shop.balance().await, -2_000);
    let second = shop.sell("t2", json!({ "amount_cents": 15_000 })).await;
    shop.approve(&[second]).await;
    let payout = shop.pay(json!({ "all_approved": true })).await;
    assert_eq!(payout["amount_cents"], 1_000);
    assert_eq!(shop.balance().await, 0);
    shop.close().await;
}

#[tokio::test]
async fn an_adjusted_commission_is_paid_and_refunded_as_it_is_then() {
    let shop = Shop::open().await;
    let (raised, lowered) = (shop.sell("t1", json!({})).await, shop.sell("t2", json!({})).await);
    let answer = adjust(&shop, raised, 500).await;
    assert_eq!(answer.body["data"]["amount_cents"], 2_500, "{answer:?}");
    assert_eq!(
        adjust(&shop, lowered, -1_200).await.body["data"]["payable_cents"],
        800
    );
    assert_eq!(shop.balance().await, 3_300);
    assert_eq!(
        reason(&adjust(&shop, lowered, -801).await),
        "less than that is left"
    );
    assert_eq!(reason(&adjust(&shop, 4_711, 1).await), "not found");
    for (body, message) in [
        (json!({ "reason": "agreed" }), "amount_cents is required"),
        (json!({ "amount_cents": 1 }), "reason is required"),
        (
            json!({ "amount_cents": 0, "reason": "agreed" }),
            "amount_cents must be an integer from -100000000000000 to 100000000000000, not 0",
        ),
    ] {
        let answer = shop.post(&format!("commissions/{raised}/adjust"), body).await;
        refused(&answer, 400, message, "a body that cannot be");
    }
    shop.refund("t1", 5_000).await;
    assert_eq!(rows::commission(&shop.stack, "t1").await["deducted_cents"], 1_250);
    shop.approve(&[raised, lowered]).await;
    let payout = shop.pay(json!({ "all_approved": true })).await;
    assert_eq!(payout["amount_cents"], 1_250 + 800);
    shop.refund("t2", 0).await;
    assert_eq!(shop.balance().await, -800);
    shop.close().await;
}
