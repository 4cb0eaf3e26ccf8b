//! A round of upkeep handles all that is due, and no click waits for it.

use chrono::NaiveDate;
use runtime::clock::Clock;
use storage::partitions;
use test_harness::{Stack, rows};

#[tokio::test]
async fn a_round_of_upkeep_goes_on_until_nothing_is_due() {
    let mut stack = Stack::without_services(Clock::system()).await;
    // More than two statements handle; the next round begins a minute later.
    stack
        .execute(
            "INSERT INTO refused_events (event_id, outcome, refused_at)
             SELECT gen_random_uuid(), '{}', now() - interval '9 days' FROM generate_series(1, 25000)",
        )
        .await;
    stack.start_worker();
    stack.reaches("refused_events", 0).await;
}

#[tokio::test]
async fn clicks_go_on_while_a_months_partition_waits_for_a_reader() {
    let (stack, program) = Stack::with_program().await;
    let month = NaiveDate::from_ymd_opt(2031, 1, 1).unwrap();
    let mut reader = stack.pool().begin().await.unwrap();
    sqlx::query("SELECT count(*) FROM click_events")
        .execute(&mut *reader)
        .await
        .unwrap();
    let made = async { while partitions::ensure(stack.pool(), month, 1).await.is_err() {} };
    let clicked = async {
        stack
            .eventually("the partition waits", async || {
                stack.sessions("wait_event_type = 'Lock'").await > 0
            })
            .await;
        stack.click(&program.ada.code).await;
        rows::counted(&stack, program.ada.link, 1).await;
        reader.rollback().await.unwrap();
    };
    tokio::join!(made, clicked);
    stack.verify().await;
}
