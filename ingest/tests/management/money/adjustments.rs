//! Commissions changed by hand: rejected with a reason, or adjusted by an amount; and the effect on balances,
//! payouts and refunds.

use serde_json::json;
use test_harness::{Json, Shop, ctl, managed::audited, refused_each, rows, sell};

#[tokio::test]
async fn a_rejected_commission_is_never_paid_and_its_partner_is_told_why() {
    let shop = Shop::open().await;
    let (pending, approved) = (shop.sell("t1", json!({})).await, shop.sell("t2", json!({})).await);
    shop.approve(&[approved]).await;
    let answer = shop.reject(&[pending, approved]).await.ok();
    assert_eq!(
        answer.body["data"][0],
        json!({ "id": pending, "amount_cents": 0, "payable_cents": 0, "currency": "USD", "status": "reversed" })
    );
    assert_eq!(shop.balance().await, 0);
    shop.reject(&[pending])
        .await
        .refuses_commissions(&[(pending, "reversed")]);
    shop.post("payouts", json!({ "all_approved": true }))
        .await
        .refused(400, "There is nothing to pay");
    let listed = shop.get("commissions").await.body["data"][1].clone();
    listed.has(json!({ "rejection_reason": "own purchase", "adjusted_cents": -2_000 }));
    let told = "notifications WHERE kind = 'commission_adjusted'
                AND message LIKE '%by -20.00 USD, and is reversed. Reason: own purchase'";
    shop.stack.reaches(told, 2).await;
    assert_eq!(audited(&shop.stack, "commission.rejected").await, 1);
    // The sale can still be refunded; the refund deducts nothing more.
    shop.refund("t1", 2_500).await;
    shop.refund("t1", 0).await;
    assert_eq!(shop.balance().await, 0);
    shop.stack.verify().await;
}

#[tokio::test]
async fn a_paid_commission_that_is_rejected_is_held_back_from_later_payouts() {
    let shop = Shop::open().await;
    let first = shop.earn("t1", json!({})).await;
    shop.pay_all().await;
    shop.adjust(first, 1)
        .await
        .refuses_commissions(&[(first, "already paid")]);
    shop.adjust(first, -500).await.ok();
    shop.reject(&[first]).await.ok();
    assert_eq!(shop.balance().await, -2_000);
    shop.earn("t2", json!({ "amount_cents": 15_000 })).await;
    let payout = shop.pay_all().await;
    assert_eq!(payout["amount_cents"], 1_000);
    assert_eq!(shop.balance().await, 0);
    shop.stack.verify().await;
}

#[tokio::test]
async fn an_adjusted_commission_is_paid_and_refunded_as_it_is_then() {
    let shop = Shop::open().await;
    let (raised, lowered) = (shop.sell("t1", json!({})).await, shop.sell("t2", json!({})).await);
    assert_eq!(shop.adjust(raised, 500).await.data()["amount_cents"], 2_500);
    assert_eq!(shop.adjust(lowered, -1_200).await.data()["payable_cents"], 800);
    assert_eq!(shop.balance().await, 3_300);
    shop.adjust(lowered, -801)
        .await
        .refuses_commissions(&[(lowered, "less than that is left")]);
    shop.adjust(4_711, 1)
        .await
        .refuses_commissions(&[(4_711, "not found")]);
    let refusals = json!({
        "amount_cents is required": [{ "reason": "agreed" }],
        "reason is required": [{ "amount_cents": 1 }],
        "amount_cents must be an integer from -100000000000000 to 100000000000000, not 0": [
            { "amount_cents": 0, "reason": "agreed" },
        ],
    });
    let path = format!("commissions/{raised}/adjust");
    refused_each(400, refusals, |body| shop.post(&path, body)).await;
    shop.refund("t1", 5_000).await;
    assert_eq!(rows::commission(&shop.stack, "t1").await["deducted_cents"], 1_250);
    shop.approve(&[raised, lowered]).await;
    let payout = shop.pay_all().await;
    assert_eq!(payout["amount_cents"], 1_250 + 800);
    shop.refund("t2", 0).await;
    assert_eq!(shop.balance().await, -800);
    shop.stack.verify().await;
}

#[tokio::test]
async fn what_was_raised_paid_and_lowered_again_is_owed_back() {
    let shop = Shop::open().await;
    let first = shop.sell("t1", json!({})).await;
    shop.adjust(first, 500).await.ok();
    shop.approve(&[first]).await;
    assert_eq!(shop.pay_all().await["amount_cents"], 2_500);
    shop.adjust(first, -500).await.ok();
    shop.earn("t2", json!({})).await;
    assert_eq!(shop.pay_all().await["amount_cents"], 1_500);
    assert_eq!(shop.balance().await, 0);
    shop.stack.verify().await;
}

#[tokio::test]
async fn a_commission_added_by_hand_is_shown_exported_and_paid_like_any_other() {
    let shop = Shop::open().await;
    let ada = shop
        .stack
        .account_of("ada@partner.example", &[shop.program.ada.partner_id])
        .await;
    let sold = shop.sell("t1", json!({})).await;
    let answer = shop.add_commission(json!({})).await.created();
    let id = answer.id();
    let added =
        json!({ "amount_cents": 2_500, "payable_cents": 2_500, "currency": "USD", "status": "approved" });
    assert_eq!(*answer.data(), added.with(json!({ "id": id })));
    // A second adjustment is not a repeat of the first.
    shop.add_commission(json!({ "amount_cents": 100 }))
        .await
        .created();
    assert_eq!(shop.balance().await, 2_000 + 2_500 + 100);
    let listed = shop.get("commissions").await.body["data"][1].clone();
    listed.has(json!({
        "id": id, "sale_id": null, "transaction_id": null, "adjusted_cents": 2_500,
        "note": "Best of May",
    }));
    let theirs = shop.stack.get("/api/partner/commissions", &ada.token).await;
    theirs.body["data"][1].has(json!({ "note": "Best of May", "adjusted_cents": 2_500 }));
    let payout = shop.pay_all().await;
    payout.has(json!({ "amount_cents": 2_600, "commission_count": 2 }));
    let file = shop.get("commissions/export.csv").await;
    assert!(file.text().contains(r#","2500","Best of May""#), "{file:?}");
    let file = shop.get(&format!("payouts/{}/export.csv", payout["id"])).await;
    assert_eq!(file.text().lines().count(), 3, "{file:?}");
    // A paid commission can be reduced, but not raised.
    shop.adjust(id, 1)
        .await
        .refuses_commissions(&[(id, "already paid")]);
    shop.reject(&[id]).await.ok();
    assert_eq!(shop.balance().await, 2_000 - 2_500);
    shop.approve(&[sold]).await;
    let payout = shop.post("payouts", json!({ "all_approved": true })).await;
    assert_eq!(payout.body["data"]["amount_cents"], 0, "{payout:?}");
    let told = "notifications WHERE kind = 'commission_added'
                AND message LIKE 'Commission % of 25.00 USD was added by hand: Best of May'";
    shop.stack.reaches(told, 1).await;
    assert_eq!(audited(&shop.stack, "commission.added").await, 2);
    shop.stack.verify().await;
}

#[tokio::test]
async fn a_partner_is_notified_of_amounts_in_the_currencys_own_unit() {
    let shop = Shop::open().await;
    for (transaction_id, currency) in [("t1", "JPY"), ("t2", "KWD"), ("t3", "USD")] {
        shop.sell(transaction_id, json!({ "currency": currency })).await;
        shop.refund(transaction_id, 2_500).await;
    }
    let told = "unnest(ARRAY['500 JPY', '0.500 KWD', '5.00 USD']) amount
                JOIN notifications ON message LIKE 'Commission % was refunded: ' || amount || ' deducted.'";
    shop.stack.reaches(told, 3).await;
}

#[tokio::test]
async fn a_commission_is_added_once_by_key_and_only_to_members_of_the_program() {
    let shop = Shop::open().await;
    let stranger = shop.stack.program().await.ada.membership;
    let refusals = json!({
        "amount_cents must be an integer from 1 to 100000000000000": [{ "amount_cents": 0 }],
        "amount_cents is required": [{ "amount_cents": null }],
        "currency must be a currency code of three letters": [{ "currency": "dollars" }],
        "currency is required": [{ "currency": null }],
        "note is required": [{ "note": "" }],
        "partner_program_id is required": [{ "partner_program_id": null }],
    });
    refused_each(400, refusals, |more| shop.add_commission(more)).await;
    let foreign = shop
        .add_commission(json!({ "partner_program_id": stranger }))
        .await;
    foreign.refused(404, "Partner not found");
    let keyed = async |amount_cents: i64| {
        let body = json!({
            "partner_program_id": shop.program.ada.membership, "amount_cents": amount_cents, "currency": "EUR", "note": "May",
        });
        shop.post_keyed("commissions", "may", body).await
    };
    let (one, other) = futures::future::join(keyed(700), keyed(700)).await;
    assert_eq!(one.created().body, other.created().body);
    keyed(701).await.is(409);
    assert_eq!(shop.stack.count("commissions").await, 1);
    shop.stack.verify().await;
}

#[tokio::test]
async fn an_adjustment_with_an_idempotency_key_is_made_once() {
    let shop = Shop::open().await;
    let (first, second) = (shop.sell("t1", json!({})).await, shop.sell("t2", json!({})).await);
    let keyed = async |key: &str, id: i64, amount_cents: i64| {
        let body = json!({ "amount_cents": amount_cents, "reason": "agreed" });
        shop.post_keyed(&format!("commissions/{id}/adjust"), key, body)
            .await
    };
    let twice = futures::future::join(keyed("may", first, 500), keyed("may", first, 500)).await;
    for answer in [twice.0, twice.1] {
        assert_eq!(answer.ok().data()["amount_cents"], 2_500);
    }
    for (id, amount_cents) in [(first, 501), (second, 500)] {
        keyed("may", id, amount_cents).await.is(409);
    }
    assert_eq!(shop.balance().await, 2_500 + 2_000);
    let logged = "audit_log WHERE action = 'commission.adjusted' AND details ->> 'currency' = 'USD'";
    assert_eq!(shop.stack.count(logged).await, 1);
    // A refused request leaves its key unused.
    for _ in 0..2 {
        let refused = keyed("june", first, -9_000).await;
        refused.refuses_commissions(&[(first, "less than that is left")]);
    }
    shop.stack.verify().await;
}

#[tokio::test]
async fn a_sale_that_earned_nothing_is_made_up_for_once() {
    let shop = Shop::open().await;
    shop.sell("earned", json!({})).await;
    shop.stack.execute("DELETE FROM commission_policies").await;
    let sale = sell(&shop.stack, &shop.program, "unpaid", 10_000, json!({})).await;
    let unpaid = &sale.body["sale_id"];
    let made_up = async |transaction_id: &str| {
        shop.add_commission(json!({ "transaction_id": transaction_id }))
            .await
    };
    made_up("unknown").await.refused(404, "Sale not found");
    let message = "This sale has earned a commission already";
    made_up("earned").await.refused(409, message);
    let answer = made_up("unpaid").await.created();
    made_up("unpaid").await.refused(409, message);
    let listed = shop.get("commissions").await.body["data"][0].clone();
    listed.has(json!({ "transaction_id": "unpaid", "note": "Best of May" }));
    assert_eq!(&listed["sale_id"], unpaid);
    shop.refund("unpaid", 0).await;
    assert_eq!(shop.balance().await, 2_000 + 2_500);
    shop.reject(&[answer.id()]).await.ok();
    made_up("unpaid").await.created();
    shop.stack.verify().await;
}

#[tokio::test]
async fn operators_change_and_add_commissions_once_they_agree() {
    let shop = Shop::open().await;
    let id = shop.sell("t1", json!({})).await;
    let (program, member) = (shop.program.program_id, shop.program.ada.membership);
    let run =
        async |words: String| ctl(&shop.stack, &format!("commission {words} --program-id {program}")).await;
    run(format!("reject {id} --reason odd")).await.fails("--yes");
    let less = format!("adjust {id} --reason agreed --amount-cents -500");
    run(format!("{less} --dry-run"))
        .await
        .says("1500 cents USD left, pending");
    assert_eq!(shop.balance().await, 2_000);
    run(format!("{less} --yes")).await.says("");
    assert_eq!(shop.balance().await, 1_500);
    let bonus = "add --amount-cents 700 --currency USD --note bonus --yes --partner-program-id";
    run(format!("{bonus} {member}"))
        .await
        .says("700 cents USD for ada");
    assert_eq!(shop.balance().await, 2_200);
    let reject = format!("reject {id} --reason odd --yes");
    run(reject.clone()).await.says("");
    run(reject).await.fails(&format!("{id} (reversed)"));
    assert_eq!(shop.balance().await, 700);
    let logged = "audit_log WHERE action LIKE 'commission.%'";
    assert_eq!(shop.stack.count(logged).await, 3);
    shop.stack.verify().await;
}
