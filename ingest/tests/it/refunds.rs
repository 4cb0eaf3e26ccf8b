//! Refunds: what each takes back, once, and how the answers tell them apart.

use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::rows;
use crate::stack::{Answer, Program, Stack};

/// `user-1` came through Ada and has paid 100.00: a commission of 20.00 under `transaction_id`.
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
    let answer = stack.refund(program, body).await;
    assert_eq!(answer.status, StatusCode::OK, "{answer:?}");
    answer
}

fn applied(status: &str, dollars: f64, commission_id: &Value) -> Value {
    json!({ "success": true, "status": status, "deductionAmount": dollars, "commission_id": commission_id })
}

fn skipped(reason: &str, commission_id: &Value) -> Value {
    json!({ "success": true, "status": "skipped", "reason": reason, "commission_id": commission_id })
}

#[tokio::test]
async fn a_full_refund_reverses_the_commission_and_a_repeat_changes_nothing() {
    let stack = Stack::start().await;
    let program = sold(&stack, "t1").await;
    let commission_id = rows::commission(&stack, "t1").await["id"].clone();
    let full = refund(&stack, &program, json!({ "refund_reason": "chargeback" })).await;
    assert_eq!(full.body, applied("reversed", 20.0, &commission_id));
    let commission = rows::commission(&stack, "t1").await;
    assert_eq!(
        (&commission["status"], &commission["deducted_cents"]),
        (&json!("reversed"), &json!(2000))
    );
    assert_eq!(commission["refund_reason"], "chargeback");
    for repeat in [
        json!({}),
        json!({ "refund_amount_cents": 10 }),
        json!({ "refund_id": "r1" }),
    ] {
        let again = refund(&stack, &program, repeat).await;
        assert_eq!(again.body, skipped("already reversed", &commission_id));
    }
    assert_eq!(stack.balance(program.ada.membership).await, 0);
    assert_eq!(stack.value::<i64>("SELECT count(*) FROM refunds").await, 1);
    stack.verify().await;
    stack.stop().await;
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
    stack.stop().await;
}

#[tokio::test]
async fn partial_refunds_take_their_exact_share_to_the_cent() {
    let stack = Stack::start().await;
    let program = stack.program().await;
    stack.customer(&program, &program.ada.code, "user-1").await;
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
    stack.stop().await;
}

#[tokio::test]
async fn a_refund_id_is_applied_once_and_different_ones_add_up() {
    let stack = Stack::start().await;
    let program = sold(&stack, "t1").await;
    let commission_id = rows::commission(&stack, "t1").await["id"].clone();
    let of = |refund_id: &str, cents: i64| json!({ "refund_id": refund_id, "refund_amount_cents": cents });
    let first = refund(&stack, &program, of("r1", 1000)).await;
    assert_eq!(first.body, applied("refunded", 2.0, &commission_id));
    for cents in [1000, 2500] {
        let again = refund(&stack, &program, of("r1", cents)).await;
        assert_eq!(again.body, skipped("already processed", &commission_id));
    }
    let second = refund(&stack, &program, of("r2", 1000)).await;
    assert_eq!(second.body, applied("refunded", 2.0, &commission_id));
    assert_eq!(stack.balance(program.ada.membership).await, 1600);
    stack.verify().await;
    stack.stop().await;
}

#[tokio::test]
async fn without_a_refund_id_the_same_amount_is_a_retry_and_another_amount_is_not() {
    let stack = Stack::start().await;
    let program = sold(&stack, "t1").await;
    let commission_id = rows::commission(&stack, "t1").await["id"].clone();
    let of = |cents: i64| json!({ "refund_amount_cents": cents });
    assert_eq!(
        refund(&stack, &program, of(1000)).await.body,
        applied("refunded", 2.0, &commission_id)
    );
    assert_eq!(
        refund(&stack, &program, of(1000)).await.body,
        skipped("already processed", &commission_id)
    );
    assert_eq!(
        refund(&stack, &program, of(1001)).await.body,
        applied("refunded", 2.0, &commission_id)
    );
    // An id that spells an amount is not that amount.
    let spelled = json!({ "refund_id": "1000", "refund_amount_cents": 1000 });
    assert_eq!(
        refund(&stack, &program, spelled).await.body,
        applied("refunded", 2.0, &commission_id)
    );
    assert_eq!(stack.balance(program.ada.membership).await, 1400);
    stack.verify().await;
    stack.stop().await;
}

#[tokio::test]
async fn refunds_are_capped_at_the_sale() {
    let stack = Stack::start().await;
    let program = sold(&stack, "t1").await;
    let commission_id = rows::commission(&stack, "t1").await["id"].clone();
    refund(&stack, &program, json!({ "refund_amount_cents": 9000 })).await;
    let beyond = refund(&stack, &program, json!({ "refund_amount_cents": i64::MAX })).await;
    assert_eq!(beyond.body, applied("reversed", 2.0, &commission_id));
    assert_eq!(rows::sale(&stack, "t1").await["api_refunded_cents"], 10_000);
    assert_eq!(stack.balance(program.ada.membership).await, 0);
    stack.verify().await;
    stack.stop().await;
}

#[tokio::test]
async fn a_sale_without_a_commission_has_nothing_to_take_back() {
    let stack = Stack::start().await;
    let program = stack.program().await;
    sqlx::query("DELETE FROM commission_policies")
        .execute(stack.pool())
        .await
        .unwrap();
    stack.customer(&program, &program.ada.code, "user-1").await;
    stack
        .sale(
            &program,
            json!({ "transaction_id": "t1", "amount_cents": 10_000, "customer_key": "user-1" }),
        )
        .await;
    for body in [
        json!({ "refund_amount_cents": 400 }),
        json!({ "refund_amount_cents": 400 }),
        json!({}),
        json!({}),
    ] {
        let answer = refund(&stack, &program, body).await;
        assert_eq!(answer.body["success"], true);
        assert_eq!(answer.body["status"], "no_commission");
        assert!(answer.body["message"].is_string(), "{answer:?}");
    }
    assert_eq!(rows::sale(&stack, "t1").await["api_refunded_cents"], 10_000);
    stack.verify().await;
    stack.stop().await;
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
    // Nothing remembers those calls: the sale may come later, and is refunded then.
    sell(&stack, &program, "t2", 5000).await;
    let found = stack.refund(&program, json!({ "transaction_id": "t2" })).await;
    assert_eq!(found.body["status"], "reversed", "{found:?}");
    stack.verify().await;
    stack.stop().await;
}

#[tokio::test]
async fn an_amount_that_is_no_positive_integer_is_refused() {
    let stack = Stack::start().await;
    let program = sold(&stack, "t1").await;
    for amount in [
        "\"100\"",
        "-1",
        "1.5",
        "1.0",
        "1e2",
        "9223372036854775808",
        "-9223372036854775809",
        "true",
        "[1]",
        "{}",
    ] {
        let body = format!(r#"{{"transaction_id": "t1", "refund_amount_cents": {amount}}}"#);
        let answer = stack.post_raw("refund", Some(&program.token), body).await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{amount}: {answer:?}");
        assert_eq!(
            answer.message(),
            "refund_amount_cents must be a positive integer",
            "{amount}"
        );
    }
    assert_eq!(stack.balance(program.ada.membership).await, 2000);
    assert_eq!(stack.value::<i64>("SELECT count(*) FROM refunds").await, 0);
    stack.verify().await;
    stack.stop().await;
}
