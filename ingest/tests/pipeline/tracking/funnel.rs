//! The whole funnel: click, lead, sale, refund.

use serde_json::json;
use test_harness::{Json, Stack, sale_of};

#[tokio::test]
async fn a_sale_pays_the_partner_and_its_refund_takes_it_back() {
    let (stack, program) = Stack::with_program().await;
    let click = stack.click_with(&program.ada.code, json!({})).await.ok();
    let code = &program.ada.code;
    click
        .body
        .has(json!({ "success": true, "partner_code": code, "cookie_window_days": 90 }));
    let click_id = click.body["click_id"].as_str().unwrap();
    let lead = stack.lead(&program, click_id, "user-1").await;
    assert_eq!(
        lead.body,
        json!({ "success": true, "message": "Lead tracked successfully" })
    );
    let amount = json!({ "amount_cents": 4999 });
    let sale = stack.sold(&program, sale_of("t1", "user-1").with(amount)).await;
    assert_eq!(sale.body["success"], true);
    let commission_id = sale.body["commission_id"].as_i64().unwrap();
    assert!(sale.body["sale_id"].is_i64());
    assert_eq!(stack.balance(program.ada.membership).await, 1000);
    let refund = stack.refund(&program, json!({ "transaction_id": "t1" })).await;
    assert_eq!(
        refund.body,
        json!({ "success": true, "status": "reversed", "deductionAmount": 10.0, "commission_id": commission_id })
    );
    assert_eq!(stack.balance(program.ada.membership).await, 0);
    stack.verify().await;
}
