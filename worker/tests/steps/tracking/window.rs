//! The attribution window, exact to the millisecond, on a clock that the tests move.

use chrono::TimeDelta;
use reqwest::StatusCode;
use runtime::clock::Clock;
use serde_json::{Value, json};
use test_harness::{Stack, noon, rows};

fn expired(click_age_days: i64, window_days: i64) -> Value {
    json!({
        "success": true,
        "attributed": false,
        "reason": "attribution_window_expired",
        "click_age_days": click_age_days,
        "window_days": window_days,
        "sale_id": null,
        "commission_id": null,
    })
}

#[tokio::test]
async fn a_sale_at_the_end_of_the_window_counts_and_a_millisecond_later_it_does_not() {
    let stack = Stack::start_with(Clock::manual(noon())).await;
    let program = stack.program().await;
    let click_id = stack.customer(&program, &program.ada.code, "user-1").await;
    stack.customer(&program, &program.ada.code, "user-2").await;
    rows::counted(&stack, program.ada.link, 2).await;
    stack.clock.advance(TimeDelta::days(60));
    let inside = stack
        .sale(
            &program,
            json!({ "transaction_id": "t1", "amount_cents": 5000, "customer_key": "user-2" }),
        )
        .await;
    assert!(inside.body["commission_id"].is_i64(), "{inside:?}");

    stack.clock.advance(TimeDelta::milliseconds(1));
    let before = rows::counts(&stack).await;
    let late = json!({ "transaction_id": "t2", "amount_cents": 5000, "customer_key": "user-1" });
    let outside = stack.sale(&program, late.clone()).await;
    assert_eq!(
        (outside.status, &outside.body),
        (StatusCode::OK, &expired(60, 60))
    );
    assert_eq!(rows::counts(&stack).await, before);
    let customer = rows::customer(&stack, &click_id).await;
    assert_eq!(
        (&customer["status"], &customer["first_purchase_date"]),
        (&json!("lead"), &Value::Null)
    );

    // The transaction_id is free: the sale can be reported again once the program's window is wider.
    rows::set(&stack, &program, "attribution_window_days = 61").await;
    let widened = stack.sale(&program, late).await;
    assert!(widened.body["commission_id"].is_i64(), "{widened:?}");
    stack.verify().await;
}

#[tokio::test]
async fn the_age_of_a_click_counts_whole_days_against_the_programs_window() {
    let stack = Stack::start_with(Clock::manual(noon())).await;
    let program = stack.program().await;
    rows::set(&stack, &program, "attribution_window_days = 1").await;
    stack.customer(&program, &program.ada.code, "user-1").await;
    stack.clock.advance(TimeDelta::hours(3 * 24 - 1));
    let sale = stack
        .sale(
            &program,
            json!({ "transaction_id": "t1", "amount_cents": 5000, "customer_key": "user-1" }),
        )
        .await;
    assert_eq!(sale.body, expired(2, 1));
    stack.verify().await;
}

#[tokio::test]
async fn switching_the_partner_does_not_open_the_window_again() {
    let stack = Stack::start_with(Clock::manual(noon())).await;
    let program = stack.program().await;
    let click_id = stack.customer(&program, &program.ada.code, "user-1").await;
    rows::counted(&stack, program.ada.link, 1).await;
    stack.clock.advance(TimeDelta::days(59));
    let again = stack
        .click_with(&program.bruno.code, json!({ "existing_click_id": click_id }))
        .await;
    assert_eq!(again.body["click_id"], click_id);
    rows::counted(&stack, program.bruno.link, 1).await;
    let sale = |transaction_id: &str| json!({ "transaction_id": transaction_id, "amount_cents": 5000, "customer_key": "user-1" });
    assert!(stack.sale(&program, sale("t1")).await.body["commission_id"].is_i64());
    assert_eq!(stack.balance(program.bruno.membership).await, 1000);
    stack
        .clock
        .advance(TimeDelta::days(1) + TimeDelta::milliseconds(1));
    assert_eq!(stack.sale(&program, sale("t2")).await.body, expired(60, 60));
    assert_eq!(stack.balance(program.bruno.membership).await, 1000);
    stack.verify().await;
}
