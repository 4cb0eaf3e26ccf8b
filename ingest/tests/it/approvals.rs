//! The hold period: pending commissions become approved ones.

use chrono::TimeDelta;
use common::runtime::clock::Clock;
use serde_json::json;

use crate::commissions::sell;
use crate::rows;
use crate::stack::{Stack, noon};

#[tokio::test]
async fn a_commission_is_approved_once_its_hold_period_is_over() {
    let mut stack = Stack::start_with(Clock::manual(noon())).await;
    let (program, patient) = (stack.program().await, stack.program().await);
    rows::set(&stack, &program, "hold_days = 0").await;
    rows::set(&stack, &patient, "hold_days = 15").await;
    stack.customer(&program, &program.ada.code, "user-1").await;
    sell(&stack, &program, "t1", 5000, json!({})).await;
    stack.customer(&patient, &patient.ada.code, "user-1").await;
    sell(&stack, &patient, "t2", 5000, json!({})).await;
    // A worker's upkeep begins with a round.
    stack.start_worker();
    approved(&stack, "t1").await;
    assert_eq!(rows::commission(&stack, "t2").await["status"], "pending");
    stack.clock.advance(TimeDelta::days(15));
    stack.start_worker();
    approved(&stack, "t2").await;
    assert_eq!(stack.balance(patient.ada.membership).await, 1000);
    stack.verify().await;
    stack.stop().await;
}

#[tokio::test]
async fn approvals_go_on_when_a_months_partition_cannot_be_made() {
    let mut stack = Stack::without_services(Clock::manual(noon())).await;
    // An event from a clock far off was kept in the default partition; that month can have none of its own.
    sqlx::query(
        "INSERT INTO click_events (event_id, program_id, referral_link_id, customer_id, click_timestamp, click_id, is_test)
         VALUES (gen_random_uuid(), 1, 1, 1, $1, 'early', true)",
    )
    .bind(noon())
    .execute(stack.pool())
    .await
    .unwrap();
    stack.start_worker();
    let ingest = stack.start_ingest();
    stack.use_ingest(ingest);
    stack.ready().await;
    let program = stack.program().await;
    rows::set(&stack, &program, "hold_days = 0").await;
    stack.customer(&program, &program.ada.code, "user-1").await;
    sell(&stack, &program, "t1", 5000, json!({})).await;
    stack.start_worker();
    approved(&stack, "t1").await;
    stack.verify().await;
    stack.stop().await;
}

async fn approved(stack: &Stack, transaction_id: &str) {
    stack
        .eventually("the commission is approved", async || {
            let commission = rows::commission(stack, transaction_id).await;
            commission["status"] == "approved" && !commission["approved_at"].is_null()
        })
        .await;
}
