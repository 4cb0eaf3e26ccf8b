//! Attribution models other than last click, which all other tests use.

use domain::earnings::commission::CommissionType;
use domain::programs::partner::ShortCode;
use domain::tracking::attribution::AttributionModel;
use serde_json::json;
use storage::program::links;
use test_harness::{Answer, Stack, percentage, rows, switched_customer};

fn commission_ids(sale: &Answer) -> Vec<i64> {
    sale.body["commission_ids"]
        .as_array()
        .unwrap()
        .iter()
        .map(|id| id.as_i64().unwrap())
        .collect()
}

#[tokio::test]
async fn first_click_pays_the_partner_who_came_first() {
    let stack = Stack::start().await;
    let kind = CommissionType::CpsLifetime;
    let program = stack
        .program_with(AttributionModel::FirstClick, kind, percentage(2_000))
        .await;
    switched_customer(&stack, &program, "user-1").await;
    let sale = stack
        .sale(
            &program,
            json!({ "transaction_id": "t1", "amount_cents": 5000, "customer_key": "user-1" }),
        )
        .await;
    assert!(sale.body["commission_id"].is_i64(), "{sale:?}");
    assert_eq!(stack.balance(program.ada.membership).await, 1000);
    assert_eq!(stack.balance(program.bruno.membership).await, 0);
    stack.verify().await;
}

#[tokio::test]
async fn linear_splits_between_the_partners_and_a_refund_takes_all_of_it_back() {
    let stack = Stack::start().await;
    let kind = CommissionType::CpsLifetime;
    let program = stack
        .program_with(AttributionModel::Linear, kind, percentage(2_000))
        .await;
    switched_customer(&stack, &program, "user-1").await;
    let sale = stack
        .sold(
            &program,
            json!({ "transaction_id": "t1", "amount_cents": 5005, "customer_key": "user-1" }),
        )
        .await;
    let ids = commission_ids(&sale);
    assert_eq!(ids.len(), 2);
    assert_eq!(sale.body["commission_id"], ids[1]);
    // 1001 cents: the odd cent goes to the last partner.
    assert_eq!(stack.balance(program.ada.membership).await, 500);
    assert_eq!(stack.balance(program.bruno.membership).await, 501);
    let stored = rows::commissions(&stack, "t1").await;
    assert_eq!(stored[1]["partner_id"], program.bruno.partner_id.get());
    assert_eq!(stored[1]["id"], ids[1]);

    let third = stack
        .refund(
            &program,
            json!({ "transaction_id": "t1", "refund_amount_cents": 1668 }),
        )
        .await;
    assert_eq!(third.body["status"], "refunded", "{third:?}");
    assert_eq!(third.body["commission_id"], ids[1]);
    assert_eq!(third.body["deductionAmount"], 3.34);
    assert_eq!(stack.balance(program.ada.membership).await, 333);
    assert_eq!(stack.balance(program.bruno.membership).await, 334);
    let rest = stack.refund(&program, json!({ "transaction_id": "t1" })).await;
    assert_eq!(rest.body["status"], "reversed", "{rest:?}");
    assert_eq!(rest.body["deductionAmount"], 6.67);
    assert_eq!(stack.balance(program.ada.membership).await, 0);
    assert_eq!(stack.balance(program.bruno.membership).await, 0);
    // Three entries for each commission: its accrual and two reversals.
    assert_eq!(stack.count("ledger_entries").await, 6);
    stack.verify().await;
}

#[tokio::test]
async fn linear_pays_a_partner_with_two_links_one_share() {
    let stack = Stack::start().await;
    let kind = CommissionType::CpsLifetime;
    let program = stack
        .program_with(AttributionModel::Linear, kind, percentage(2_000))
        .await;
    let second = {
        let mut connection = stack.pool().acquire().await.unwrap();
        let code = ShortCode::parse("ada-too").unwrap();
        links::create(&mut connection, program.ada.membership, &code, stack.clock.now())
            .await
            .unwrap()
            .unwrap()
    };
    let click_id = switched_customer(&stack, &program, "user-1").await;
    stack
        .click_with("ada-too", json!({ "existing_click_id": click_id }))
        .await;
    rows::counted(&stack, second, 1).await;
    let sale = stack
        .sale(
            &program,
            json!({ "transaction_id": "t1", "amount_cents": 5000, "customer_key": "user-1" }),
        )
        .await;
    assert_eq!(commission_ids(&sale).len(), 2, "{sale:?}");
    assert_eq!(stack.balance(program.ada.membership).await, 500);
    assert_eq!(stack.balance(program.bruno.membership).await, 500);
    stack.verify().await;
}
