//! Commissions from approval to payout: listed, approved, paid in batches, exported. Amounts are exact under
//! concurrency.

use chrono::TimeDelta;
use futures::future::{join, join_all};
use reqwest::StatusCode;
use runtime::clock::Clock;
use serde_json::{Value, json};
use test_harness::{Json, Shop, noon, rows, sell};

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
    shop.lists(
        "commissions",
        "id",
        json!({
            "status=pending": [first],
            "status=paid": [],
            (of(shop.program.ada.membership)): [second, first],
            (of(shop.program.bruno.membership)): [],
            (of(rival)): [],
        }),
    )
    .await;
    shop.refuses(
        "commissions",
        json!({
            "status=open": "status must be one of pending, approved, paid, refunded, reversed",
            "partner_program_id=x": "partner_program_id must be an integer",
            "page=0": "page must be a positive integer",
        }),
    )
    .await;
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
    let audited: Value = shop
        .stack
        .value("SELECT jsonb_agg(details ORDER BY id) FROM audit_log WHERE action = 'commission.approved'")
        .await;
    assert_eq!(
        audited,
        json!([{ "commission_ids": [approved] }, { "commission_ids": [pending] }])
    );
    for (body, message) in [
        (json!({}), "commission_ids is required"),
        (
            json!({ "commission_ids": [] }),
            "commission_ids must be an array of 1 to 1000 integers",
        ),
        (
            json!({ "commission_ids": ["1"] }),
            "commission_ids must be an array of 1 to 1000 integers",
        ),
    ] {
        shop.post("commissions/approve", body).await.refused(400, message);
    }
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
    let audited: Value = shop
        .stack
        .value("SELECT to_jsonb(a) FROM audit_log a WHERE action = 'payout.created' ORDER BY id LIMIT 1")
        .await;
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
    let message = "A payout is in one currency; these commissions are in EUR, USD";
    for body in [
        json!({ "commission_ids": [dollars, euros] }),
        json!({ "all_approved": true }),
    ] {
        shop.post("payouts", body).await.refused(400, message);
    }
    let one_of_them = json!({ "commission_ids": [dollars, euros], "currency": "EUR" });
    let refused = shop.post("payouts", one_of_them).await;
    refused.refuses_commissions(&[(dollars, "in USD")]);
    let payout = shop.pay(json!({ "all_approved": true, "currency": "eur" })).await;
    payout.has(json!({ "currency": "EUR", "amount_cents": 2_000 }));
    assert_eq!(shop.balance().await, 2_000);
    let payout = shop.pay_all().await;
    assert_eq!(payout["currency"], "USD");
    let neither = "commission_ids or all_approved is required, not both";
    for (body, message) in [
        (json!({}), neither),
        (json!({ "all_approved": true, "commission_ids": [1] }), neither),
        (
            json!({ "all_approved": true, "currency": "dollars" }),
            "currency must be a currency code of three letters",
        ),
        (
            json!({ "all_approved": true, "reference": "x".repeat(201) }),
            "reference must be at most 200 characters",
        ),
        (json!({ "all_approved": 1 }), "all_approved must be a boolean"),
    ] {
        shop.post("payouts", body).await.refused(400, message);
    }
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
    for answer in &answers {
        assert_eq!(
            (answer.status, &answer.body),
            (StatusCode::CREATED, &answers[0].body)
        );
    }
    assert_eq!(shop.stack.count("payouts").await, 1);
    for another in [
        json!({ "all_approved": true, "currency": "EUR" }),
        json!({ "all_approved": true, "reference": "May" }),
        json!({ "commission_ids": ids }),
    ] {
        let message = "This Idempotency-Key was used for another request";
        order("may", another).await.refused(409, message);
    }
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
async fn verify_finds_payouts_that_do_not_agree_with_the_books() {
    let shop = Shop::open().await;
    let (first, second) = (shop.sell("t1", json!({})).await, shop.sell("t2", json!({})).await);
    shop.approve(&[first, second]).await;
    shop.pay(json!({ "commission_ids": [first] })).await;
    for (damage, invariant) in [
        (
            "UPDATE payouts SET amount_cents = amount_cents + 1",
            "a payout is the sum of its partners' ledger entries, one a commission",
        ),
        (
            "UPDATE commissions SET payout_id = NULL WHERE status = 'paid'",
            "a commission is paid by one payout, of its program and currency",
        ),
        (
            "UPDATE commissions SET status = 'paid', paid_at = now(), payout_id = 1 WHERE status = 'approved'",
            "a payout pays what refunds had left of a commission, once",
        ),
        (
            "UPDATE partner_program_balances SET balance_cents = balance_cents + 1",
            "no more is owed to a partner than is left of their unpaid commissions",
        ),
    ] {
        let broken = shop.stack.broken_by(damage).await;
        assert!(broken.contains(&invariant), "{damage}: {broken:?}");
    }
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
        .eventually("the partner is notified of the other refund", async || {
            shop.stack
                .count("notifications WHERE kind = 'commission_deducted'")
                .await
                == 1
        })
        .await;
    let told = shop
        .stack
        .value::<String>("SELECT message FROM notifications")
        .await;
    assert!(
        told.starts_with(&format!("Commission {kept} was reversed: 20.00 USD")),
        "{told}"
    );
    shop.stack.verify().await;
}

#[tokio::test]
async fn exports_are_files_that_no_spreadsheet_runs() {
    let shop = Shop::open().await;
    shop.stack
        .execute(&format!(
            "UPDATE partners SET name = '=HYPERLINK(\"http://evil.example\")' WHERE id = {}",
            shop.program.ada.partner_id
        ))
        .await;
    let id = shop.earn("@cmd|x", json!({})).await;
    let payout = shop
        .pay(json!({ "all_approved": true, "reference": "-May, \"2\"" }))
        .await;
    let commissions = shop.get("commissions/export.csv?status=paid").await;
    assert_eq!(commissions.header("content-type"), "text/csv; charset=utf-8");
    assert_eq!(
        commissions.header("content-disposition"),
        format!(
            "attachment; filename=\"commissions-{}.csv\"",
            shop.program.program_id
        )
    );
    let lines: Vec<_> = commissions.text().split("\r\n").collect();
    assert!(
        lines[0].starts_with(
            r#""commission_id","sale_id","transaction_id","partner_id","partner_name","amount_cents","#
        ),
        "{lines:?}"
    );
    let sale_id = &rows::sale(&shop.stack, "@cmd|x").await["id"];
    let ada = shop.program.ada.partner_id;
    let begin = format!(
        r#""{id}","{sale_id}","'@cmd|x","{ada}","'=HYPERLINK(""http://evil.example"")","2000","0","2000","USD","paid","","#
    );
    assert!(lines[1].starts_with(&begin), "{lines:?}");
    assert_eq!(lines[2..], [""]);
    let file = shop.get(&format!("payouts/{}/export.csv", payout["id"])).await;
    let text = file.text();
    let begin = format!(r#""{}","'-May, ""2""","{id}","#, payout["id"]);
    assert!(text.contains(&begin), "{text}");
    assert!(text.contains(r#","2000","0","2000","USD","#), "{text}");
    // No commission matches: the file has a heading alone.
    let none = shop.get("commissions/export.csv?status=reversed").await;
    assert_eq!(none.text().matches("\r\n").count(), 1);
    shop.stack.verify().await;
}

#[tokio::test]
async fn an_export_of_many_pieces_has_every_commission_once() {
    let shop = Shop::open().await;
    shop.sell("t1", json!({})).await;
    let many = 2_345;
    // In the ledger the commission looks like one of a sale.
    shop.stack
        .execute(&format!(
            "INSERT INTO sale_events (event_id, program_id, customer_id, processor_event_id, amount_cents, currency, sale_type,
                 is_recurring, sale_date)
             SELECT gen_random_uuid(), program_id, customer_id, 'more-' || n, amount_cents, currency, sale_type, false, sale_date
             FROM sale_events, generate_series(1, {many}) n;
             INSERT INTO commissions (sale_id, program_id, customer_id, partner_program_id, partner_id, referral_link_id,
                 amount_cents, currency, policy_id, commission_type, hold_until)
             SELECT s.id, c.program_id, c.customer_id, c.partner_program_id, c.partner_id, c.referral_link_id,
                 c.amount_cents, c.currency, c.policy_id, c.commission_type, c.hold_until
             FROM sale_events s, commissions c WHERE s.processor_event_id LIKE 'more-%'"
        ))
        .await;
    let file = shop.get("commissions/export.csv").await;
    let text = file.text();
    let mut ids: Vec<i64> = text
        .lines()
        .skip(1)
        .map(|line| line.split(',').next().unwrap().trim_matches('"').parse().unwrap())
        .collect();
    assert_eq!(ids.len(), many + 1);
    assert!(ids.is_sorted());
    ids.dedup();
    assert_eq!(ids.len(), many + 1);
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
    let partners: i64 = shop
        .stack
        .value("SELECT min(id) FROM notifications WHERE recipient = 'partner'")
        .await;
    let marked = async |body: Value| {
        let answer = shop.post("notifications/read", body).await;
        answer.body["data"]["marked"].clone()
    };
    assert_eq!(
        marked(json!({ "ids": [newest["id"], partners, 999_999] })).await,
        1
    );
    assert_eq!(marked(json!({ "ids": [newest["id"]] })).await, 0);
    let unread = shop.get("notifications?unread=true").await;
    assert_eq!(*unread.total(), 1);
    assert_ne!(unread.body["data"][0]["id"], newest["id"]);
    assert_eq!(marked(json!({ "all": true })).await, 1);
    let theirs = shop
        .stack
        .count("notifications WHERE recipient = 'partner' AND read_at IS NULL")
        .await;
    assert_eq!(theirs, 2);
    for body in [json!({}), json!({ "ids": [1], "all": true })] {
        let answer = shop.post("notifications/read", body).await;
        answer.refused(400, "ids or all is required, not both");
    }
    let answer = shop.get("notifications?unread=maybe").await;
    answer.refused(400, "unread must be true or false");
    shop.stack.verify().await;
}
