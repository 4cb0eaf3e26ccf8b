//! Outbound events that a processor's events cause: those that wait for an operator, and changes by the
//! others.

use serde_json::{Value, json};

use super::shop::Shop;
use test_harness::outbound_events::{outbound_bodies, outbound_types, want_all};
use test_harness::{Json, sale_of};

#[tokio::test]
async fn events_that_wait_for_a_person_make_one_outbound_event() {
    let shop = Shop::open().await;
    let (program, silent) = (shop.program().await, shop.program().await);
    want_all(&shop.stack, &program).await;
    let mut unreadable = shop.payment("1").of_cents(5_000).checkout();
    unreadable["data"]["object"]["currency"] = json!("dollars");
    let mut reinstated = shop.payment("2").of_cents(5_000).disputed(5_000);
    reinstated["type"] = json!("charge.dispute.funds_reinstated");
    for event in [&unreadable, &reinstated, &unreadable] {
        shop.process(&program, event).await;
        shop.process(&silent, event).await;
    }
    let bodies = outbound_bodies(&shop.stack, &program).await;
    for (body, event, state) in [
        (&bodies[0], "evt_checkout_1", "stuck"),
        (&bodies[1], "evt_disputed_2", "review"),
    ] {
        assert_eq!(body["type"], "processor_event.needs_review");
        body["data"].has(json!({ "processor_event_id": event, "state": state }));
    }
    assert_eq!(bodies.len(), 2, "{bodies:?}");
    assert_eq!(shop.stack.count("processor_events").await, 4);
    assert_eq!(outbound_bodies(&shop.stack, &silent).await, [Value::Null; 0]);
}

#[tokio::test]
async fn a_refund_in_another_currency_makes_one_event_however_often_its_payment_is_read() {
    let (shop, program) = Shop::selling().await;
    want_all(&shop.stack, &program).await;
    let payment = shop.payment("1").of_cents(5_000);
    shop.process(&program, &payment.checkout()).await;
    let mut refunded = payment.charge_refunded(1_000);
    refunded["data"]["object"]["currency"] = json!("eur");
    shop.process(&program, &refunded).await;
    shop.process(&program, &payment.charge_refunded(2_000)).await;
    let bodies = outbound_bodies(&shop.stack, &program).await;
    let types = [
        "sale.recorded",
        "commission.created",
        "processor_event.needs_review",
        "sale.refunded",
        "commission.reversed",
    ];
    assert_eq!(outbound_types(&shop.stack, &program).await, types);
    assert_eq!(bodies[2]["data"]["reason"], "currency_differs");
    assert_eq!(bodies[3]["data"]["refunded_cents"], 2_000);
}

#[tokio::test]
async fn a_sale_that_is_undone_makes_the_event_of_a_refund() {
    let (shop, program) = Shop::selling().await;
    want_all(&shop.stack, &program).await;
    for name in ["pi_1", "in_1"] {
        shop.stack.sold(&program, sale_of(name, "user-1")).await;
    }
    let payment = shop.payment("1").basil();
    shop.process(&program, &payment.invoice_payment()).await;
    let bodies = outbound_bodies(&shop.stack, &program).await;
    assert_eq!(bodies.len(), 6, "{bodies:?}");
    assert_eq!(
        json!(bodies[4..]).column("type"),
        json!(["sale.refunded", "commission.reversed"])
    );
    let (refunded, reversed) = (&bodies[4], &bodies[5]);
    refunded["data"].has(json!({ "transaction_id": "in_1", "total_refunded_cents": 5_000 }));
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
    let (path, chain) = ("/api/v1/cli/test-event", json!({ "type": "chain" }));
    let answer = shop.stack.submit(path, Some(&program.token), chain).await;
    assert_eq!(answer.data()["attributed"], true);
    assert_eq!(outbound_types(&shop.stack, &program).await, [""; 0]);
    assert_eq!(shop.stack.count("outbound_events").await, 0);
}
