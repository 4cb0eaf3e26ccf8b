//! Commissions changed by hand: rejected with a reason, or adjusted by an amount; and the effect on balances,
//! payouts and refunds.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use test_harness::{Answer, Shop, ctl, rows, sell};

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
    shop.post("payouts", json!({ "all_approved": true }))
        .await
        .refused(400, "There is nothing to pay");
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
    // The sale can still be refunded; the refund deducts nothing more.
    shop.refund("t1", 2_500).await;
    shop.refund("t1", 0).await;
    assert_eq!(shop.balance().await, 0);
    shop.stack.verify().await;
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
    shop.stack.verify().await;
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
        answer.refused(400, message);
    }
    shop.refund("t1", 5_000).await;
    assert_eq!(rows::commission(&shop.stack, "t1").await["deducted_cents"], 1_250);
    shop.approve(&[raised, lowered]).await;
    let payout = shop.pay(json!({ "all_approved": true })).await;
    assert_eq!(payout["amount_cents"], 1_250 + 800);
    shop.refund("t2", 0).await;
    assert_eq!(shop.balance().await, -800);
    shop.stack.verify().await;
}

#[tokio::test]
async fn what_was_raised_paid_and_lowered_again_is_owed_back() {
    let shop = Shop::open().await;
    let first = shop.sell("t1", json!({})).await;
    assert_eq!(adjust(&shop, first, 500).await.status, StatusCode::OK);
    shop.approve(&[first]).await;
    assert_eq!(
        shop.pay(json!({ "all_approved": true })).await["amount_cents"],
        2_500
    );
    assert_eq!(adjust(&shop, first, -500).await.status, StatusCode::OK);
    let second = shop.sell("t2", json!({})).await;
    shop.approve(&[second]).await;
    assert_eq!(
        shop.pay(json!({ "all_approved": true })).await["amount_cents"],
        1_500
    );
    assert_eq!(shop.balance().await, 0);
    shop.stack.verify().await;
}

async fn add(shop: &Shop, more: Value) -> Answer {
    let mut body = json!({
        "partner_program_id": shop.program.ada.membership, "amount_cents": 2_500, "currency": "USD", "note": "Best of May",
    });
    body.as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    shop.post("commissions", body).await
}

#[tokio::test]
async fn a_commission_added_by_hand_is_shown_exported_and_paid_like_any_other() {
    let shop = Shop::open().await;
    let ada = shop
        .stack
        .account_of("ada@partner.example", &[shop.program.ada.partner_id])
        .await;
    let sold = shop.sell("t1", json!({})).await;
    let answer = add(&shop, json!({})).await;
    assert_eq!(answer.status, StatusCode::CREATED, "{answer:?}");
    let id = answer.body["data"]["id"].as_i64().unwrap();
    assert_eq!(
        answer.body["data"],
        json!({ "id": id, "amount_cents": 2_500, "payable_cents": 2_500, "currency": "USD", "status": "approved" })
    );
    // A second adjustment is not a repeat of the first.
    assert_eq!(
        add(&shop, json!({ "amount_cents": 100 })).await.status,
        StatusCode::CREATED
    );
    assert_eq!(shop.balance().await, 2_000 + 2_500 + 100);
    let listed = shop.get("commissions").await.body["data"][1].clone();
    for (name, value) in [
        ("id", json!(id)),
        ("sale_id", Value::Null),
        ("transaction_id", Value::Null),
        ("adjusted_cents", json!(2_500)),
        ("note", json!("Best of May")),
    ] {
        assert_eq!(listed[name], value, "{name}");
    }
    let theirs = shop.stack.get("/api/partner/commissions", &ada.token).await;
    assert_eq!(
        (
            &theirs.body["data"][1]["note"],
            &theirs.body["data"][1]["adjusted_cents"]
        ),
        (&json!("Best of May"), &json!(2_500))
    );
    let payout = shop.pay(json!({ "all_approved": true })).await;
    assert_eq!(
        (&payout["amount_cents"], &payout["commission_count"]),
        (&json!(2_600), &json!(2))
    );
    let file = shop.get("commissions/export.csv").await;
    assert!(
        file.body.as_str().unwrap().contains(r#","2500","Best of May""#),
        "{file:?}"
    );
    let file = shop.get(&format!("payouts/{}/export.csv", payout["id"])).await;
    assert_eq!(file.body.as_str().unwrap().lines().count(), 3, "{file:?}");
    // A paid commission can be reduced, but not raised.
    assert_eq!(reason(&adjust(&shop, id, 1).await), "already paid");
    assert_eq!(reject(&shop, &[id]).await.status, StatusCode::OK);
    assert_eq!(shop.balance().await, 2_000 - 2_500);
    shop.approve(&[sold]).await;
    let payout = shop.post("payouts", json!({ "all_approved": true })).await;
    assert_eq!(payout.body["data"]["amount_cents"], 0, "{payout:?}");
    shop.stack
        .eventually("the partner is notified", async || {
            let told = "SELECT count(*) FROM notifications WHERE kind = 'commission_added'
                        AND message LIKE 'Commission % of 25.00 USD was added by hand: Best of May'";
            shop.stack.value::<i64>(told).await == 1
        })
        .await;
    let logged = "SELECT count(*) FROM audit_log WHERE action = 'commission.added'";
    assert_eq!(shop.stack.value::<i64>(logged).await, 2);
    shop.stack.verify().await;
}

#[tokio::test]
async fn a_partner_is_notified_of_amounts_in_the_currencys_own_unit() {
    let shop = Shop::open().await;
    for (transaction_id, currency) in [("t1", "JPY"), ("t2", "KWD"), ("t3", "USD")] {
        shop.sell(transaction_id, json!({ "currency": currency })).await;
        shop.refund(transaction_id, 2_500).await;
    }
    shop.stack
        .eventually("the partner is notified of each", async || {
            let matching = "SELECT count(*) FROM unnest(ARRAY['500 JPY', '0.500 KWD', '5.00 USD']) amount
                        JOIN notifications ON message LIKE 'Commission % was refunded: ' || amount || ' deducted.'";
            shop.stack.value::<i64>(matching).await == 3
        })
        .await;
}

#[tokio::test]
async fn a_commission_is_added_once_by_key_and_only_to_members_of_the_program() {
    let shop = Shop::open().await;
    let stranger = shop.stack.program().await.ada.membership;
    for (more, status, message) in [
        (
            json!({ "amount_cents": 0 }),
            400,
            "amount_cents must be an integer from 1 to 100000000000000",
        ),
        (json!({ "amount_cents": null }), 400, "amount_cents is required"),
        (
            json!({ "currency": "dollars" }),
            400,
            "currency must be a currency code of three letters",
        ),
        (json!({ "currency": null }), 400, "currency is required"),
        (json!({ "note": "" }), 400, "note is required"),
        (
            json!({ "partner_program_id": null }),
            400,
            "partner_program_id is required",
        ),
        (
            json!({ "partner_program_id": stranger }),
            404,
            "Partner not found",
        ),
    ] {
        add(&shop, more).await.refused(status, message);
    }
    let keyed = async |amount_cents: i64| {
        let body = json!({
            "partner_program_id": shop.program.ada.membership, "amount_cents": amount_cents, "currency": "EUR", "note": "May",
        });
        let request = shop
            .stack
            .request(Method::POST, &shop.path("commissions"))
            .bearer_auth(&shop.owner.token)
            .header("Idempotency-Key", "may")
            .json(&body);
        shop.stack.send(request).await
    };
    let (one, other) = futures::future::join(keyed(700), keyed(700)).await;
    assert_eq!(
        (one.status, other.status),
        (StatusCode::CREATED, StatusCode::CREATED),
        "{one:?} {other:?}"
    );
    assert_eq!(one.body, other.body);
    let another = keyed(701).await;
    assert_eq!(another.status, StatusCode::CONFLICT, "{another:?}");
    assert_eq!(shop.stack.count("commissions").await, 1);
    shop.stack.verify().await;
}

#[tokio::test]
async fn an_adjustment_with_an_idempotency_key_is_made_once() {
    let shop = Shop::open().await;
    let (first, second) = (shop.sell("t1", json!({})).await, shop.sell("t2", json!({})).await);
    let keyed = async |key: &str, id: i64, amount_cents: i64| {
        let request = shop
            .stack
            .request(Method::POST, &shop.path(&format!("commissions/{id}/adjust")))
            .bearer_auth(&shop.owner.token)
            .header("Idempotency-Key", key)
            .json(&json!({ "amount_cents": amount_cents, "reason": "agreed" }));
        shop.stack.send(request).await
    };
    let twice = futures::future::join(keyed("may", first, 500), keyed("may", first, 500)).await;
    for answer in [&twice.0, &twice.1] {
        assert_eq!(answer.status, StatusCode::OK, "{answer:?}");
        assert_eq!(answer.body["data"]["amount_cents"], 2_500, "{answer:?}");
    }
    for (id, amount_cents) in [(first, 501), (second, 500)] {
        assert_eq!(keyed("may", id, amount_cents).await.status, StatusCode::CONFLICT);
    }
    assert_eq!(shop.balance().await, 2_500 + 2_000);
    let logged = "SELECT count(*) FROM audit_log WHERE action = 'commission.adjusted' AND details ->> 'currency' = 'USD'";
    assert_eq!(shop.stack.value::<i64>(logged).await, 1);
    // A refused request leaves its key unused.
    for _ in 0..2 {
        assert_eq!(
            reason(&keyed("june", first, -9_000).await),
            "less than that is left"
        );
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
    let made_up = async |transaction_id: &str| add(&shop, json!({ "transaction_id": transaction_id })).await;
    made_up("unknown").await.refused(404, "Sale not found");
    let message = "This sale has earned a commission already";
    made_up("earned").await.refused(409, message);
    let answer = made_up("unpaid").await;
    assert_eq!(answer.status, StatusCode::CREATED, "{answer:?}");
    made_up("unpaid").await.refused(409, message);
    let listed = shop.get("commissions").await.body["data"][0].clone();
    assert_eq!(
        (&listed["transaction_id"], &listed["note"]),
        (&json!("unpaid"), &json!("Best of May"))
    );
    assert_eq!(&listed["sale_id"], unpaid);
    shop.refund("unpaid", 0).await;
    assert_eq!(shop.balance().await, 2_000 + 2_500);
    let id = answer.body["data"]["id"].as_i64().unwrap();
    assert_eq!(reject(&shop, &[id]).await.status, StatusCode::OK);
    assert_eq!(
        made_up("unpaid").await.status,
        StatusCode::CREATED,
        "after a rejection"
    );
    shop.stack.verify().await;
}

#[tokio::test]
async fn operators_change_and_add_commissions_once_they_agree() {
    let shop = Shop::open().await;
    let id = shop.sell("t1", json!({})).await.to_string();
    let program = shop.program.program_id.to_string();
    let member = shop.program.ada.membership.to_string();
    let run = async |words: &str, more: &[&str]| {
        let words = words.split_whitespace().chain(["--program-id", &program]);
        let words: Vec<_> = ["commission"]
            .into_iter()
            .chain(words)
            .chain(more.iter().copied())
            .collect();
        ctl(&shop.stack, &words).await
    };
    let asked = run("reject --reason odd", &[&id]).await;
    assert!(!asked.ok && asked.err.contains("--yes"), "{asked:?}");
    let dry = run("adjust --reason agreed --amount-cents -500 --dry-run", &[&id]).await;
    assert!(
        dry.ok && dry.out.contains("1500 cents USD left, pending"),
        "{dry:?}"
    );
    assert_eq!(shop.balance().await, 2_000);
    let done = run("adjust --reason agreed --amount-cents -500 --yes", &[&id]).await;
    assert!(done.ok, "{done:?}");
    assert_eq!(shop.balance().await, 1_500);
    let added = run(
        "add --amount-cents 700 --currency USD --note bonus --yes",
        &["--partner-program-id", &member],
    )
    .await;
    assert!(
        added.ok && added.out.contains("700 cents USD for ada"),
        "{added:?}"
    );
    assert_eq!(shop.balance().await, 2_200);
    assert!(run("reject --reason odd --yes", &[&id]).await.ok);
    let again = run("reject --reason odd --yes", &[&id]).await;
    assert!(
        !again.ok && again.err.contains(&format!("{id} (reversed)")),
        "{again:?}"
    );
    assert_eq!(shop.balance().await, 700);
    let logged = "SELECT count(*) FROM audit_log WHERE action LIKE 'commission.%'";
    assert_eq!(shop.stack.value::<i64>(logged).await, 3);
    shop.stack.verify().await;
}
