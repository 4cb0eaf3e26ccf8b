//! Refunded amounts by day: each counts once, on the day of the refund, under the link of the sale.

use chrono::{DateTime, NaiveDate, TimeZone, Utc};
use domain::earnings::commission::CommissionType;
use domain::tracking::attribution::AttributionModel;
use serde_json::json;
use storage::reads::refund_rollups::{self, RefundDay, RefundSums};
use storage::reads::rollups;
use test_harness::{
    Program, Stack, Streams, percentage,
    recomputation::{kept, recomputed},
    refund_of, sell,
};

fn on(day: u32) -> DateTime<Utc> {
    Utc.with_ymd_and_hms(2026, 3, day, 9, 0, 0).unwrap()
}

/// By day: the refunded amount, and the deduction from commissions.
async fn given_back(stack: &Stack, program: &Program) -> Vec<(NaiveDate, i64, i64)> {
    let mut connection = stack.pool().acquire().await.unwrap();
    let (first, last) = (on(1).date_naive(), on(31).date_naive());
    let days = refund_rollups::refund_days(&mut connection, &[program.program_id.get()], first, last)
        .await
        .unwrap();
    let figures = |RefundDay { day, sums, .. }: RefundDay| (day, sums.refunded_cents, sums.deducted_cents);
    days.into_iter().map(figures).collect()
}

/// A program with a sale of 10 dollars on 3 March, of which Ada earned two.
async fn sold_on_the_third() -> (Stack, Program) {
    let (stack, program) = Stack::with_customer_at_noon().await;
    stack.clock.set(on(3));
    sell(&stack, &program, "t1", 1_000, json!({})).await;
    (stack, program)
}

#[tokio::test]
async fn a_refund_counts_once_on_its_own_day_and_leaves_the_day_of_the_sale_as_it_was() {
    let (stack, program) = sold_on_the_third().await;
    let before = kept(&stack).await;
    stack.clock.set(on(5));
    stack.refunded(&program, refund_of("t1", 250)).await;
    stack.clock.set(on(7));
    stack.refunded(&program, refund_of("t1", 5_000)).await;
    let days = [(on(5).date_naive(), 250, 50), (on(7).date_naive(), 750, 150)];
    assert_eq!(given_back(&stack, &program).await, days);
    Streams::of(&stack).await.replay(&stack).await;
    assert_eq!(given_back(&stack, &program).await, days, "redelivered");
    let after = kept(&stack).await;
    assert_eq!((&after.programs, &after.links), (&before.programs, &before.links));
    let of_link: i64 = after
        .link_refunds
        .iter()
        .filter(|((link, ..), _)| *link == program.ada.link.get())
        .map(|(_, sums)| sums.refunded_cents)
        .sum();
    assert_eq!(of_link, 1_000);
    assert_eq!(after, recomputed(&stack).await);
    rollups::rebuild(stack.pool(), program.program_id).await.unwrap();
    assert_eq!(kept(&stack).await, after, "rebuilt");
    stack.verify().await;
}

#[tokio::test]
async fn refund_days_survive_a_fold_and_damaged_days_are_found_and_rebuilt() {
    let (stack, program) = sold_on_the_third().await;
    stack.refunded(&program, refund_of("t1", 300)).await;
    let before = given_back(&stack, &program).await;
    stack.reaches("refund_deltas", 0).await;
    assert_eq!(stack.count("program_refund_days").await, 1);
    assert_eq!(stack.count("link_refund_days").await, 1);
    assert_eq!(given_back(&stack, &program).await, before);
    stack.verify().await;
    let statement = "UPDATE program_refund_days SET deducted_cents = deducted_cents + 1";
    stack.execute(statement).await;
    let refund_days = "what a program gave back on a day is what its refunds add up to";
    assert_eq!(stack.broken().await, [refund_days]);
    rollups::rebuild(stack.pool(), program.program_id).await.unwrap();
    assert_eq!(given_back(&stack, &program).await, before);
    stack.verify().await;
}

/// An earlier sale arrives late and takes the one-time commission. A refund's deduction from the superseded
/// commission no longer counts on its day.
#[tokio::test]
async fn what_was_taken_from_a_commission_that_is_superseded_counts_no_more() {
    let stack = Stack::at_noon().await;
    let (model, kind) = (AttributionModel::LastClick, CommissionType::CpsOneTime);
    let program = stack.program_with(model, kind, percentage(2_000)).await;
    stack.customer(&program, &program.ada.code, "user-1").await;
    stack.clock.set(on(5));
    sell(&stack, &program, "later", 1_000, json!({})).await;
    stack.clock.set(on(6));
    stack.refunded(&program, refund_of("later", 500)).await;
    assert_eq!(
        given_back(&stack, &program).await,
        [(on(6).date_naive(), 500, 100)]
    );
    stack.clock.set(on(3));
    sell(&stack, &program, "earlier", 1_000, json!({})).await;
    let given_back = given_back(&stack, &program).await;
    assert_eq!(given_back, [(on(6).date_naive(), 500, 0)]);
    let kept = kept(&stack).await;
    let nothing = RefundSums::default();
    assert!(kept.program_refunds.values().all(|sums| *sums != nothing));
    stack.verify().await;
}
