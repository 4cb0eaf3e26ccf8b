//! Browser leads of a program that wants its backend's word: settled by the backend or by a payment.

use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::leads::{NOT_FOUND, browser, provisional, refused, server, tracked};
use crate::rows;
use crate::stack::Stack;

#[tokio::test]
async fn a_provisional_lead_waits_for_the_backend() {
    let stack = Stack::start().await;
    let program = stack.program().await;
    rows::set(&stack, &program, "lead_auth = 'server_required'").await;
    let click_id = stack.click(&program.ada.code).await;
    // The browser may retry.
    for _ in 0..2 {
        let lead = browser(&stack, json!({ "click_id": click_id, "customer_key": "user-1" })).await;
        assert_eq!((lead.status, lead.body), (StatusCode::OK, provisional()));
    }
    let waiting = rows::customer(&stack, &click_id).await;
    assert_eq!(waiting["status"], "click");
    assert_eq!(waiting["customer_key"], Value::Null);
    assert_eq!(waiting["proposed_customer_key"], "user-1");
    assert_eq!(waiting["signup_date"], Value::Null);
    // The backend knows its own id only: the proposal leads it to the customer.
    let settled = server(&stack, &program, json!({ "customer_key": "user-1" })).await;
    assert_eq!(settled.body, tracked());
    let lead = rows::customer(&stack, &click_id).await;
    assert_eq!(
        (&lead["status"], &lead["customer_key"]),
        (&json!("lead"), &json!("user-1"))
    );
    assert!(lead["signup_date"].is_string());
    stack.verify().await;
    stack.stop().await;
}

#[tokio::test]
async fn a_sale_settles_a_provisional_lead() {
    let stack = Stack::start().await;
    let program = stack.program().await;
    rows::set(&stack, &program, "lead_auth = 'server_required'").await;
    let click_id = stack.click(&program.ada.code).await;
    browser(&stack, json!({ "click_id": click_id, "customer_key": "user-1" })).await;
    let body = json!({ "transaction_id": "t1", "amount_cents": 5000, "customer_key": "user-1" });
    let sale = stack.sale(&program, body).await;
    assert!(sale.body["commission_id"].is_i64(), "{sale:?}");
    let customer = rows::customer(&stack, &click_id).await;
    assert_eq!(
        (&customer["status"], &customer["customer_key"]),
        (&json!("conversion"), &json!("user-1"))
    );
    stack.verify().await;
    stack.stop().await;
}

#[tokio::test]
async fn a_key_proposed_for_two_customers_names_neither() {
    let stack = Stack::start().await;
    let program = stack.program().await;
    rows::set(&stack, &program, "lead_auth = 'server_required'").await;
    for code in [&program.ada.code, &program.bruno.code] {
        let click_id = stack.click(code).await;
        browser(&stack, json!({ "click_id": click_id, "customer_key": "user-1" })).await;
    }
    refused(
        &server(&stack, &program, json!({ "customer_key": "user-1" })).await,
        NOT_FOUND,
    );
    let body = json!({ "transaction_id": "t1", "amount_cents": 5000, "customer_key": "user-1" });
    refused(
        &stack.sale(&program, body).await,
        "Customer not found. Provide customer_key or click_id.",
    );
    stack.verify().await;
    stack.stop().await;
}
