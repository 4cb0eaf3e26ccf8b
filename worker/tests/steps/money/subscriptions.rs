//! Renewals: which partner earns by them, for how long, and which click decides.

use chrono::{DateTime, Months, TimeDelta, Utc};
use domain::earnings::commission::CommissionType;
use domain::tracking::attribution::AttributionModel;
use runtime::clock::Clock;
use serde_json::{Value, json};
use test_harness::{Answer, Program, Stack, noon, percentage, rows};

/// A payment of `user-1`'s subscription, the first one or a renewal.
async fn pay(stack: &Stack, program: &Program, transaction_id: &str, is_recurring: bool) -> Answer {
    let body = json!({
        "transaction_id": transaction_id,
        "amount_cents": 5000,
        "customer_key": "user-1",
        "sale_type": "subscription",
        "subscription_id": "sub-1",
        "subscription_interval": "monthly",
        "is_recurring": is_recurring,
    });
    stack.sold(program, body).await
}

fn months_after(start: DateTime<Utc>, months: u32) -> DateTime<Utc> {
    start.checked_add_months(Months::new(months)).unwrap()
}

#[tokio::test]
async fn renewals_stay_with_the_partner_of_the_first_payment_after_a_switch() {
    let stack = Stack::start_with(Clock::manual(noon())).await;
    let program = stack.program().await;
    let click_id = stack.customer(&program, &program.ada.code, "user-1").await;
    rows::counted(&stack, program.ada.link, 1).await;
    pay(&stack, &program, "first", false).await;
    stack.clock.advance(TimeDelta::days(30));
    stack
        .click_with(&program.bruno.code, json!({ "existing_click_id": click_id }))
        .await;
    rows::counted(&stack, program.bruno.link, 1).await;
    let renewal = pay(&stack, &program, "renewal", true).await;
    assert!(renewal.body["commission_id"].is_i64(), "{renewal:?}");
    assert_eq!(
        rows::commission(&stack, "renewal").await["partner_id"],
        program.ada.partner_id.get()
    );
    let other = json!({ "transaction_id": "other", "amount_cents": 5000, "customer_key": "user-1" });
    stack.sale(&program, other).await;
    assert_eq!(
        rows::commission(&stack, "other").await["partner_id"],
        program.bruno.partner_id.get()
    );
    assert_eq!(stack.balance(program.ada.membership).await, 2000);
    assert_eq!(stack.balance(program.bruno.membership).await, 1000);
    let stored = rows::sale(&stack, "renewal").await;
    for (column, value) in [
        ("is_recurring", json!(true)),
        ("sale_type", json!("subscription")),
        ("subscription_id", json!("sub-1")),
        ("subscription_interval", json!("monthly")),
    ] {
        assert_eq!(stored[column], value, "{column}");
    }
    stack.verify().await;
}

#[tokio::test]
async fn recurring_commissions_end_n_calendar_months_after_the_first_payment() {
    let stack = Stack::start_with(Clock::manual(noon())).await;
    let kind = CommissionType::CpsRecurring { months: 3 };
    let program = stack
        .program_with(AttributionModel::LastClick, kind, percentage(2_000))
        .await;
    rows::set(&stack, &program, "attribution_window_days = 365").await;
    stack.customer(&program, &program.ada.code, "user-1").await;
    stack.clock.advance(TimeDelta::days(30));
    let first_payment = stack.clock.now();
    pay(&stack, &program, "first", false).await;
    stack.clock.set(months_after(first_payment, 3));
    let last_paid = pay(&stack, &program, "on-time", true).await;
    assert!(last_paid.body["commission_id"].is_i64(), "{last_paid:?}");
    stack.clock.advance(TimeDelta::milliseconds(1));
    let late = pay(&stack, &program, "late", true).await;
    assert!(late.body["sale_id"].is_i64(), "{late:?}");
    assert_eq!(late.body["commission_id"], Value::Null);
    assert!(
        late.body["message"]
            .as_str()
            .unwrap()
            .contains("recurring commission period is over"),
        "{late:?}"
    );
    assert_eq!(
        rows::sale(&stack, "late").await["no_commission_reason"],
        "recurring_period_over"
    );
    assert_eq!(stack.balance(program.ada.membership).await, 2000);
    stack.verify().await;
}

#[tokio::test]
async fn each_subscription_has_a_clock_of_its_own() {
    let stack = Stack::start_with(Clock::manual(noon())).await;
    let kind = CommissionType::CpsRecurring { months: 1 };
    let program = stack
        .program_with(AttributionModel::LastClick, kind, percentage(2_000))
        .await;
    rows::set(&stack, &program, "attribution_window_days = 365").await;
    stack.customer(&program, &program.ada.code, "user-1").await;
    pay(&stack, &program, "first", false).await;
    stack.clock.advance(TimeDelta::days(90));
    let body = json!({ "transaction_id": "second-subscription", "amount_cents": 5000, "customer_key": "user-1",
                       "subscription_id": "sub-2" });
    let second = stack.sale(&program, body).await;
    assert!(second.body["commission_id"].is_i64(), "{second:?}");
    assert_eq!(
        pay(&stack, &program, "renewal", true).await.body["commission_id"],
        Value::Null
    );
    stack.verify().await;
}

#[tokio::test]
async fn lifetime_commissions_are_paid_on_every_renewal() {
    let stack = Stack::start_with(Clock::manual(noon())).await;
    let program = stack.program().await;
    rows::set(&stack, &program, "attribution_window_days = 365").await;
    stack.customer(&program, &program.ada.code, "user-1").await;
    pay(&stack, &program, "month-0", false).await;
    for month in 1..=11 {
        stack.clock.set(months_after(noon(), month));
        let renewal = pay(&stack, &program, &format!("month-{month}"), true).await;
        assert!(renewal.body["commission_id"].is_i64(), "{renewal:?}");
    }
    assert_eq!(stack.balance(program.ada.membership).await, 12_000);
    stack.verify().await;
}

#[tokio::test]
async fn a_renewal_is_judged_by_the_click_that_brought_the_subscription() {
    let stack = Stack::start_with(Clock::manual(noon())).await;
    let program = stack.program().await;
    let click_id = stack.customer(&program, &program.ada.code, "user-1").await;
    rows::counted(&stack, program.ada.link, 1).await;
    pay(&stack, &program, "first", false).await;
    stack.clock.advance(TimeDelta::days(50));
    stack
        .click_with(&program.bruno.code, json!({ "existing_click_id": click_id }))
        .await;
    rows::counted(&stack, program.bruno.link, 1).await;
    stack.clock.advance(TimeDelta::days(10));
    let inside = pay(&stack, &program, "inside", true).await;
    assert!(inside.body["commission_id"].is_i64(), "{inside:?}");
    stack.clock.advance(TimeDelta::milliseconds(1));
    let outside = pay(&stack, &program, "outside", true).await;
    assert_eq!(outside.body["attributed"], false, "{outside:?}");
    assert_eq!(outside.body["reason"], "attribution_window_expired");
    assert_eq!(outside.body["sale_id"], Value::Null);
    assert_eq!(rows::claims(&stack, "outside").await, 0);
    assert_eq!(stack.balance(program.ada.membership).await, 2000);
    stack.verify().await;
}
