//! Refunds: what each takes back, once, and how the answers distinguish them.

use reqwest::StatusCode;
use serde_json::{Value, json};
use test_harness::{Answer, Program, Stack, rows};

/// `user-1` came through Ada and has paid 100.00: a commission of 20.00 for `transaction_id`.
async fn sold(stack: &Stack, transaction_id: &str) -> Program {
    let program = stack.program().await;
    stack.customer(&program, &program.ada.code, "user-1").await;
    sell(stack, &program, transaction_id, 10_000).await;
    program
}

async fn sell(stack: &Stack, program: &Program, transaction_id: &str, amount_cents: i64) -> i64 {
    let body =
        json!({ "transaction_id": transaction_id, "amount_cents": amount_cents, "customer_key": "user-1" });
    let sale = stack.sale(program, body).await;
    sale.body["commission_id"].as_i64().unwrap()
}

/// A refund of `t1`.
async fn refund(stack: &Stack, program: &Program, more: Value) -> Answer {
    let mut body = json!({ "transaction_id": "t1" });
    body.as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    stack.refunded(program, body).await
}

fn applied(status: &str, dollars: f64, commission_id: &Value) -> Value {
    json!({ "success": true, "status": status, "deductionAmount": dollars, "commission_id": commission_id })
}

#[tokio::test]
async fn zero_asks_for_the_rest_as_does_no_amount_at_all() {
    let stack = Stack::start().await;
    for amount in [
        json!({ "refund_amount_cents": 0 }),
        json!({ "refund_amount_cents": null }),
        json!({}),
    ] {
        let program = stack.program().await;
        stack.customer(&program, &program.ada.code, "user-1").await;
        let transaction_id = format!("t-{}", program.program_id);
        let commission_id = json!(sell(&stack, &program, &transaction_id, 10_000).await);
        let partly = json!({ "transaction_id": transaction_id, "refund_amount_cents": 2500 });
        assert_eq!(
            stack.refund(&program, partly).await.body,
            applied("refunded", 5.0, &commission_id)
        );
        let mut rest = amount;
        rest["transaction_id"] = json!(transaction_id);
        assert_eq!(
            stack.refund(&program, rest).await.body,
            applied("reversed", 15.0, &commission_id)
        );
        assert_eq!(stack.balance(program.ada.membership).await, 0);
    }
    stack.verify().await;
}

#[tokio::test]
async fn partial_refunds_take_their_exact_share_to_the_cent() {
    let (stack, program) = Stack::with_customer().await;
    // A commission of 2.00 on 9.99, refunded in thirds and a remainder.
    let commission_id = json!(sell(&stack, &program, "t1", 999).await);
    let steps = [
        ("r1", 333, 0.67, 133),
        ("r2", 333, 0.66, 67),
        ("r3", 332, 0.67, 0),
    ];
    for (refund_id, cents, dollars, left) in steps {
        let body = json!({ "refund_amount_cents": cents, "refund_id": refund_id });
        let partly = refund(&stack, &program, body).await;
        assert_eq!(
            partly.body,
            applied("refunded", dollars, &commission_id),
            "{refund_id}"
        );
        assert_eq!(stack.balance(program.ada.membership).await, left, "{refund_id}");
    }
    let last = refund(&stack, &program, json!({ "refund_amount_cents": 1 })).await;
    assert_eq!(last.body, applied("reversed", 0.0, &commission_id));
    assert_eq!(rows::commission(&stack, "t1").await["deducted_cents"], 200);
    stack.verify().await;
}

#[tokio::test]
async fn an_unknown_sale_and_another_programs_sale_are_equally_not_found() {
    let stack = Stack::start().await;
    let program = sold(&stack, "t1").await;
    let other = stack.program().await;
    for (program, transaction_id) in [(&program, "t2"), (&program, "T1"), (&other, "t1")] {
        let answer = stack
            .refund(program, json!({ "transaction_id": transaction_id }))
            .await;
        assert_eq!(answer.status, StatusCode::NOT_FOUND);
        assert_eq!(answer.message(), "Sale not found for transaction_id");
    }
    assert_eq!(stack.balance(program.ada.membership).await, 2000);
    // Those calls were not remembered: the sale may arrive later and be refunded then.
    sell(&stack, &program, "t2", 5000).await;
    let found = stack.refund(&program, json!({ "transaction_id": "t2" })).await;
    assert_eq!(found.body["status"], "reversed", "{found:?}");
    stack.verify().await;
}
