//! Debts of partners after refunds of paid commissions, and the amounts that payouts withhold for them.

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use reqwest::StatusCode;
use serde_json::json;
use test_harness::{Json, Shop, rows};

/// The total of a payout of everything; 0 if nothing is payable.
async fn pay_everything(shop: &Shop) -> i64 {
    let answer = shop.post("payouts", json!({ "all_approved": true })).await;
    match answer.status {
        StatusCode::CREATED => answer.body["data"]["amount_cents"].as_i64().unwrap(),
        status => {
            assert_eq!(status, StatusCode::BAD_REQUEST, "{answer:?}");
            0
        }
    }
}

/// The partner's balance as the advertiser sees it. The partner sees the same.
async fn owed(shop: &Shop) -> i64 {
    let shown = shop
        .get(&format!("partners/{}", shop.program.ada.membership))
        .await;
    shown.body["data"]["balances"][0]["owed_cents"].as_i64().unwrap()
}

#[tokio::test]
async fn a_refund_of_an_unpaid_sale_forgives_no_debt() {
    let shop = Shop::open().await;
    shop.earn("a", json!({})).await;
    assert_eq!(pay_everything(&shop).await, 2_000);
    shop.refund("a", 0).await;
    assert_eq!(shop.balance().await, -2_000);
    shop.earn("b", json!({})).await;
    assert_eq!(shop.balance().await, 0);
    shop.refund("b", 0).await;
    assert_eq!(shop.balance().await, 0, "the contract clamps it");
    assert_eq!(owed(&shop).await, -2_000, "what was received for a is owed back");
    shop.earn("c", json!({})).await;
    assert_eq!((shop.balance().await, owed(&shop).await), (2_000, 0));
    assert_eq!(
        pay_everything(&shop).await,
        0,
        "20.00 were received for c already"
    );
    assert_eq!(rows::commission(&shop.stack, "c").await["status"], "paid");
    assert_eq!(shop.balance().await, 0, "nothing is left to be paid");
    shop.earn("d", json!({})).await;
    assert_eq!((shop.balance().await, owed(&shop).await), (2_000, 2_000));
    assert_eq!(pay_everything(&shop).await, 2_000);
    assert_eq!(shop.balance().await, 0);
    shop.stack.verify().await;
}

#[tokio::test]
async fn a_refund_of_what_was_paid_is_notified_of_with_its_sale() {
    let shop = Shop::open().await;
    let commission = shop.earn("a", json!({})).await;
    pay_everything(&shop).await;
    shop.refund("a", 0).await;
    let notified = async || shop.get("notifications").await.body["data"][0].clone();
    let what = "the advertiser is notified";
    shop.stack
        .eventually(what, async || notified().await["id"].is_i64())
        .await;
    let one = notified().await;
    one.has(json!({
        "kind": "paid_commission_deducted", "commission_id": commission,
        "sale_id": rows::sale(&shop.stack, "a").await["id"],
    }));
}

#[tokio::test]
async fn what_can_be_paid_is_what_a_payout_would_move() {
    let shop = Shop::open().await;
    let announced = async || {
        let summary = shop
            .stack
            .get("/api/advertiser/dashboard/summary", &shop.owner.token)
            .await;
        let money = &summary.body["data"]["total"]["money"][0];
        money["commissions_approved_cents"].as_i64().unwrap()
    };
    shop.earn("t1", json!({})).await;
    assert_eq!(announced().await, 2_000);
    assert_eq!(pay_everything(&shop).await, 2_000);
    shop.refund("t1", 0).await;
    for (transaction_id, amount) in [("t2", 45_000), ("t3", 1_000)] {
        shop.earn(transaction_id, json!({ "amount_cents": amount })).await;
    }
    assert_eq!(announced().await, 7_200);
    assert_eq!(pay_everything(&shop).await, 7_200);
    assert_eq!(announced().await, 0);
    shop.stack.verify().await;
}

#[tokio::test]
async fn a_suspended_partner_is_paid_only_by_name() {
    let shop = Shop::open().await;
    let id = shop.earn("t1", json!({})).await;
    let statement = "UPDATE partner_programs SET status = 'suspended'";
    shop.stack.execute(statement).await;
    for all in [
        json!({ "all_approved": true }),
        json!({ "all_approved": true, "currency": "USD" }),
    ] {
        let answer = shop.post("payouts", all).await;
        answer.refused(400, "There is nothing to pay");
    }
    let named = shop.pay(json!({ "commission_ids": [id] })).await;
    assert_eq!(named["amount_cents"], 2_000);
    shop.stack.verify().await;
}

#[tokio::test]
async fn what_a_refund_has_left_of_a_held_commission_is_approved_early() {
    let shop = Shop::open().await;
    let (part, whole) = (shop.sell("t1", json!({})).await, shop.sell("t2", json!({})).await);
    shop.refund("t1", 4_000).await;
    shop.refund("t2", 0).await;
    shop.approve(&[part]).await;
    assert_eq!(rows::commission(&shop.stack, "t1").await["status"], "refunded");
    for (id, status) in [(part, "refunded"), (whole, "reversed")] {
        let again = json!({ "commission_ids": [id] });
        let again = shop.post("commissions/approve", again).await;
        again.refuses_commissions(&[(id, &format!("{status} commissions cannot be approved"))]);
    }
    assert_eq!(pay_everything(&shop).await, 1_200);
    shop.stack.verify().await;
}

/// Sums: the amount received, the remaining amount of all commissions, and that of the paid commissions.
async fn sums(shop: &Shop) -> (i64, i64, i64) {
    let sum = async |query: &'static str| shop.stack.value::<i64>(query).await;
    (
        sum("SELECT coalesce(sum(amount_cents), 0)::bigint FROM payouts").await,
        sum("SELECT coalesce(sum(amount_cents - deducted_cents), 0)::bigint FROM commissions").await,
        sum("SELECT coalesce(sum(amount_cents - deducted_cents), 0)::bigint FROM commissions WHERE paid_at IS NOT NULL").await,
    )
}

/// Changes by hand, some of which are refused: a rejection, an adjustment up or down, an added commission.
/// Returns the id of an added commission.
async fn by_hand(shop: &Shop, random: &mut StdRng, ids: &[i64]) -> Option<i64> {
    let (path, body) = match (random.random_range(0..3), ids) {
        (0, [_, ..]) => {
            let id = ids[random.random_range(0..ids.len())];
            let body = json!({ "commission_ids": [id], "reason": "odd" });
            ("commissions/reject".to_owned(), body)
        }
        (1, [_, ..]) => {
            let id = ids[random.random_range(0..ids.len())];
            let cents = random.random_range(1..3_000) * if random.random_bool(0.6) { -1 } else { 1 };
            let body = json!({ "amount_cents": cents, "reason": "agreed" });
            (format!("commissions/{id}/adjust"), body)
        }
        _ => {
            let body = json!({
                "partner_program_id": shop.program.ada.membership, "amount_cents": random.random_range(1..3_000),
                "currency": "USD", "note": "bonus",
            });
            ("commissions".to_owned(), body)
        }
    };
    let answer = shop.post(&path, body).await;
    assert!(
        [StatusCode::OK, StatusCode::CREATED, StatusCode::BAD_REQUEST].contains(&answer.status),
        "{answer:?}"
    );
    (answer.status == StatusCode::CREATED).then(|| answer.body["data"]["id"].as_i64().unwrap())
}

/// Random sales, refunds, changes by hand and payouts. No payout moves money while the partner has received
/// more than remains of the paid commissions.
#[tokio::test]
async fn no_more_money_is_received_than_was_earned_on_sales_that_stand() {
    let seed: u64 = rand::random();
    println!("seed {seed}");
    let mut random = StdRng::seed_from_u64(seed);
    let shop = Shop::open().await;
    let mut sold: Vec<(String, i64)> = Vec::new();
    let mut ids = Vec::new();
    for step in 0..160 {
        match random.random_range(0..13) {
            0..4 => {
                let transaction_id = format!("t{step}");
                let amount = random.random_range(5..20_000);
                let id = shop
                    .sell(&transaction_id, json!({ "amount_cents": amount }))
                    .await;
                if random.random_bool(0.8) {
                    shop.approve(&[id]).await;
                }
                sold.push((transaction_id, amount));
                ids.push(id);
            }
            4..7 if !sold.is_empty() => {
                let (transaction_id, amount) = &sold[random.random_range(0..sold.len())];
                let part = if random.random_bool(0.6) {
                    0
                } else {
                    random.random_range(1..=*amount)
                };
                shop.refund(transaction_id, part).await;
            }
            7..10 => ids.extend(by_hand(&shop, &mut random, &ids).await),
            _ => {
                let moved = pay_everything(&shop).await;
                let (received, earned, kept) = sums(&shop).await;
                assert!(
                    moved == 0 || received == kept,
                    "{received} received for {kept} that was kept"
                );
                assert!(
                    received >= kept,
                    "{received} received, {kept} left of what was paid"
                );
                assert!(
                    shop.balance().await <= earned - kept,
                    "more on the balance than can be paid"
                );
            }
        }
    }
    shop.stack.verify().await;
}
