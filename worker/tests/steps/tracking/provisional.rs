//! Browser leads of a program that requires its backend's confirmation: settled by the backend or by a
//! payment.

use serde_json::json;
use test_harness::{
    Stack,
    leads::{NOT_FOUND, browser, server},
    rows, sale_of,
};

#[tokio::test]
async fn a_key_proposed_for_two_customers_names_neither() {
    let (stack, program) = Stack::with_program().await;
    rows::set(&stack, &program, "lead_auth = 'server_required'").await;
    for code in [&program.ada.code, &program.bruno.code] {
        let click_id = stack.click(code).await;
        browser(&stack, json!({ "click_id": click_id, "customer_key": "user-1" })).await;
    }
    server(&stack, &program, json!({ "customer_key": "user-1" }))
        .await
        .refused(400, NOT_FOUND);
    let body = sale_of("t1", "user-1");
    stack
        .sale(&program, body)
        .await
        .refused(400, "Customer not found. Provide customer_key or click_id.");
    stack.verify().await;
}
