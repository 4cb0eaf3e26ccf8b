//! Outbound events that a processor's events cause: those that wait for an operator, and changes by the
//! others.

use reqwest::StatusCode;
use serde_json::{Value, json};

use super::shop::{Payment, Shape, Shop};
use test_harness::outbound_events::{outbound_bodies, outbound_types, want_all};
use test_harness::sale_of;

fn payment(shop: &Shop, name: &str) -> Payment {
    Payment {
        shape: Shape::Acacia,
        name: name.to_owned(),
        customer_key: "user-1".to_owned(),
        subscription: None,
        cents: 5_000,
        began: shop.opened,
    }
}

#[tokio::test]
async fn events_that_wait_for_a_person_make_one_outbound_event() {
    let shop = Shop::open().await;
    let (program, silent) = (shop.program().await, shop.program().await);
    want_all(&shop.stack, &program).await;
    let mut unreadable = payment(&shop, "1").checkout();
    unreadable["data"]["object"]["currency"] = json!("dollars");
    let mut reinstated = payment(&shop, "2").disputed(5_000);
    reinstated["type"] = json!("charge.dispute.funds_reinstated");
    for event in [&unreadable, &reinstated, &unreadable] {
        shop.process(&program, event).await;
        shop.process(&silent, event).await;
    }
    let said: Vec<Value> = outbound_bodies(&shop.stack, &program)
        .await
        .iter()
        .map(|body| {
            json!([
                body["type"],
                body["data"]["processor_event_id"],
                body["data"]["state"]
            ])
        })
        .collect();
    assert_eq!(
        said,
        [
            json!(["processor_event.needs_review", "evt_checkout_1", "stuck"]),
            json!(["processor_event.needs_review", "evt_disputed_2", "review"]),
        ]
    );
    assert_eq!(shop.stack.count("processor_events").await, 4);
    assert_eq!(outbound_bodies(&shop.stack, &silent).await, [Value::Null; 0]);
}

#[tokio::test]
async fn a_refund_in_another_currency_makes_one_event_however_often_its_payment_is_read() {
    let shop = Shop::open().await;
    let program = shop.program().await;
    shop.stack.customer(&program, &program.ada.code, "user-1").await;
    want_all(&shop.stack, &program).await;
    let payment = payment(&shop, "1");
    shop.process(&program, &payment.checkout()).await;
    let mut refunded = payment.charge_refunded(1_000);
    refunded["data"]["object"]["currency"] = json!("eur");
    shop.process(&program, &refunded).await;
    shop.process(&program, &payment.charge_refunded(2_000)).await;
    let bodies = outbound_bodies(&shop.stack, &program).await;
    let types: Vec<&Value> = bodies.iter().map(|body| &body["type"]).collect();
    assert_eq!(
        types,
        [
            "sale.recorded",
            "commission.created",
            "processor_event.needs_review",
            "sale.refunded",
            "commission.reversed"
        ]
    );
    assert_eq!(bodies[2]["data"]["reason"], "currency_differs");
    assert_eq!(bodies[3]["data"]["refunded_cents"], 2_000);
}

#[tokio::test]
async fn a_sale_that_is_undone_makes_the_event_of_a_refund() {
    let shop = Shop::open().await;
    let program = shop.program().await;
    shop.stack.customer(&program, &program.ada.code, "user-1").await;
    want_all(&shop.stack, &program).await;
    for name in ["pi_1", "in_1"] {
        shop.stack.sold(&program, sale_of(name, "user-1")).await;
    }
    let mut payment = payment(&shop, "1");
    payment.shape = Shape::Basil;
    shop.process(&program, &payment.invoice_payment()).await;
    let bodies = outbound_bodies(&shop.stack, &program).await;
    assert_eq!(bodies.len(), 6, "{bodies:?}");
    let (refunded, reversed) = (&bodies[4], &bodies[5]);
    assert_eq!(
        (&refunded["type"], &reversed["type"]),
        (&json!("sale.refunded"), &json!("commission.reversed"))
    );
    assert_eq!(refunded["data"]["transaction_id"], "in_1");
    assert_eq!(refunded["data"]["total_refunded_cents"], 5_000);
    let reason = refunded["data"]["refund_reason"].as_str().unwrap();
    assert!(reason.starts_with("the payment is sale "), "{reason}");
    assert_eq!(reversed["data"]["status"], "reversed");
    shop.stack.verify().await;
}

#[tokio::test]
async fn tests_of_an_advertiser_tell_nothing() {
    let shop = Shop::open().await;
    let program = shop.program().await;
    want_all(&shop.stack, &program).await;
    let request = shop
        .stack
        .request(reqwest::Method::POST, "/api/v1/cli/test-event")
        .bearer_auth(&program.token)
        .body(json!({ "type": "chain" }).to_string());
    let answer = shop.stack.send(request).await;
    assert_eq!(answer.status, StatusCode::OK, "{answer:?}");
    assert_eq!(answer.body["data"]["attributed"], true);
    assert_eq!(outbound_types(&shop.stack, &program).await, [""; 0]);
    assert_eq!(shop.stack.count("outbound_events").await, 0);
}
