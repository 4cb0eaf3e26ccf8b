//! Commissions from approval to payout: listed, approved, paid in batches, exported. Amounts are exact under
//! concurrency.

use chrono::TimeDelta;
use futures::future::{join, join_all};
use reqwest::StatusCode;
use runtime::clock::Clock;
use serde_json::{Value, json};
use test_harness::{Json, Shop, managed::audit_details, noon, refused_each, rows, sell, statuses};

#[tokio::test]
async fn commissions_are_listed_newest_first_and_filtered() {
    let shop = Shop::open().await;
    let first = shop.sell("t1", json!({})).await;
    let second = shop.earn("t2", json!({ "currency": "EUR" })).await;
    let list = shop.read("commissions").await;
    assert_eq!(list.column("id"), json!([second, first]));
    let shown = &list[0];
    shown.has(json!({
        "transaction_id": "t2", "sale_id": rows::sale(&shop.stack, "t2").await["id"].clone(),
        "partner_program_id": shop.program.ada.membership,
        "partner": { "id": shop.program.ada.partner_id, "name": "ada" }, "amount_cents": 2000,
        "deducted_cents": 0, "payable_cents": 2000, "currency": "EUR", "status": "approved",
        "refund_reason": null, "paid_at": null, "payout_id": null,
    }));
    assert!(shown["approved_at"].is_string() && shown["hold_until"].is_string());
    // A membership of another program is none here.
    let rival = shop.stack.program().await.ada.membership;
    let of = |membership| format!("partner_program_id={membership}");
    let expected = json!({
        "status=pending": [first],
        "status=paid": [],
        (of(shop.program.ada.membership)): [second, first],
        (of(shop.program.bruno.membership)): [],
        (of(rival)): [],
    });
    shop.lists("commissions", "id", expected).await;
    let refusals = json!({
        "status=open": "status must be one of pending, approved, paid, refunded, reversed",
        "partner_program_id=x": "partner_program_id must be an integer",
        "page=0": "page must be a positive integer",
    });
    shop.refuses("commissions", refusals).await;
    shop.stack.verify().await;
}

#[tokio::test]
async fn a_list_is_approved_whole_or_not_at_all() {
    let shop = Shop::open().await;
    let rival = shop.stack.program().await;
    shop.stack.customer(&rival, &rival.ada.code, "user-1").await;
    let theirs = sell(&shop.stack, &rival, "theirs", 10_000, json!({})).await;
    let theirs = theirs.body["commission_id"].as_i64().unwrap();
    let (pending, approved) = (shop.sell("t1", json!({})).await, shop.sell("t2", json!({})).await);
    let reversed = shop.sell("t3", json!({})).await;
    shop.approve(&[approved]).await;
    shop.refund("t3", 0).await;
    let nobodys = 999_999;
    let ids = [pending, approved, reversed, theirs, nobodys];
    let answer = shop
        .post("commissions/approve", json!({ "commission_ids": ids }))
        .await;
    let mut expected = [
        (approved, "approved commissions cannot be approved"),
        (reversed, "reversed commissions cannot be approved"),
        (theirs, "not found"),
        (nobodys, "not found"),
    ];
    expected.sort_unstable();
    answer.refuses_commissions(&expected);
    assert_eq!(rows::commission(&shop.stack, "t1").await["status"], "pending");
    assert_eq!(rows::commission(&shop.stack, "theirs").await["status"], "pending");
    shop.approve(&[pending]).await;
    let approvals = [approved, pending].map(|id| json!({ "commission_ids": [id] }));
    assert_eq!(audit_details(&shop.stack, "commission.approved").await, approvals);
    let refusals = json!({
        "commission_ids is required": [{}],
        "commission_ids must be an array of 1 to 1000 integers": [
            { "commission_ids": [] }, { "commission_ids": ["1"] },
        ],
    });
    refused_each(400, refusals, |body| shop.post("commissions/approve", body)).await;
    shop.stack.verify().await;
}

#[tokio::test]
async fn a_payout_pays_approved_commissions_and_what_refunds_have_left() {
    let mut shop = Shop::open_at(Clock::manual(noon())).await;
    let (whole, part) = (shop.sell("t1", json!({})).await, shop.sell("t2", json!({})).await);
    let (held, pending) = (shop.sell("t3", json!({})).await, shop.sell("t4", json!({})).await);
    shop.approve(&[whole, part]).await;
    shop.refund("t2", 2_500).await;
    // A refund before the approval: the commission stays held.
    shop.refund("t3", 5_000).await;
    let ids = json!({ "commission_ids": [whole, part, held, pending] });
    let refused = shop.post("payouts", ids).await;
    refused.refuses_commissions(&[(held, "on hold"), (pending, "pending")]);
    let payout = shop
        .pay(json!({ "commission_ids": [part, whole], "reference": "=May" }))
        .await;
    payout.has(json!({ "amount_cents": 3_500, "commission_count": 2, "currency": "USD" }));
    assert_eq!(
        payout["partners"],
        json!([{
            "partner_program_id": shop.program.ada.membership,
            "partner": { "id": shop.program.ada.partner_id, "name": "ada" },
            "commission_count": 2, "requested_cents": 3_500, "shortfall_cents": 0, "amount_cents": 3_500,
        }])
    );
    assert_eq!(shop.balance().await, 3_000);
    for (transaction_id, status) in [("t1", "paid"), ("t2", "refunded")] {
        let commission = rows::commission(&shop.stack, transaction_id).await;
        assert_eq!(commission["status"], status, "{transaction_id}");
        assert_eq!(commission["payout_id"], payout["id"]);
        assert!(commission["paid_at"].is_string());
    }
    let repeated = shop.post("payouts", json!({ "commission_ids": [whole] })).await;
    repeated.refuses_commissions(&[(whole, "already paid")]);
    shop.post("payouts", json!({ "all_approved": true }))
        .await
        .refused(400, "There is nothing to pay");
    // The hold period is over: the rest of the third commission is payable.
    shop.stack
        .clock
        .advance(TimeDelta::days(15) + TimeDelta::seconds(1));
    shop.stack.sign_in_again(&mut shop.owner).await;
    let rest = shop.pay(json!({ "commission_ids": [held] })).await;
    assert_eq!(rest["amount_cents"], 1_000);
    let list = shop.get("payouts?pageSize=1").await;
    assert_eq!(*list.total(), 2);
    assert_eq!(list.body["data"][0]["id"], rest["id"]);
    let read = shop.get(&format!("payouts/{}", payout["id"])).await;
    assert_eq!(read.body["data"], payout);
    let query = "SELECT to_jsonb(a) FROM audit_log a WHERE action = 'payout.created' ORDER BY id LIMIT 1";
    let audited: Value = shop.stack.value(query).await;
    audited.has(json!({ "subject_id": payout["id"], "actor_id": shop.owner.user_id.get() }));
    assert_eq!(audited["details"]["amount_cents"], 3_500);
    // A refund after the payout takes the balance below zero.
    shop.refund("t1", 0).await;
    assert_eq!(shop.balance().await, 0);
    shop.refund("t2", 0).await;
    assert_eq!(shop.balance().await, -1_500);
    shop.stack.verify().await;
}

#[tokio::test]
async fn who_owes_is_paid_less_and_what_is_held_advances_nothing() {
    let shop = Shop::open().await;
    shop.earn("t1", json!({})).await;
    shop.pay_all().await;
    shop.refund("t1", 0).await;
    assert_eq!(shop.balance().await, -2_000);
    let (second, held) = (
        shop.sell("t2", json!({ "amount_cents": 7_500 })).await,
        shop.sell("t3", json!({ "amount_cents": 7_500 })).await,
    );
    shop.approve(&[second]).await;
    // 15.00 approved, 15.00 held, 20.00 owed.
    assert_eq!(shop.balance().await, 1_000);
    let payout = shop.pay(json!({ "commission_ids": [second] })).await;
    assert_eq!(payout["amount_cents"], 0);
    assert_eq!(payout["partners"][0]["shortfall_cents"], 1_500);
    assert_eq!(rows::commission(&shop.stack, "t2").await["status"], "paid");
    assert_eq!(shop.balance().await, 1_000);
    shop.approve(&[held]).await;
    let payout = shop.pay_all().await;
    assert_eq!(payout["amount_cents"], 1_000);
    payout["partners"][0].has(json!({ "requested_cents": 1_500, "shortfall_cents": 500 }));
    assert_eq!(shop.balance().await, 0);
    let file = shop.get(&format!("payouts/{}/export.csv", payout["id"])).await;
    assert!(file.text().contains(r#","1500","500","1000","USD","#), "{file:?}");
    // A commission that settled a debt counts as paid: a refund makes it a debt again.
    shop.refund("t2", 0).await;
    assert_eq!(shop.balance().await, -1_500);
    shop.stack.verify().await;
}

#[tokio::test]
async fn a_payout_is_in_one_currency() {
    let shop = Shop::open().await;
    let dollars = shop.sell("t1", json!({})).await;
    let euros = shop.sell("t2", json!({ "currency": "EUR" })).await;
    shop.approve(&[dollars, euros]).await;
    let refusals = json!({
        "A payout is in one currency; these commissions are in EUR, USD": [
            { "commission_ids": [dollars, euros] }, { "all_approved": true },
        ],
        "commission_ids or all_approved is required, not both": [
            {}, { "all_approved": true, "commission_ids": [1] },
        ],
        "currency must be a currency code of three letters": [{ "all_approved": true, "currency": "dollars" }],
        "reference must be at most 200 characters": [{ "all_approved": true, "reference": "x".repeat(201) }],
        "all_approved must be a boolean": [{ "all_approved": 1 }],
    });
    refused_each(400, refusals, |body| shop.post("payouts", body)).await;
    let one_of_them = json!({ "commission_ids": [dollars, euros], "currency": "EUR" });
    let refused = shop.post("payouts", one_of_them).await;
    refused.refuses_commissions(&[(dollars, "in USD")]);
    let payout = shop.pay(json!({ "all_approved": true, "currency": "eur" })).await;
    payout.has(json!({ "currency": "EUR", "amount_cents": 2_000 }));
    assert_eq!(shop.balance().await, 2_000);
    let payout = shop.pay_all().await;
    assert_eq!(payout["currency"], "USD");
    shop.stack.verify().await;
}

#[tokio::test]
async fn the_same_idempotency_key_is_the_same_payout() {
    let shop = Shop::open().await;
    let ids = [shop.sell("t1", json!({})).await, shop.sell("t2", json!({})).await];
    shop.approve(&ids).await;
    let order = |key: &'static str, body: Value| shop.post_keyed("payouts", key, body);
    let pay = |key: &'static str| order(key, json!({ "all_approved": true }));
    let answers = join_all((0..8).map(|_| pay("may"))).await;
    assert!(answers.iter().all(|answer| answer.body == answers[0].body));
    assert_eq!(statuses(answers), [201; 8]);
    assert_eq!(shop.stack.count("payouts").await, 1);
    let others = json!({
        "This Idempotency-Key was used for another request": [
            { "all_approved": true, "currency": "EUR" },
            { "all_approved": true, "reference": "May" },
            { "commission_ids": ids },
        ],
    });
    refused_each(409, others, |body| order("may", body)).await;
    pay("june").await.refused(400, "There is nothing to pay");
    let spoilt = pay("").await;
    spoilt.refused(400, "Idempotency-Key must be 1 to 200 plain characters");
    shop.stack.verify().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_payouts_at_once_each_commission_is_paid_by_one() {
    let shop = Shop::open().await;
    let mut ids = Vec::new();
    for n in 0..30 {
        ids.push(shop.sell(&format!("t{n}"), json!({})).await);
    }
    shop.approve(&ids).await;
    let halves = [&ids[..20], &ids[10..], &ids[..20], &ids[10..]];
    let lists = halves.map(|half| shop.post("payouts", json!({ "commission_ids": half })));
    let all = (0..4).map(|_| shop.post("payouts", json!({ "all_approved": true })));
    let (lists, all) = join(join_all(lists), join_all(all)).await;
    let mut paid = 0;
    for answer in lists.iter().chain(&all) {
        match answer.status {
            StatusCode::CREATED => paid += answer.body["data"]["amount_cents"].as_i64().unwrap(),
            status => assert_eq!(status, StatusCode::BAD_REQUEST, "{answer:?}"),
        }
    }
    // The last request may have found some commissions left.
    let rest = shop.post("payouts", json!({ "all_approved": true })).await;
    paid += rest.body["data"]["amount_cents"].as_i64().unwrap_or(0);
    assert_eq!(paid, 30 * 2_000);
    assert_eq!(shop.balance().await, 0);
    assert_eq!(shop.stack.count("ledger_entries WHERE kind = 'payout'").await, 30);
    shop.stack.verify().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn refunds_and_sales_racing_a_payout_leave_exact_books() {
    let shop = Shop::open().await;
    let mut ids = Vec::new();
    for n in 0..24 {
        ids.push(shop.sell(&format!("t{n}"), json!({})).await);
    }
    shop.approve(&ids).await;
    let refunds = (0..24).map(|n| {
        let shop = &shop;
        async move { shop.refund(&format!("t{n}"), 401 * (n + 1)).await }
    });
    let sales = (0..12).map(|n| {
        let shop = &shop;
        async move { shop.sell(&format!("later{n}"), json!({})).await }
    });
    let payouts = ids.chunks(4).map(|some| {
        let shop = &shop;
        async move {
            for id in some {
                let answer = shop.post("payouts", json!({ "commission_ids": [id] })).await;
                if answer.status != StatusCode::CREATED {
                    answer.refuses_commissions(&[(*id, "already paid")]);
                }
            }
            let all = shop.post("payouts", json!({ "all_approved": true })).await;
            if all.status != StatusCode::CREATED {
                all.refused(400, "There is nothing to pay");
            }
        }
    });
    join(join(join_all(refunds), join_all(sales)), join_all(payouts)).await;
    let paid = "SELECT count(*) FROM commissions WHERE paid_at IS NOT NULL";
    assert_eq!(shop.stack.value::<i64>(paid).await, 24);
    let sums = |what: &'static str| shop.stack.value::<i64>(what);
    // The amount received is the rest of the paid commissions plus the debts from refunds after the payout.
    let received = sums("SELECT -sum(amount_cents)::bigint FROM ledger_entries WHERE kind = 'payout'").await;
    let left =
        sums("SELECT sum(amount_cents - deducted_cents)::bigint FROM commissions WHERE paid_at IS NOT NULL")
            .await;
    let debt = sums("SELECT coalesce(sum(debt_cents), 0)::bigint FROM partner_program_debts").await;
    assert_eq!(received - left, debt);
    shop.stack.verify().await;
}

#[tokio::test]
async fn a_commission_of_nothing_ends_its_life_like_any_other() {
    let shop = Shop::open().await;
    shop.earn("t1", json!({ "amount_cents": 1 })).await;
    let payout = shop.pay_all().await;
    payout.has(json!({ "amount_cents": 0, "commission_count": 1 }));
    assert_eq!(rows::commission(&shop.stack, "t1").await["status"], "paid");
    // The refund deducts zero, so it notifies no one.
    shop.refund("t1", 0).await;
    let kept = shop.sell("t2", json!({})).await;
    shop.refund("t2", 0).await;
    shop.stack
        .reaches("notifications WHERE kind = 'commission_deducted'", 1)
        .await;
    let told: String = shop.stack.value("SELECT message FROM notifications").await;
    let reversed = format!("Commission {kept} was reversed: 20.00 USD");
    assert!(told.starts_with(&reversed), "{told}");
    shop.stack.verify().await;
}

/// The table of `access.yaml` has no member with this permission alone.
#[tokio::test]
async fn looking_at_the_books_is_one_permission_and_paying_another() {
    let shop = Shop::open().await;
    let reader = shop
        .stack
        .member_of(&shop.program, "reader@program.example")
        .await;
    shop.stack.permit(&shop.program, &reader, "program:read").await;
    let id = shop.earn("t1", json!({})).await;
    for path in [
        "commissions",
        "commissions/export.csv",
        "payouts",
        "notifications",
    ] {
        shop.stack.get(&shop.path(path), &reader.token).await.ok();
    }
    for (path, body) in [
        ("commissions/approve", json!({ "commission_ids": [id] })),
        ("payouts", json!({ "commission_ids": [id] })),
        ("notifications/read", json!({ "all": true })),
    ] {
        let answer = shop
            .stack
            .submit(&shop.path(path), Some(&reader.token), body)
            .await;
        assert_eq!(answer.status, StatusCode::FORBIDDEN, "{path}");
    }
}

#[tokio::test]
async fn the_advertisers_notifications_are_listed_and_marked() {
    let shop = Shop::open().await;
    let id = shop.earn("t1", json!({})).await;
    shop.pay_all().await;
    shop.refund("t1", 2_500).await;
    shop.refund("t1", 5_000).await;
    shop.stack
        .eventually("notifications arrive", async || {
            shop.get("notifications").await.body["meta"]["pagination"]["total"] == 2
        })
        .await;
    let list = shop.get("notifications?pageSize=1").await;
    let newest = &list.body["data"][0];
    assert_eq!(newest["kind"], "paid_commission_deducted");
    assert_eq!(newest["deduction"]["commission_id"], id);
    assert_eq!(newest["read_at"], Value::Null);
    let query = "SELECT min(id) FROM notifications WHERE recipient = 'partner'";
    let partners: i64 = shop.stack.value(query).await;
    let marked = async |body: Value| shop.post("notifications/read", body).await.data()["marked"].clone();
    let ids = json!({ "ids": [newest["id"], partners, 999_999] });
    assert_eq!(marked(ids).await, 1);
    assert_eq!(marked(json!({ "ids": [newest["id"]] })).await, 0);
    let unread = shop.get("notifications?unread=true").await;
    assert_eq!(*unread.total(), 1);
    assert_ne!(unread.body["data"][0]["id"], newest["id"]);
    assert_eq!(marked(json!({ "all": true })).await, 1);
    let theirs = "notifications WHERE recipient = 'partner' AND read_at IS NULL";
    assert_eq!(shop.stack.count(theirs).await, 2);
    let refusals = json!({ "ids or all is required, not both": [{}, { "ids": [1], "all": true }] });
    refused_each(400, refusals, |body| shop.post("notifications/read", body)).await;
    let refusals = json!({ "unread=maybe": "unread must be true or false" });
    shop.refuses("notifications", refusals).await;
    shop.stack.verify().await;
}
