//! Several of a payment's ids arrive in reports, before and after the service can know that they mean one
//! payment.

use serde_json::{Value, json};

use super::shop::{Payment, Shop};
use test_harness::{Answer, Json, Program, refund_of, rows, sale_of, statuses};

/// A payment that the processor has not reported yet.
fn payment(shop: &Shop) -> Payment {
    shop.payment("1").basil()
}

async fn sale(shop: &Shop, program: &Program, transaction_id: &str, customer_key: &str) -> Answer {
    let cents = json!({ "amount_cents": 4900 });
    let body = sale_of(transaction_id, customer_key).with(cents);
    shop.stack.sale(program, body).await
}

async fn refund(shop: &Shop, program: &Program, transaction_id: &str, id: &str, cents: i64) -> Answer {
    let body = refund_of(transaction_id, cents).with(json!({ "refund_id": id }));
    shop.stack.refund(program, body).await
}

/// Two sales of one payment, and then the event that connects them.
async fn told_too_late(shop: &Shop, program: &Program, customers: [&str; 2]) -> [Value; 2] {
    for (name, customer) in ["pi_1", "in_1"].into_iter().zip(customers) {
        sale(shop, program, name, customer).await.ok();
    }
    shop.process(program, &payment(shop).invoice_payment()).await;
    [
        rows::sale(&shop.stack, "pi_1").await,
        rows::sale(&shop.stack, "in_1").await,
    ]
}

#[tokio::test]
async fn the_later_of_two_sales_of_one_payment_is_undone() {
    let (shop, program) = Shop::selling().await;
    let [standing, undone] = told_too_late(&shop, &program, ["user-1", "user-1"]).await;
    assert_eq!(undone["duplicate_of"], standing["id"]);
    assert!(standing["duplicate_of"].is_null());
    assert_eq!(rows::commission(&shop.stack, "in_1").await["status"], "reversed");
    assert_eq!(rows::commission(&shop.stack, "pi_1").await["status"], "pending");
    assert_eq!(shop.stack.balance(program.ada.membership).await, 980);
    for name in ["pi_1", "in_1"] {
        sale(&shop, &program, name, "user-1").await.is(409);
    }
    let part = refund(&shop, &program, "in_1", "re_1", 2450).await;
    assert_eq!(part.body["status"], "refunded", "{part:?}");
    assert_eq!(shop.stack.balance(program.ada.membership).await, 490);
    shop.stack.verify().await;
}

#[tokio::test]
async fn what_was_refunded_of_a_sale_that_is_undone_is_refunded_of_the_one_that_stands() {
    let (shop, program) = Shop::selling().await;
    let payment = payment(&shop);
    // So far only the later sale has this id of the payment.
    shop.report(&program, &payment.charge_refunded(1225)).await;
    for name in ["in_1", "ch_1"] {
        sale(&shop, &program, name, "user-1").await.ok();
    }
    shop.settled().await;
    assert_eq!(shop.stack.balance(program.ada.membership).await, 980 + 735);
    for (name, id, cents) in [
        ("in_1", "re_1", 490),
        ("ch_1", "re_1", 490),
        ("ch_1", "re_2", 2450),
    ] {
        refund(&shop, &program, name, id, cents).await.ok();
    }
    shop.process(&program, &payment.invoice_payment()).await;
    let standing = rows::sale(&shop.stack, "in_1").await;
    assert_eq!(standing["api_refunded_cents"], 490 + 2450, "re_1 is one refund");
    assert_eq!(standing["processor_refunded_cents"], 1225);
    assert_eq!(shop.stack.balance(program.ada.membership).await, 980 - 588);
    shop.stack.verify().await;
}

#[tokio::test]
async fn a_customer_whose_only_sale_is_undone_has_not_bought() {
    let (shop, program) = Shop::selling().await;
    let other = shop.stack.customer(&program, &program.bruno.code, "user-2").await;
    told_too_late(&shop, &program, ["user-1", "user-2"]).await;
    let customer = rows::customer(&shop.stack, &other).await;
    assert_eq!(customer["status"], "lead");
    assert!(customer["first_purchase_date"].is_null());
    assert_eq!(shop.stack.balance(program.bruno.membership).await, 0);
    shop.stack.verify().await;
}

#[tokio::test]
async fn a_name_that_is_known_in_time_makes_a_sale_a_duplicate_and_finds_it_for_refunds() {
    let (shop, program) = Shop::selling().await;
    let other = shop.program().await;
    let payment = payment(&shop);
    shop.report(&program, &payment.invoice_payment()).await;
    shop.process(&program, &payment.charge_succeeded()).await;
    refund(&shop, &program, "ch_1", "re_1", 2450).await.is(404);
    sale(&shop, &program, "pi_1", "user-1").await.ok();
    let duplicate = sale(&shop, &program, "in_1", "user-1").await.is(409);
    assert_eq!(
        duplicate.message(),
        "Duplicate transaction_id. This sale has already been recorded."
    );
    assert!(rows::sale(&shop.stack, "in_1").await.is_null());
    refund(&shop, &other, "ch_1", "re_1", 2450).await.is(404);
    refund(&shop, &program, "ch_1", "re_2", 2450).await.ok();
    assert_eq!(shop.stack.balance(program.ada.membership).await, 490);
    shop.stack.verify().await;
}

#[tokio::test]
async fn sales_of_one_payment_that_meet_in_a_worker_are_one() {
    let (shop, program) = Shop::selling().await;
    let mut names = Vec::new();
    for n in 0..20 {
        let payment = shop.payment(&n.to_string()).basil();
        shop.report(&program, &payment.invoice_payment()).await;
        names.extend([payment.id("pi"), payment.id("in")]);
    }
    shop.settled().await;
    let sold = names.iter().map(|name| sale(&shop, &program, name, "user-1"));
    let answers = futures::future::join_all(sold).await;
    for pair in answers.chunks(2) {
        assert_eq!(statuses(pair.to_vec()), [200, 409], "{pair:?}");
    }
    assert_eq!(shop.stack.count("sale_events").await, 20);
    shop.stack.verify().await;
}
