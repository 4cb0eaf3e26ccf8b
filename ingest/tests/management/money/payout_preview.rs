//! The preview shows what a payout would move, and the payout pays only what the preview showed.

use serde_json::json;
use test_harness::managed::PROGRAMS;
use test_harness::{Answer, Json, Shop};

const ANOTHER_AMOUNT: &str = "expected_amount_cents is not what would be paid now: nothing was paid";

async fn pay(shop: &Shop, expected: i64) -> Answer {
    let body = json!({ "all_approved": true, "currency": "USD", "expected_amount_cents": expected });
    shop.post("payouts", body).await
}

#[tokio::test]
async fn a_payout_moves_what_its_preview_shows() {
    let shop = Shop::open().await;
    // A debt: a paid commission is refunded.
    shop.earn("t1", json!({})).await;
    shop.pay_all().await;
    shop.refund("t1", 0).await;
    for (transaction_id, amount) in [("t2", 45_000), ("t3", 1_000)] {
        shop.earn(transaction_id, json!({ "amount_cents": amount })).await;
    }
    shop.earn("t4", json!({ "currency": "JPY", "amount_cents": 700 }))
        .await;

    let preview = shop.read("payouts/preview?currency=USD").await;
    preview.has(json!({ "amount_cents": 7_200, "commission_count": 2, "is_full": false }));
    assert_eq!(shop.stack.count("payouts").await, 1);
    assert_eq!(
        shop.read("payouts/preview?currency=JPY").await["amount_cents"],
        140
    );
    let totals = shop.read("commissions/totals").await;
    assert_eq!(
        totals,
        json!([
            { "currency": "JPY", "pending_cents": 0, "approved_cents": 140, "paid_cents": 0 },
            { "currency": "USD", "pending_cents": 0, "approved_cents": 7_200, "paid_cents": 2_000 },
        ])
    );

    let paid = pay(&shop, 7_200).await.created();
    paid.body["data"].has(json!({
        "partners": preview["partners"], "amount_cents": preview["amount_cents"],
    }));
    shop.stack.verify().await;
}

#[tokio::test]
async fn another_amount_than_the_one_shown_is_not_paid() {
    let shop = Shop::open().await;
    shop.earn("t1", json!({})).await;
    assert_eq!(shop.read("payouts/preview").await["amount_cents"], 2_000);
    // A sale arrives between preview and payout.
    shop.earn("t2", json!({})).await;
    pay(&shop, 2_000).await.refused(409, ANOTHER_AMOUNT);
    assert_eq!(shop.stack.count("payouts").await, 0);
    assert_eq!(shop.stack.count("commissions WHERE paid_at IS NOT NULL").await, 0);
    let wrong = json!({ "all_approved": true, "expected_amount_cents": "4000" });
    shop.post("payouts", wrong)
        .await
        .refused(400, "expected_amount_cents must be an integer");
    pay(&shop, 4_000).await.created();
    let refusals = json!({ "currency=USD": "There is nothing to pay" });
    shop.refuses("payouts/preview", refusals).await;
    shop.stack.verify().await;
}

/// A debt is shown for archived programs too.
#[tokio::test]
async fn what_an_archived_program_owes_is_shown_and_paid() {
    let shop = Shop::open().await;
    let sold = shop.sell("t1", json!({})).await;
    let token = &shop.owner.token;
    let listed = async |query: &str| {
        let list = shop.stack.get(&format!("{PROGRAMS}{query}"), token).await;
        list.total().clone()
    };
    assert_eq!(
        (listed("").await, listed("?archived=true").await),
        (json!(1), json!(0))
    );
    shop.stack.delete(&shop.path(""), token).await.ok();
    assert_eq!(
        (listed("").await, listed("?archived=true").await),
        (json!(0), json!(1))
    );
    let refusals = json!({ "archived=yes": "archived must be true or false" });
    shop.stack.refuses(token, PROGRAMS, refusals).await;

    shop.approve(&[sold]).await;
    let unpaid = async || {
        let list = shop.stack.get(&format!("{PROGRAMS}?archived=true"), token).await;
        list.data()[0]["unpaid"].clone()
    };
    let owed = |amount: i64, by_partners: i64| {
        let one = json!({ "currency": "USD", "amount_cents": amount, "owed_by_partners_cents": by_partners });
        json!([one])
    };
    assert_eq!(unpaid().await, owed(2_000, 0));
    assert_eq!(shop.read("commissions/totals").await[0]["approved_cents"], 2_000);
    assert_eq!(shop.read("payouts/preview").await["amount_cents"], 2_000);
    pay(&shop, 2_000).await.created();
    assert_eq!(unpaid().await, json!([]));
    shop.refund("t1", 500).await;
    assert_eq!(unpaid().await, owed(0, 100));
    shop.stack.verify().await;
}
