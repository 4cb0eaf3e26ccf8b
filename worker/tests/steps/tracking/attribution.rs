//! Which partner a sale credits, and which customer it is matched with.

use chrono::TimeDelta;
use reqwest::StatusCode;
use runtime::clock::Clock;
use serde_json::{Value, json};
use test_harness::{Stack, noon, rows, switched_customer};

const NO_ATTRIBUTION: &str = "No affiliate attribution found for this customer in this program";

#[tokio::test]
async fn the_last_partner_clicked_is_paid_under_the_same_click_id() {
    let (stack, program) = Stack::with_program().await;
    let click_id = switched_customer(&stack, &program, "user-1").await;
    let sale = stack
        .sold(
            &program,
            json!({ "transaction_id": "t1", "amount_cents": 5000, "click_id": click_id }),
        )
        .await;
    assert!(sale.body.get("commission_ids").is_none(), "{sale:?}");
    assert_eq!(stack.balance(program.ada.membership).await, 0);
    assert_eq!(stack.balance(program.bruno.membership).await, 1000);
    assert_eq!(stack.count("click_events").await, 2);
    assert_eq!(
        stack
            .value::<i64>("SELECT count(DISTINCT customer_id) FROM click_events")
            .await,
        1
    );
    assert_eq!(
        stack
            .value::<i64>("SELECT count(previous_click_id) FROM click_events")
            .await,
        0
    );
    assert_eq!(stack.count("customers").await, 1);
    stack.verify().await;
}

#[tokio::test]
async fn a_later_click_through_the_first_partner_wins_attribution_back() {
    let stack = Stack::start_with(Clock::manual(noon())).await;
    let program = stack.program().await;
    let click_id = stack.customer(&program, &program.ada.code, "user-1").await;
    rows::counted(&stack, program.ada.link, 1).await;
    for (partner, clicks) in [(&program.bruno, 1), (&program.ada, 2)] {
        stack.clock.advance(TimeDelta::days(1));
        stack
            .click_with(&partner.code, json!({ "existing_click_id": click_id }))
            .await;
        rows::counted(&stack, partner.link, clicks).await;
    }
    stack
        .sale(
            &program,
            json!({ "transaction_id": "t1", "amount_cents": 5000, "customer_key": "user-1" }),
        )
        .await;
    assert_eq!(stack.balance(program.ada.membership).await, 1000);
    assert_eq!(stack.balance(program.bruno.membership).await, 0);
    stack.verify().await;
}

#[tokio::test]
async fn an_existing_click_id_that_is_nobodys_here_starts_a_new_customer() {
    let stack = Stack::start().await;
    let (program, other) = (stack.program().await, stack.program().await);
    let real = stack.click(&program.ada.code).await;
    let foreign = stack.click(&other.ada.code).await;
    rows::counted(&stack, program.ada.link, 1).await;
    rows::counted(&stack, other.ada.link, 1).await;
    let (prefix, issued_at) = real.rsplit_once('_').unwrap();
    let other_time = format!("{prefix}_{}", issued_at.parse::<i64>().unwrap() + 1);
    let forged = [
        &foreign,
        &other_time,
        "cust_4711_1700000000000",
        "not a click id",
        "cust_1_1' OR 1=1 --",
    ];
    for (clicks, existing) in (1..).zip(forged) {
        let answer = stack
            .click_with(&program.bruno.code, json!({ "existing_click_id": existing }))
            .await;
        assert_eq!(answer.status, StatusCode::OK, "{existing}: {answer:?}");
        let click_id = answer.body["click_id"].as_str().unwrap();
        assert!(
            ![real.as_str(), foreign.as_str(), existing].contains(&click_id),
            "{existing}"
        );
        rows::counted(&stack, program.bruno.link, clicks).await;
        let kept: String =
            sqlx::query_scalar("SELECT previous_click_id FROM click_events WHERE click_id = $1")
                .bind(click_id)
                .fetch_one(stack.pool())
                .await
                .unwrap();
        assert_eq!(kept, existing);
        assert_eq!(
            rows::customer(&stack, click_id).await["program_id"],
            program.program_id.get()
        );
    }
    stack.verify().await;
}

#[tokio::test]
async fn a_sale_finds_its_customer_by_click_id_when_the_key_is_absent_or_unknown() {
    let (stack, program) = Stack::with_program().await;
    let click_id = stack.customer(&program, &program.ada.code, "user-1").await;
    for (transaction_id, key) in [("t1", Value::Null), ("t2", json!("never-seen"))] {
        let body = json!({ "transaction_id": transaction_id, "amount_cents": 100, "click_id": click_id, "customer_key": key });
        let sale = stack.sold(&program, body).await;
        assert!(sale.body["commission_id"].is_i64(), "{sale:?}");
    }
    // The key that the lead bound is still bound.
    let customer = rows::customer(&stack, &click_id).await;
    assert_eq!(customer["customer_key"], "user-1");
    let unknown = stack
        .sale(
            &program,
            json!({ "transaction_id": "t3", "amount_cents": 100, "customer_key": "never-seen" }),
        )
        .await;
    assert_eq!(unknown.status, StatusCode::BAD_REQUEST);
    assert_eq!(
        unknown.message(),
        "Customer not found. Provide customer_key or click_id."
    );
    stack.verify().await;
}

#[tokio::test]
async fn a_bound_key_names_its_customer_whatever_click_id_comes_with_it() {
    let (stack, program) = Stack::with_program().await;
    let mine = stack.customer(&program, &program.ada.code, "user-1").await;
    let other = stack.click(&program.bruno.code).await;
    rows::counted(&stack, program.bruno.link, 1).await;
    let body =
        json!({ "transaction_id": "t1", "amount_cents": 5000, "customer_key": "user-1", "click_id": other });
    assert_eq!(stack.sale(&program, body).await.status, StatusCode::OK);
    assert_eq!(stack.balance(program.ada.membership).await, 1000);
    assert_eq!(rows::customer(&stack, &mine).await["status"], "conversion");
    let untouched = rows::customer(&stack, &other).await;
    assert_eq!(
        (&untouched["status"], &untouched["customer_key"]),
        (&json!("click"), &Value::Null)
    );
    stack.verify().await;
}

#[tokio::test]
async fn a_sale_right_after_its_click_converts_without_a_signup() {
    let (stack, program) = Stack::with_program().await;
    for number in 1..=10 {
        // The click is stored after its answer, so the sale may arrive before it.
        let click_id = stack.click(&program.ada.code).await;
        let key = format!("user-{number}");
        let body =
            json!({ "transaction_id": key, "amount_cents": 5000, "click_id": click_id, "customer_key": key });
        stack.sold(&program, body).await;
        let customer = rows::customer(&stack, &click_id).await;
        assert_eq!(customer["status"], "conversion");
        assert_eq!(customer["signup_date"], Value::Null);
        assert_eq!(
            customer["first_purchase_date"],
            rows::sale(&stack, &key).await["sale_date"]
        );
        assert_eq!(customer["customer_key"], json!(key));
    }
    assert_eq!(stack.balance(program.ada.membership).await, 10_000);
    stack.verify().await;
}

#[tokio::test]
async fn another_programs_customer_is_not_attributed_and_the_transaction_id_stays_free() {
    let stack = Stack::start().await;
    let (program, other) = (stack.program().await, stack.program().await);
    let foreign = stack.customer(&other, &other.ada.code, "user-1").await;
    let own = stack.customer(&program, &program.ada.code, "user-2").await;
    let refused = stack
        .sale(
            &program,
            json!({ "transaction_id": "t1", "amount_cents": 5000, "click_id": foreign }),
        )
        .await;
    assert_eq!(
        (refused.status, refused.message()),
        (StatusCode::BAD_REQUEST, NO_ATTRIBUTION)
    );
    let by_key = stack
        .sale(
            &program,
            json!({ "transaction_id": "t1", "amount_cents": 5000, "customer_key": "user-1" }),
        )
        .await;
    assert_eq!(
        by_key.message(),
        "Customer not found. Provide customer_key or click_id."
    );
    assert_eq!(rows::claims(&stack, "t1").await, 0);
    stack
        .sold(
            &program,
            json!({ "transaction_id": "t1", "amount_cents": 5000, "click_id": own }),
        )
        .await;
    stack.verify().await;
}
