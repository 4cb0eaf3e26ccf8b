//! One customer's timeline: the events from the first click to the payout, and their causes.

use reqwest::StatusCode;
use serde_json::{Value, json};
use test_harness::{Answer, Json, Shop};

/// The id of the customer with a key, from the list of events.
async fn id_of(shop: &Shop, customer_key: &str) -> i64 {
    let found = shop.get(&format!("events?type=lead&search={customer_key}")).await;
    found.body["data"][0]["customer_id"].as_i64().unwrap()
}

async fn timeline(shop: &Shop, customer_id: i64) -> Value {
    shop.read(&format!("customers/{customer_id}")).await
}

fn kinds(customer: &Value) -> Vec<&str> {
    let happened = customer["timeline"].as_array().unwrap().iter();
    happened.map(|one| one["kind"].as_str().unwrap()).collect()
}

fn of_kind<'a>(customer: &'a Value, kind: &str) -> Vec<&'a Value> {
    let happened = customer["timeline"].as_array().unwrap().iter();
    happened.filter(|one| one["kind"] == kind).collect()
}

#[tokio::test]
async fn a_journey_goes_from_the_click_to_the_payout_and_says_why() {
    let shop = Shop::open().await;
    let commission_id = shop.sell("t1", json!({ "product_id": "pro" })).await;
    shop.refund("t1", 2_500).await;
    shop.approve(&[commission_id]).await;
    let paid = json!({ "commission_ids": [commission_id], "reference": "March" });
    let payout = shop.pay(paid).await;
    // Other customers' events are not in it.
    shop.stack
        .customer(&shop.program, &shop.program.bruno.code, "user-2")
        .await;

    let id = id_of(&shop, "user-1").await;
    let customer = timeline(&shop, id).await;
    let happened = "click lead sale commission ledger refund ledger payout";
    assert_eq!(kinds(&customer).join(" "), happened);
    customer.has(json!({ "id": id, "customer_key": "user-1", "status": "conversion" }));
    customer.has(json!({ "erased_at": null, "has_older_events": false }));
    let times = customer["timeline"].column("timestamp");
    let times = times.as_array().unwrap().iter().map(Value::as_str);
    assert!(times.is_sorted());

    let commission = of_kind(&customer, "commission")[0];
    assert_eq!(commission["commission_id"], commission_id);
    commission.has(json!({ "amount_cents": 2_000, "currency": "USD" }));
    let about = &commission["commission"];
    about.has(json!({ "payable_cents": 1_500, "status": "refunded" }));
    assert!(about["paid_at"].is_string(), "{about}");
    let why = &about["why_partner"];
    why.has(json!({
        "attribution_model": "last_click", "referral_link_code": shop.program.ada.code,
        "clicked_at": of_kind(&customer, "click")[0]["timestamp"],
    }));
    let rate = &about["why_rate"];
    rate.has(json!({
        "rate_bps": 2_000, "fixed_cents": null, "product_id": null, "commissionable_cents": 10_000,
    }));
    let policy: i64 = shop.stack.value("SELECT policy_id FROM commissions").await;
    assert_eq!(rate["policy_id"], policy);

    // Every movement of the balance is shown, so the movements add up to the balance.
    let moved = |kind| {
        of_kind(&customer, kind)
            .into_iter()
            .map(|one| one["ledger"]["amount_cents"].as_i64().unwrap())
    };
    let moved: Vec<i64> = moved("ledger").chain(moved("payout")).collect();
    assert_eq!(moved, [2_000, -500, -1_500]);
    assert_eq!(shop.balance().await, 0);
    let paid_out = of_kind(&customer, "payout")[0];
    assert_eq!(paid_out["payout_id"], payout["id"]);
    assert_eq!(paid_out["amount_cents"], 1_500);
    assert_eq!(paid_out["ledger"]["payout_reference"], "March");
    let refund = of_kind(&customer, "refund")[0];
    refund.has(json!({ "amount_cents": 2_500, "sale_id": commission["sale_id"] }));
}

#[tokio::test]
async fn earnings_are_for_who_may_read_the_program() {
    let shop = Shop::open().await;
    shop.sell("t1", json!({})).await;
    let id = id_of(&shop, "user-1").await;
    let member = shop.stack.member_of(&shop.program, "m@x.example").await;
    let path = shop.path(&format!("customers/{id}"));
    let as_member = async |permissions: &str| -> Answer {
        shop.stack.permit(&shop.program, &member, permissions).await;
        shop.stack.get(&path, &member.token).await
    };
    as_member("program:read")
        .await
        .refused(403, "You do not have access to this resource");
    let without = as_member("tracking:list").await.body["data"].clone();
    assert_eq!(kinds(&without), ["click", "lead", "sale"]);
    assert_eq!(without["shows_earnings"], false);
    assert_eq!(without["timeline"][2]["event"]["commissions"], Value::Null);
    let with = as_member("tracking:list,program:read").await.body["data"].clone();
    assert_eq!(kinds(&with), ["click", "lead", "sale", "commission", "ledger"]);
    assert_eq!(with["shows_earnings"], true);
}

#[tokio::test]
async fn a_customer_is_of_one_program_and_of_nobody_elses() {
    let shop = Shop::open().await;
    let id = id_of(&shop, "user-1").await;
    let other = shop.stack.program().await;
    let owner = shop.stack.owner_of(&other).await;
    let path = other.path(&format!("customers/{id}"));
    let foreign = shop.stack.get(&path, &owner.token).await;
    foreign.refused(404, "Customer not found");
    shop.get("customers/999999999")
        .await
        .refused(404, "Customer not found");
    assert_eq!(shop.get("customers/abc").await.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn of_an_erased_customer_the_books_are_left() {
    let shop = Shop::open().await;
    shop.sell("t1", json!({})).await;
    let id = id_of(&shop, "user-1").await;
    shop.post("customers/erase", json!({ "customer_key": "user-1" }))
        .await
        .ok();

    let customer = timeline(&shop, id).await;
    customer.has(json!({ "customer_key": null, "click_id": format!("erased_{id}") }));
    assert!(customer["erased_at"].is_string(), "{customer}");
    assert_eq!(
        kinds(&customer),
        ["click", "lead", "sale", "commission", "ledger"]
    );
    assert!(!customer.to_string().contains("user-1"), "{customer}");
    let found = shop.get("events?search=user-1").await;
    assert_eq!(found.body["data"], json!([]));
}

#[tokio::test]
async fn a_renewal_says_whose_first_payment_it_follows() {
    let shop = Shop::open().await;
    let first = json!({ "sale_type": "subscription", "subscription_id": "sub-1", "subscription_interval": "monthly" });
    shop.sell("t1", first.clone()).await;
    shop.sell("t2", first).await;
    let id = id_of(&shop, "user-1").await;
    let customer = timeline(&shop, id).await;
    let commissions = of_kind(&customer, "commission");
    let first_payment = |nth: usize| &commissions[nth]["commission"]["why_partner"]["first_payment_at"];
    assert_eq!(commissions.len(), 2, "{customer}");
    assert_eq!(first_payment(0), &Value::Null);
    assert_eq!(first_payment(1), &of_kind(&customer, "sale")[0]["timestamp"]);
}
