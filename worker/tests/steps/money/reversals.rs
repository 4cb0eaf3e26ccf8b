//! The effect of refunds on balances, paid-out commissions and notifications.

use serde_json::{Value, json};
use test_harness::{Program, Stack, pay_out, rows};

async fn sell(stack: &Stack, program: &Program, transaction_id: &str) {
    let body = json!({ "transaction_id": transaction_id, "amount_cents": 10_000, "customer_key": "user-1" });
    assert!(stack.sale(program, body).await.body["commission_id"].is_i64());
}

/// Waits until this many notifications exist, and reads them in order of their recipients.
async fn notifications(stack: &Stack, expected: usize) -> Vec<Value> {
    let read = async || -> Vec<Value> {
        sqlx::query_scalar("SELECT to_jsonb(n) FROM notifications n ORDER BY recipient, id")
            .fetch_all(stack.pool())
            .await
            .unwrap()
    };
    stack
        .eventually("notifications arrive", async || read().await.len() >= expected)
        .await;
    let notifications = read().await;
    assert_eq!(notifications.len(), expected, "{notifications:?}");
    notifications
}

#[tokio::test]
async fn a_sale_leaves_one_row_of_the_ledger_and_a_refund_one_more() {
    let (stack, program) = Stack::with_customer().await;
    let rows = "SELECT jsonb_agg(jsonb_build_array(kind, amount_cents) ORDER BY id) FROM ledger_entries";
    sell(&stack, &program, "t1").await;
    let accrual = json!(["accrual", 2000]);
    assert_eq!(stack.value::<Value>(rows).await, json!([accrual]));
    let partly = json!({ "transaction_id": "t1", "refund_amount_cents": 2500 });
    stack.refunded(&program, partly).await;
    let reversal = json!(["reversal", -500]);
    assert_eq!(stack.value::<Value>(rows).await, json!([accrual, reversal]));
    stack.verify().await;
}

#[tokio::test]
async fn reversing_a_paid_commission_may_make_the_balance_negative_with_a_warning() {
    let (stack, program) = Stack::with_customer().await;
    sell(&stack, &program, "t1").await;
    pay_out(&stack, &program, "t1").await;
    assert_eq!(stack.balance(program.ada.membership).await, 0);
    let half = json!({ "transaction_id": "t1", "refund_amount_cents": 5000, "refund_reason": "fraud" });
    let answer = stack.refund(&program, half).await;
    assert_eq!(answer.body["status"], "refunded", "{answer:?}");
    assert_eq!(answer.body["deductionAmount"], 10.0);
    assert_eq!(stack.balance(program.ada.membership).await, -1000);
    assert!(rows::commission(&stack, "t1").await["paid_at"].is_string());

    let sent = notifications(&stack, 2).await;
    let (to_advertiser, to_partner) = (&sent[0], &sent[1]);
    assert_eq!(to_advertiser["recipient"], "advertiser");
    assert_eq!(to_advertiser["program_id"], program.program_id.get());
    assert_eq!(to_advertiser["partner_id"], Value::Null);
    assert_eq!(to_partner["recipient"], "partner");
    assert_eq!(to_partner["partner_id"], program.ada.partner_id.get());
    for notification in [to_advertiser, to_partner] {
        let message = notification["message"].as_str().unwrap();
        assert!(
            message.contains("10.00 USD") && message.contains("fraud"),
            "{message}"
        );
        assert_eq!(notification["details"]["deducted"], 1000);
    }
    // Later earnings pay off the debt.
    sell(&stack, &program, "t2").await;
    assert_eq!(stack.balance(program.ada.membership).await, 1000);
    stack.verify().await;
}

#[tokio::test]
async fn reversing_an_unpaid_commission_stops_at_zero_and_records_the_shortfall() {
    let (stack, program) = Stack::with_customer().await;
    sell(&stack, &program, "paid").await;
    pay_out(&stack, &program, "paid").await;
    sell(&stack, &program, "t1").await;
    let partly = json!({ "transaction_id": "paid", "refund_amount_cents": 7500 });
    stack.refund(&program, partly).await;
    // 20.00 was earned since; 15.00 is owed back.
    assert_eq!(stack.balance(program.ada.membership).await, 500);
    let full = stack.refund(&program, json!({ "transaction_id": "t1" })).await;
    assert_eq!(full.body["deductionAmount"], 20.0);
    assert_eq!(full.body["status"], "reversed");
    assert_eq!(stack.balance(program.ada.membership).await, 0);
    let commission = rows::commission(&stack, "t1").await;
    let entry: Value = sqlx::query_scalar(
        "SELECT to_jsonb(l) FROM ledger_entries l WHERE kind = 'reversal' AND commission_id = $1",
    )
    .bind(commission["id"].as_i64())
    .fetch_one(stack.pool())
    .await
    .unwrap();
    for (column, cents) in [
        ("amount_cents", -500),
        ("requested_cents", 2000),
        ("shortfall_cents", 1500),
    ] {
        assert_eq!(entry[column], cents, "{column}");
    }
    stack.verify().await;
}

#[tokio::test]
async fn the_partner_hears_of_every_deduction_and_the_advertiser_not_of_unpaid_ones() {
    let (stack, program) = Stack::with_customer().await;
    sell(&stack, &program, "t1").await;
    for body in [
        json!({ "transaction_id": "t1", "refund_amount_cents": 2500, "refund_reason": "too small" }),
        json!({ "transaction_id": "t1", "refund_amount_cents": 2500 }),
        json!({ "transaction_id": "t1" }),
        json!({ "transaction_id": "t1" }),
    ] {
        stack.refund(&program, body).await;
    }
    let sent = notifications(&stack, 2).await;
    assert!(
        sent.iter()
            .all(|notification| notification["recipient"] == "partner"),
        "{sent:?}"
    );
    let statuses: Vec<&Value> = sent
        .iter()
        .map(|notification| &notification["details"]["status"])
        .collect();
    assert!(
        statuses.contains(&&json!("refunded")) && statuses.contains(&&json!("reversed")),
        "{statuses:?}"
    );
    // A refund without a reason keeps the earlier reason.
    assert_eq!(rows::commission(&stack, "t1").await["refund_reason"], "too small");
    stack.verify().await;
}
