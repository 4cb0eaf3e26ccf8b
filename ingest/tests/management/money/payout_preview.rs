//! The preview shows what a payout would move, and the payout pays only what the preview showed.

use reqwest::StatusCode;
use serde_json::{Value, json};
use test_harness::managed::PROGRAMS;
use test_harness::{Answer, Shop};

const ANOTHER_AMOUNT: &str = "expected_amount_cents is not what would be paid now: nothing was paid";

async fn sold(shop: &Shop, transaction_id: &str, more: Value) {
    let id = shop.sell(transaction_id, more).await;
    shop.approve(&[id]).await;
}

async fn pay(shop: &Shop, expected: i64) -> Answer {
    let body = json!({ "all_approved": true, "currency": "USD", "expected_amount_cents": expected });
    shop.post("payouts", body).await
}

#[tokio::test]
async fn a_payout_moves_what_its_preview_shows() {
    let shop = Shop::open().await;
    // A debt: a paid commission is refunded.
    sold(&shop, "t1", json!({})).await;
    shop.pay(json!({ "all_approved": true })).await;
    shop.refund("t1", 0).await;
    for (transaction_id, amount) in [("t2", 45_000), ("t3", 1_000)] {
        sold(&shop, transaction_id, json!({ "amount_cents": amount })).await;
    }
    sold(&shop, "t4", json!({ "currency": "JPY", "amount_cents": 700 })).await;

    let preview = shop.get("payouts/preview?currency=USD").await.body["data"].clone();
    assert_eq!(
        (
            &preview["amount_cents"],
            &preview["commission_count"],
            &preview["is_full"]
        ),
        (&json!(7_200), &json!(2), &json!(false))
    );
    assert_eq!(shop.stack.count("payouts").await, 1);
    let yen = shop.get("payouts/preview?currency=JPY").await;
    assert_eq!(yen.body["data"]["amount_cents"], 140);
    let totals = shop.get("commissions/totals").await.body["data"].clone();
    assert_eq!(
        totals,
        json!([
            { "currency": "JPY", "pending_cents": 0, "approved_cents": 140, "paid_cents": 0 },
            { "currency": "USD", "pending_cents": 0, "approved_cents": 7_200, "paid_cents": 2_000 },
        ])
    );

    let paid = pay(&shop, 7_200).await;
    assert_eq!(paid.status, StatusCode::CREATED, "{paid:?}");
    assert_eq!(paid.body["data"]["partners"], preview["partners"]);
    assert_eq!(paid.body["data"]["amount_cents"], preview["amount_cents"]);
    shop.stack.verify().await;
}

#[tokio::test]
async fn another_amount_than_the_one_shown_is_not_paid() {
    let shop = Shop::open().await;
    sold(&shop, "t1", json!({})).await;
    let shown = shop.get("payouts/preview").await.body["data"]["amount_cents"]
        .as_i64()
        .unwrap();
    assert_eq!(shown, 2_000);
    // A sale arrives between preview and payout.
    sold(&shop, "t2", json!({})).await;
    pay(&shop, shown).await.refused(409, ANOTHER_AMOUNT);
    assert_eq!(shop.stack.count("payouts").await, 0);
    assert_eq!(shop.stack.count("commissions WHERE paid_at IS NOT NULL").await, 0);
    let wrong = json!({ "all_approved": true, "expected_amount_cents": "4000" });
    shop.post("payouts", wrong)
        .await
        .refused(400, "expected_amount_cents must be an integer");
    assert_eq!(pay(&shop, 4_000).await.status, StatusCode::CREATED);
    shop.get("payouts/preview?currency=USD")
        .await
        .refused(400, "There is nothing to pay");
    shop.stack.verify().await;
}

/// A debt is shown for archived programs too.
#[tokio::test]
async fn what_an_archived_program_owes_is_shown_and_paid() {
    let shop = Shop::open().await;
    sold(&shop, "t1", json!({})).await;
    let token = &shop.owner.token;
    let path = format!("{PROGRAMS}/{}", shop.program.program_id);
    let listed = async |query: &str| {
        let list = shop.stack.get(&format!("{PROGRAMS}{query}"), token).await;
        assert_eq!(list.status, StatusCode::OK, "{list:?}");
        list.body["meta"]["pagination"]["total"].clone()
    };
    assert_eq!(
        (listed("").await, listed("?archived=true").await),
        (json!(1), json!(0))
    );
    let archived = shop.stack.delete(&path, token).await;
    assert_eq!(archived.status, StatusCode::OK, "{archived:?}");
    assert_eq!(
        (listed("").await, listed("?archived=true").await),
        (json!(0), json!(1))
    );
    shop.stack
        .get(&format!("{PROGRAMS}?archived=yes"), token)
        .await
        .refused(400, "archived must be true or false");

    let unpaid = async || {
        let list = shop.stack.get(&format!("{PROGRAMS}?archived=true"), token).await;
        list.body["data"][0]["unpaid"].clone()
    };
    assert_eq!(
        unpaid().await,
        json!([{ "currency": "USD", "amount_cents": 2_000, "owed_by_partners_cents": 0 }])
    );

    let totals = shop.get("commissions/totals").await.body["data"].clone();
    assert_eq!(totals[0]["approved_cents"], 2_000);
    let preview = shop.get("payouts/preview").await.body["data"].clone();
    assert_eq!(preview["amount_cents"], 2_000);
    assert_eq!(pay(&shop, 2_000).await.status, StatusCode::CREATED);
    assert_eq!(unpaid().await, json!([]));
    shop.refund("t1", 500).await;
    assert_eq!(
        unpaid().await,
        json!([{ "currency": "USD", "amount_cents": 0, "owed_by_partners_cents": 100 }])
    );
    shop.stack.verify().await;
}
