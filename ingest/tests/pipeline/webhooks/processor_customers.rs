//! Finds the customer of payments that name only the processor's customer or a merchant's reference, in every
//! order of events.

use chrono::TimeDelta;
use reqwest::{Method, StatusCode};
use runtime::clock::Clock;
use serde_json::{Value, json};

use super::shop::{Payment, Shape, Shop, event, nameless, of_customer};
use test_harness::{Answer, Program, noon, rows, succeeds};

const CUSTOMER: &str = "cus_1";

fn payment(shop: &Shop, name: &str, subscription: Option<&str>) -> Payment {
    Payment {
        shape: Shape::Basil,
        name: name.to_owned(),
        customer_key: "user-1".to_owned(),
        subscription: subscription.map(str::to_owned),
        cents: 4900,
        began: shop.opened,
    }
}

fn renewal(shop: &Shop, name: &str) -> Value {
    let renewal = payment(shop, name, Some("sub_1")).invoice("invoice.paid", "subscription_cycle");
    nameless(of_customer(renewal, CUSTOMER))
}

/// Begins a subscription without a sale.
fn subscribed(shop: &Shop, name: &str) -> Value {
    of_customer(payment(shop, name, Some("sub_1")).checkout(), CUSTOMER)
}

async fn becomes(shop: &Shop, id: &str, state: &str, reason: Option<&str>) {
    shop.stack
        .eventually(&format!("{id} is {state}: {reason:?}"), async || {
            shop.event(id).await == (state.to_owned(), reason.map(str::to_owned))
        })
        .await;
}

async fn payload_is_kept(shop: &Shop, id: &str) -> bool {
    sqlx::query_scalar("SELECT payload IS NOT NULL FROM processor_events WHERE processor_event_id = $1")
        .bind(id)
        .fetch_one(shop.stack.pool())
        .await
        .unwrap()
}

/// A call of the program's owner.
async fn manage(shop: &Shop, program: &Program, token: &str, method: Method, body: Option<Value>) -> Answer {
    let path = format!(
        "/api/advertiser/affiliate-programs/{}/processor-customers",
        program.program_id
    );
    let request = shop.stack.request(method, &path).bearer_auth(token);
    let request = match body {
        Some(body) => request.json(&body),
        None => request,
    };
    shop.stack.send(request).await
}

#[tokio::test]
async fn a_renewal_without_names_is_its_processor_customers_in_both_orders() {
    for first_named in [true, false] {
        let shop = Shop::open().await;
        let program = shop.program().await;
        shop.stack.customer(&program, &program.ada.code, "user-1").await;
        if first_named {
            shop.process(&program, &subscribed(&shop, "1")).await;
            shop.report(&program, &renewal(&shop, "2")).await;
        } else {
            shop.report(&program, &renewal(&shop, "2")).await;
            becomes(&shop, "evt_invoice.paid_2", "parked", Some("customer_not_found")).await;
            assert_eq!(rows::claims(&shop.stack, "in_2").await, 0);
            shop.report(&program, &subscribed(&shop, "1")).await;
        }
        shop.settled().await;
        becomes(&shop, "evt_invoice.paid_2", "done", None).await;
        assert_eq!(shop.stack.balance(program.ada.membership).await, 980);
        shop.stack.verify().await;
    }
}

#[tokio::test]
async fn customers_and_subscriptions_name_themselves() {
    let shop = Shop::open().await;
    let program = shop.program().await;
    shop.stack.customer(&program, &program.ada.code, "user-1").await;
    shop.stack.customer(&program, &program.bruno.code, "user-2").await;
    let named = |id: &str, kind: &str, key: &str, object: Value| {
        let mut object = object;
        object["metadata"] = json!({ "tracker_customer_key": key });
        event(id, kind, shop.opened, object)
    };
    let customer = json!({ "id": "cus_1", "object": "customer" });
    let subscription = json!({ "id": "sub_9", "object": "subscription", "customer": "cus_2" });
    shop.report(&program, &named("evt_a", "customer.updated", "user-1", customer))
        .await;
    let created = named("evt_b", "customer.subscription.created", "user-2", subscription);
    shop.process(&program, &created).await;
    for customer in ["cus_1", "cus_2"] {
        let paid = payment(&shop, customer, None).checkout();
        shop.report(&program, &nameless(of_customer(paid, customer)))
            .await;
    }
    shop.settled().await;
    assert_eq!(shop.stack.balance(program.ada.membership).await, 980);
    assert_eq!(shop.stack.balance(program.bruno.membership).await, 980);
    shop.stack.verify().await;
}

#[tokio::test]
async fn a_merchants_reference_is_a_click_id_or_a_customer_key() {
    let shop = Shop::open().await;
    let program = shop.program().await;
    shop.stack.customer(&program, &program.ada.code, "user-1").await;
    let click_id = shop.stack.click(&program.bruno.code).await;
    for (name, reference) in [("1", "user-1"), ("2", click_id.as_str())] {
        let mut paid = nameless(payment(&shop, name, None).checkout());
        paid["data"]["object"]["client_reference_id"] = json!(reference);
        shop.report(&program, &paid).await;
    }
    let mut both = payment(&shop, "3", None).checkout();
    both["data"]["object"]["client_reference_id"] = json!(click_id);
    shop.process(&program, &both).await;
    // The metadata takes precedence.
    assert_eq!(shop.stack.balance(program.ada.membership).await, 2 * 980);
    assert_eq!(shop.stack.balance(program.bruno.membership).await, 980);
    shop.stack.verify().await;
}

#[tokio::test]
async fn a_customer_of_before_the_integration_is_bound_by_hand() {
    let shop = Shop::open().await;
    let program = shop.program().await;
    shop.stack.customer(&program, &program.ada.code, "user-1").await;
    shop.stack.customer(&program, &program.bruno.code, "user-2").await;
    shop.report(&program, &renewal(&shop, "1")).await;
    becomes(&shop, "evt_invoice.paid_1", "parked", Some("customer_not_found")).await;
    let owner = shop.stack.owner_of(&program).await;
    let body = json!({ "processor_customer_id": CUSTOMER, "customer_key": "user-1" });
    let bound = manage(&shop, &program, &owner.token, Method::POST, Some(body)).await;
    assert_eq!(bound.status, StatusCode::CREATED, "{bound:?}");
    assert_eq!(bound.body["data"]["customer_key"], "user-1");
    becomes(&shop, "evt_invoice.paid_1", "done", None).await;
    assert_eq!(shop.stack.balance(program.ada.membership).await, 980);
    let program_id = program.program_id.to_string();
    let command = [
        "customer",
        "bind",
        "--program-id",
        &program_id,
        "--processor-customer",
        CUSTOMER,
    ];
    succeeds(
        &shop.stack,
        &[&command[..], &["--customer-key", "user-2"]].concat(),
    )
    .await;
    let listed = succeeds(&shop.stack, &["customer", "bound", "--program-id", &program_id]).await;
    assert!(listed.out.contains("cus_1  customer_key user-2"), "{listed:?}");
    shop.process(&program, &renewal(&shop, "2")).await;
    assert_eq!(shop.stack.balance(program.bruno.membership).await, 980);
    for wrong in [
        json!({ "customer_key": "user-1" }),
        json!({ "processor_customer_id": CUSTOMER }),
        json!({ "processor_customer_id": "", "customer_key": "user-1" }),
        json!({ "processor_customer_id": CUSTOMER, "click_id": "cust_x" }),
    ] {
        let refused = manage(&shop, &program, &owner.token, Method::POST, Some(wrong)).await;
        assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{refused:?}");
    }
    let bindings = "SELECT count(*) FROM audit_log WHERE action = 'processor_customer.bound'";
    assert_eq!(shop.stack.value::<i64>(bindings).await, 2);
    shop.stack.verify().await;
}

#[tokio::test]
async fn who_was_named_first_stays_and_a_conflict_is_reported() {
    let shop = Shop::open().await;
    let program = shop.program().await;
    shop.stack.customer(&program, &program.ada.code, "user-1").await;
    shop.stack.customer(&program, &program.bruno.code, "user-2").await;
    shop.process(&program, &subscribed(&shop, "1")).await;
    let other = Payment {
        customer_key: "user-2".to_owned(),
        ..payment(&shop, "2", None)
    };
    shop.report(&program, &of_customer(other.checkout(), CUSTOMER))
        .await;
    shop.process(&program, &renewal(&shop, "3")).await;
    // The payment's own metadata names its customer.
    assert_eq!(shop.stack.balance(program.bruno.membership).await, 980);
    assert_eq!(shop.stack.balance(program.ada.membership).await, 980);
    becomes(
        &shop,
        "evt_checkout_2",
        "done",
        Some("processor_customer_differs"),
    )
    .await;
    let owner = shop.stack.owner_of(&program).await;
    let listed = manage(&shop, &program, &owner.token, Method::GET, None).await;
    assert_eq!(listed.body["data"][0]["customer_key"], "user-1", "{listed:?}");
    assert!(listed.body["data"][0]["contested_at"].is_string(), "{listed:?}");
    shop.stack.verify().await;
}

#[tokio::test]
async fn what_nobody_claims_ends_quietly() {
    let shop = Shop::open_at(Clock::manual(noon())).await;
    let program = shop.program().await;
    shop.report(&program, &renewal(&shop, "1")).await;
    becomes(&shop, "evt_invoice.paid_1", "parked", Some("customer_not_found")).await;
    assert!(payload_is_kept(&shop, "evt_invoice.paid_1").await);
    shop.stack
        .clock
        .set(noon() + TimeDelta::days(3) + TimeDelta::minutes(1));
    shop.stack
        .execute("UPDATE processor_events SET relay_after = now() WHERE state = 'parked'")
        .await;
    becomes(&shop, "evt_invoice.paid_1", "done", Some("customer_not_found")).await;
    assert!(!payload_is_kept(&shop, "evt_invoice.paid_1").await);
    // A guest has no customer at the processor.
    let guest = nameless(payment(&shop, "2", None).checkout());
    shop.process(&program, &guest).await;
    assert_eq!(shop.event("evt_checkout_2").await, ("done".to_owned(), None));
    shop.stack.verify().await;
}

#[tokio::test]
async fn an_erasure_takes_the_binding_and_what_waits_for_it() {
    let shop = Shop::open().await;
    let program = shop.program().await;
    let click_id = shop.stack.customer(&program, &program.ada.code, "user-1").await;
    shop.report(&program, &subscribed(&shop, "1")).await;
    // Waits for its sale, and keeps the processor's customer.
    let refunded = payment(&shop, "8", None).charge_refunded(100);
    shop.report(&program, &nameless(of_customer(refunded, CUSTOMER)))
        .await;
    becomes(&shop, "evt_refunded_100_8", "parked", Some("sale_missing")).await;
    shop.settled().await;
    let owner = shop.stack.owner_of(&program).await;
    let path = |what: &str| {
        let programs = "/api/advertiser/affiliate-programs";
        format!("{programs}/{}/customers/{what}", program.program_id)
    };
    let named = json!({ "click_id": click_id });
    let export = shop
        .stack
        .submit(&path("export"), Some(&owner.token), named.clone())
        .await;
    let exported = &export.body["data"]["processor_customers"];
    assert_eq!(exported[0]["processor_customer_id"], CUSTOMER, "{export:?}");
    let erased = shop.stack.submit(&path("erase"), Some(&owner.token), named).await;
    assert_eq!(erased.body["data"]["processor_customers"], 1, "{erased:?}");
    assert_eq!(shop.stack.count("processor_customers").await, 0);
    assert!(!payload_is_kept(&shop, "evt_refunded_100_8").await);
    shop.report(&program, &renewal(&shop, "2")).await;
    becomes(&shop, "evt_invoice.paid_2", "parked", Some("customer_not_found")).await;
    shop.stack.verify().await;
}
