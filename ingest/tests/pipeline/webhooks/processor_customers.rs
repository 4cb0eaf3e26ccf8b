//! Finds the customer of payments that name only the processor's customer or a merchant's reference, in every
//! order of events.

use chrono::TimeDelta;
use runtime::clock::Clock;
use serde_json::{Value, json};

use super::shop::{Shop, event, nameless, of_customer};
use test_harness::{Json, ctl, noon, rows, succeeds};

const CUSTOMER: &str = "cus_1";

fn renewal(shop: &Shop, name: &str) -> Value {
    let paid = shop.payment(name).basil().in_subscription("sub_1");
    nameless(of_customer(paid.renewal(), CUSTOMER))
}

/// Begins a subscription without a sale.
fn subscribed(shop: &Shop, name: &str) -> Value {
    let paid = shop.payment(name).basil().in_subscription("sub_1");
    of_customer(paid.checkout(), CUSTOMER)
}

async fn payload_is_kept(shop: &Shop, id: &str) -> bool {
    let kept = format!("processor_events WHERE payload IS NOT NULL AND processor_event_id = '{id}'");
    shop.stack.count(&kept).await == 1
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
            shop.becomes("evt_invoice.paid_2", "parked", "customer_not_found")
                .await;
            assert_eq!(rows::claims(&shop.stack, "in_2").await, 0);
            shop.report(&program, &subscribed(&shop, "1")).await;
        }
        shop.settled().await;
        shop.becomes("evt_invoice.paid_2", "done", None).await;
        assert_eq!(shop.stack.balance(program.ada.membership).await, 980);
        shop.stack.verify().await;
    }
}

#[tokio::test]
async fn customers_and_subscriptions_name_themselves() {
    let (shop, program) = Shop::selling().await;
    shop.stack.customer(&program, &program.bruno.code, "user-2").await;
    let named = |id: &str, kind: &str, key: &str, object: Value| {
        let key = json!({ "metadata": { "tracker_customer_key": key } });
        event(id, kind, shop.opened, object.with(key))
    };
    let customer = json!({ "id": "cus_1", "object": "customer" });
    let updated = named("evt_a", "customer.updated", "user-1", customer);
    shop.report(&program, &updated).await;
    let subscription = json!({ "id": "sub_9", "object": "subscription", "customer": "cus_2" });
    let created = named("evt_b", "customer.subscription.created", "user-2", subscription);
    shop.process(&program, &created).await;
    for customer in ["cus_1", "cus_2"] {
        let paid = shop.payment(customer).basil().checkout();
        shop.report(&program, &nameless(of_customer(paid, customer)))
            .await;
    }
    shop.settled().await;
    assert_eq!(shop.stack.balances(&program).await, [980, 980]);
    shop.stack.verify().await;
}

#[tokio::test]
async fn a_merchants_reference_is_a_click_id_or_a_customer_key() {
    let (shop, program) = Shop::selling().await;
    let click_id = shop.stack.click(&program.bruno.code).await;
    for (name, reference) in [("1", "user-1"), ("2", click_id.as_str())] {
        let mut paid = nameless(shop.payment(name).basil().checkout());
        paid["data"]["object"]["client_reference_id"] = json!(reference);
        shop.report(&program, &paid).await;
    }
    let mut both = shop.payment("3").basil().checkout();
    both["data"]["object"]["client_reference_id"] = json!(click_id);
    shop.process(&program, &both).await;
    // The metadata takes precedence.
    assert_eq!(shop.stack.balances(&program).await, [2 * 980, 980]);
    shop.stack.verify().await;
}

#[tokio::test]
async fn a_customer_of_before_the_integration_is_bound_by_hand() {
    let (shop, program) = Shop::selling().await;
    shop.stack.customer(&program, &program.bruno.code, "user-2").await;
    shop.report(&program, &renewal(&shop, "1")).await;
    shop.becomes("evt_invoice.paid_1", "parked", "customer_not_found")
        .await;
    let owner = shop.stack.owner_of(&program).await;
    let bind = async |body: Value| owner.submit(&program.path("processor-customers"), body).await;
    let bound = bind(json!({ "processor_customer_id": CUSTOMER, "customer_key": "user-1" })).await;
    assert_eq!(bound.created().body["data"]["customer_key"], "user-1");
    shop.becomes("evt_invoice.paid_1", "done", None).await;
    assert_eq!(shop.stack.balances(&program).await, [980, 0]);
    let id = program.program_id;
    let line =
        format!("customer bind --program-id {id} --processor-customer {CUSTOMER} --customer-key user-2");
    succeeds(&shop.stack, &line).await;
    ctl(&shop.stack, &format!("customer bound --program-id {id}"))
        .await
        .says("cus_1  customer_key user-2");
    shop.process(&program, &renewal(&shop, "2")).await;
    assert_eq!(shop.stack.balances(&program).await, [980, 980]);
    for wrong in [
        json!({ "customer_key": "user-1" }),
        json!({ "processor_customer_id": CUSTOMER }),
        json!({ "processor_customer_id": "", "customer_key": "user-1" }),
        json!({ "processor_customer_id": CUSTOMER, "click_id": "cust_x" }),
    ] {
        bind(wrong).await.is(400);
    }
    let bindings = "SELECT count(*) FROM audit_log WHERE action = 'processor_customer.bound'";
    assert_eq!(shop.stack.value::<i64>(bindings).await, 2);
    shop.stack.verify().await;
}

#[tokio::test]
async fn who_was_named_first_stays_and_a_conflict_is_reported() {
    let (shop, program) = Shop::selling().await;
    shop.stack.customer(&program, &program.bruno.code, "user-2").await;
    shop.process(&program, &subscribed(&shop, "1")).await;
    let other = shop.payment("2").basil().by("user-2").checkout();
    shop.report(&program, &of_customer(other, CUSTOMER)).await;
    shop.process(&program, &renewal(&shop, "3")).await;
    // The payment's own metadata names its customer.
    assert_eq!(shop.stack.balance(program.bruno.membership).await, 980);
    assert_eq!(shop.stack.balance(program.ada.membership).await, 980);
    shop.becomes("evt_checkout_2", "done", "processor_customer_differs")
        .await;
    let owner = shop.stack.owner_of(&program).await;
    let listed = owner.get(&program.path("processor-customers")).await;
    assert_eq!(listed.body["data"][0]["customer_key"], "user-1", "{listed:?}");
    assert!(listed.body["data"][0]["contested_at"].is_string(), "{listed:?}");
    shop.stack.verify().await;
}

#[tokio::test]
async fn what_nobody_claims_ends_quietly() {
    let shop = Shop::open_at(Clock::manual(noon())).await;
    let program = shop.program().await;
    shop.report(&program, &renewal(&shop, "1")).await;
    shop.becomes("evt_invoice.paid_1", "parked", "customer_not_found")
        .await;
    assert!(payload_is_kept(&shop, "evt_invoice.paid_1").await);
    shop.stack
        .clock
        .set(noon() + TimeDelta::days(3) + TimeDelta::minutes(1));
    shop.stack
        .execute("UPDATE processor_events SET relay_after = now() WHERE state = 'parked'")
        .await;
    shop.becomes("evt_invoice.paid_1", "done", "customer_not_found")
        .await;
    assert!(!payload_is_kept(&shop, "evt_invoice.paid_1").await);
    // A guest has no customer at the processor.
    let guest = nameless(shop.payment("2").basil().checkout());
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
    let refunded = shop.payment("8").basil().charge_refunded(100);
    shop.report(&program, &nameless(of_customer(refunded, CUSTOMER)))
        .await;
    shop.becomes("evt_refunded_100_8", "parked", "sale_missing").await;
    shop.settled().await;
    let owner = shop.stack.owner_of(&program).await;
    let ask = async |what: &str| {
        let path = program.path(&format!("customers/{what}"));
        owner
            .submit(&path, json!({ "click_id": click_id }))
            .await
            .data()
            .clone()
    };
    let exported = ask("export").await["processor_customers"].clone();
    assert_eq!(exported.column("processor_customer_id"), json!([CUSTOMER]));
    assert_eq!(ask("erase").await["processor_customers"], 1);
    assert_eq!(shop.stack.count("processor_customers").await, 0);
    assert!(!payload_is_kept(&shop, "evt_refunded_100_8").await);
    shop.report(&program, &renewal(&shop, "2")).await;
    shop.becomes("evt_invoice.paid_2", "parked", "customer_not_found")
        .await;
    shop.stack.verify().await;
}
