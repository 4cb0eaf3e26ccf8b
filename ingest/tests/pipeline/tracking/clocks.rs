//! Machines whose clocks differ.

use chrono::TimeDelta;
use messages::subject::Subject;
use reqwest::StatusCode;
use runtime::clock::Clock;
use serde_json::json;
use test_harness::{Program, Stack, Streams, leads::NOT_FOUND};

/// A worker whose clock is right, and an ingest whose clock is off.
async fn off_by(minutes: i64) -> Stack {
    let mut stack = Stack::without_services(Clock::system()).await;
    stack.start_worker();
    stack.clock = Clock::manual(stack.clock.now() + TimeDelta::minutes(minutes));
    let address = stack.start_ingest();
    stack.use_ingest(address);
    stack.ready().await;
    stack
}

/// An ingest ten minutes ahead of its worker, and a click whose rows were deleted.
async fn lost_click() -> (Stack, Program, String) {
    let stack = off_by(10).await;
    let program = stack.program().await;
    let click_id = stack.click(&program.ada.code).await;
    stack.reaches("click_events", 1).await;
    stack
        .execute("DELETE FROM click_events; DELETE FROM customers")
        .await;
    (stack, program, click_id)
}

#[tokio::test]
async fn a_lead_waits_no_longer_for_its_click_because_a_clock_is_ahead() {
    let (stack, program, click_id) = lost_click().await;
    stack
        .lead(&program, &click_id, "user-1")
        .await
        .refused(400, NOT_FOUND);
}

#[tokio::test]
async fn a_sale_waits_no_longer_for_its_click_because_a_clock_is_ahead() {
    let (stack, program, click_id) = lost_click().await;
    let body = json!({ "transaction_id": "t1", "amount_cents": 5_000, "click_id": click_id });
    stack.sale(&program, body).await.is(400);
    assert_eq!(stack.count("transaction_claims").await, 0);
}

#[tokio::test]
async fn a_lead_waits_for_its_click_although_a_clock_is_behind() {
    let stack = off_by(-10).await;
    let program = stack.program().await;
    let streams = Streams::of(&stack).await;
    let holding_up = stack.hold_up_clicks().await;
    let click_id = stack.click(&program.ada.code).await;
    let release = async {
        stack
            .eventually("a worker has the lead", async || {
                streams.in_hand(Subject::Leads).await == 1
            })
            .await;
        holding_up.rollback().await.unwrap();
    };
    let (answer, ()) = tokio::join!(stack.lead(&program, &click_id, "user-1"), release);
    assert_eq!(answer.status, StatusCode::OK, "{answer:?}");
}
