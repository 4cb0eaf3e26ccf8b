//! Several of a payment's ids arrive in reports, before and after the service can know that they mean one
//! payment.

use reqwest::StatusCode;
use serde_json::{Value, json};

use super::shop::{Payment, Shape, Shop};
use test_harness::{Answer, Program, rows};

/// A payment that the processor has not reported yet.
fn payment(shop: &Shop) -> Payment {
    Payment {
        shape: Shape::Basil,
        name: "1".to_owned(),
        customer_key: "user-1".to_owned(),
        subscription: None,
        cents: 4900,
        began: shop.opened,
    }
}

async fn sale(shop: &Shop, program: &Program, transaction_id: &str, customer_key: &str) -> Answer {
    let body =
        json!({ "transaction_id": transaction_id, "amount_cents": 4900, "customer_key": customer_key });
    shop.stack.sale(program, body).await
}

async fn refund(shop: &Shop, program: &Program, transaction_id: &str, id: &str, cents: i64) -> Answer {
    let body = json!({ "transaction_id": transaction_id, "refund_id": id, "refund_amount_cents": cents });
    shop.stack.refund(program, body).await
}

/// Two sales of one payment, and then the event that connects them.
async fn told_too_late(shop: &Shop, program: &Program, customers: [&str; 2]) -> [Value; 2] {
    for (name, customer) in ["pi_1", "in_1"].into_iter().zip(customers) {
        let answer = sale(shop, program, name, customer).await;
        assert_eq!(answer.status, StatusCode::OK, "{answer:?}");
    }
    shop.process(program, &payment(shop).invoice_payment()).await;
    [
        rows::sale(&shop.stack, "pi_1").await,
        rows::sale(&shop.stack, "in_1").await,
    ]
}

#[tokio::test]
async fn the_later_of_two_sales_of_one_payment_is_undone() {
    let shop = Shop::open().await;
    let program = shop.program().await;
    shop.stack.customer(&program, &program.ada.code, "user-1").await;
    let [standing, undone] = told_too_late(&shop, &program, ["user-1", "user-1"]).await;
    assert_eq!(undone["duplicate_of"], standing["id"]);
    assert!(standing["duplicate_of"].is_null());
    assert_eq!(rows::commission(&shop.stack, "in_1").await["status"], "reversed");
    assert_eq!(rows::commission(&shop.stack, "pi_1").await["status"], "pending");
    assert_eq!(shop.stack.balance(program.ada.membership).await, 980);
    for name in ["pi_1", "in_1"] {
        let again = sale(&shop, &program, name, "user-1").await;
        assert_eq!(again.status, StatusCode::CONFLICT, "{again:?}");
    }
    let part = refund(&shop, &program, "in_1", "re_1", 2450).await;
    assert_eq!(part.body["status"], "refunded", "{part:?}");
    assert_eq!(shop.stack.balance(program.ada.membership).await, 490);
    shop.stack.verify().await;
}

#[tokio::test]
async fn what_was_refunded_of_a_sale_that_is_undone_is_refunded_of_the_one_that_stands() {
    let shop = Shop::open().await;
    let program = shop.program().await;
    shop.stack.customer(&program, &program.ada.code, "user-1").await;
    let payment = payment(&shop);
    // So far only the later sale has this id of the payment.
    shop.report(&program, &payment.charge_refunded(1225)).await;
    for name in ["in_1", "ch_1"] {
        let answer = sale(&shop, &program, name, "user-1").await;
        assert_eq!(answer.status, StatusCode::OK, "{answer:?}");
    }
    shop.settled().await;
    assert_eq!(shop.stack.balance(program.ada.membership).await, 980 + 735);
    for (name, id, cents) in [
        ("in_1", "re_1", 490),
        ("ch_1", "re_1", 490),
        ("ch_1", "re_2", 2450),
    ] {
        let answer = refund(&shop, &program, name, id, cents).await;
        assert_eq!(answer.status, StatusCode::OK, "{answer:?}");
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
    let shop = Shop::open().await;
    let program = shop.program().await;
    shop.stack.customer(&program, &program.ada.code, "user-1").await;
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
    let shop = Shop::open().await;
    let program = shop.program().await;
    let other = shop.program().await;
    shop.stack.customer(&program, &program.ada.code, "user-1").await;
    let payment = payment(&shop);
    shop.report(&program, &payment.invoice_payment()).await;
    shop.process(&program, &payment.charge_succeeded()).await;
    let unknown = refund(&shop, &program, "ch_1", "re_1", 2450).await;
    assert_eq!(unknown.status, StatusCode::NOT_FOUND, "{unknown:?}");
    assert_eq!(
        sale(&shop, &program, "pi_1", "user-1").await.status,
        StatusCode::OK
    );
    let duplicate = sale(&shop, &program, "in_1", "user-1").await;
    assert_eq!(duplicate.status, StatusCode::CONFLICT, "{duplicate:?}");
    assert_eq!(
        duplicate.message(),
        "Duplicate transaction_id. This sale has already been recorded."
    );
    assert!(rows::sale(&shop.stack, "in_1").await.is_null());
    let foreign = refund(&shop, &other, "ch_1", "re_1", 2450).await;
    assert_eq!(foreign.status, StatusCode::NOT_FOUND, "{foreign:?}");
    let part = refund(&shop, &program, "ch_1", "re_2", 2450).await;
    assert_eq!(part.status, StatusCode::OK, "{part:?}");
    assert_eq!(shop.stack.balance(program.ada.membership).await, 490);
    shop.stack.verify().await;
}

#[tokio::test]
async fn sales_of_one_payment_that_meet_in_a_worker_are_one() {
    let shop = Shop::open().await;
    let program = shop.program().await;
    shop.stack.customer(&program, &program.ada.code, "user-1").await;
    let names: Vec<String> = (0..20).map(|n| format!("pi_{n}")).collect();
    let mut reported = Vec::new();
    for n in 0..20 {
        let payment = Payment {
            name: n.to_string(),
            ..payment(&shop)
        };
        shop.report(&program, &payment.invoice_payment()).await;
    }
    shop.settled().await;
    for name in &names {
        reported.push(name.clone());
        reported.push(name.replace("pi", "in"));
    }
    let sold = reported.iter().map(|name| sale(&shop, &program, name, "user-1"));
    let answers = futures::future::join_all(sold).await;
    for pair in answers.chunks(2) {
        let mut statuses: Vec<u16> = pair.iter().map(|answer| answer.status.as_u16()).collect();
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 409], "{pair:?}");
    }
    assert_eq!(shop.stack.count("sale_events").await, 20);
    shop.stack.verify().await;
}
