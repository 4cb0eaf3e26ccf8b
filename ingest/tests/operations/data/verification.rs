//! Verifies the invariants slice by slice: since a day, and continuously by the worker.

use std::collections::BTreeSet;

use chrono::TimeDelta;
use storage::operations::verify::continuous::{self, Step};
use storage::operations::verify::divided::divided;
use test_harness::{Stack, Streams, ctl, refund_of, sale_of, succeeds};

const SHARE: &str = "commissions by percentage come to their policy's share of what earns";
const BALANCE: &str = "partner-program balance = sum of its ledger entries";

/// Verifies until no slice is due; returns the broken invariants.
async fn verified(stack: &Stack) -> BTreeSet<&'static str> {
    let mut found = BTreeSet::new();
    loop {
        match continuous::step(stack.pool()).await.unwrap() {
            Step::Idle => return found,
            Step::Verified => {}
            Step::Found { invariant, rows } => {
                assert!(rows > 0);
                found.insert(invariant);
            }
        }
    }
}

async fn status(stack: &Stack) -> continuous::Status {
    let mut connection = stack.pool().acquire().await.unwrap();
    continuous::status(&mut connection).await.unwrap()
}

/// A stack without a worker, with a sale that was refunded in part.
async fn with_a_refund() -> Stack {
    let (mut stack, program) = Stack::with_customer().await;
    stack.sold(&program, sale_of("t1", "user-1")).await;
    stack.sold(&program, sale_of("t2", "user-1")).await;
    let refund = refund_of("t2", 100);
    stack.refund(&program, refund).await.ok();
    Streams::of(&stack).await.drained(&stack).await;
    stack.verify().await;
    stack.stop_workers().await;
    stack
}

/// Moves all rows into the past, as if they had been stored earlier: transactions from then have ended.
async fn pass(stack: &Stack, time: &'static str) {
    let mut statements = vec!["SET LOCAL session_replication_role = replica".to_owned()];
    for table in ["sale_events", "refunds", "ledger_entries"] {
        statements.push(format!(
            "UPDATE {table} SET created_at = created_at - interval '{time}'"
        ));
    }
    // The day must match the sums, which do not move.
    let not_before_today = "greatest(created_at - interval '15 minutes', date_trunc('day', created_at))";
    statements.push(format!("UPDATE commissions SET created_at = {not_before_today}"));
    statements.push("UPDATE verifications SET due_at = now()".to_owned());
    let earlier = stack.holding(&statements.join("; ")).await;
    earlier.commit().await.unwrap();
}

/// Sets which part of a sale's amount earns a commission.
async fn earning(stack: &Stack, cents: &str, sale: &str) {
    let set = format!(
        "UPDATE sale_events SET commissionable_cents = {cents} WHERE processor_event_id LIKE '{sale}'"
    );
    stack.execute(&set).await;
}

#[tokio::test]
async fn settled_rows_are_verified_and_a_difference_stays_until_it_is_repaired() {
    let stack = with_a_refund().await;
    earning(&stack, "amount_cents - 100", "t1").await;
    // Other transactions may still store rows beside those of the last minutes.
    assert_eq!(verified(&stack).await, [].into());
    pass(&stack, "15 minutes").await;
    assert_eq!(verified(&stack).await, [SHARE].into());
    assert_eq!(status(&stack).await.differences, 1);
    pass(&stack, "0").await;
    assert_eq!(verified(&stack).await, [SHARE].into());
    earning(&stack, "NULL", "%").await;
    stack
        .execute("UPDATE partner_program_balances SET balance_cents = balance_cents + 1")
        .await;
    pass(&stack, "0").await;
    let found = verified(&stack).await;
    assert!(found.contains(BALANCE) && !found.contains(SHARE), "{found:?}");
    stack
        .execute("UPDATE partner_program_balances SET balance_cents = balance_cents - 1")
        .await;
    pass(&stack, "0").await;
    assert_eq!(verified(&stack).await, [].into());
    let status = status(&stack).await;
    assert_eq!(status.differences, 0);
    assert!(status.now - status.oldest.unwrap() < TimeDelta::minutes(1));
}

#[tokio::test]
async fn since_a_day_what_is_older_counts_only_if_it_changed() {
    let stack = with_a_refund().await;
    earning(&stack, "amount_cents - 100", "t1").await;
    let today = stack.clock.now().date_naive().to_string();
    let since = format!("verify --since {today}");
    let is_broken = format!("BROKEN  {SHARE}");
    let broken = ctl(&stack, &since).await;
    assert!(!broken.ok && broken.out.contains(&is_broken), "{broken:?}");
    pass(&stack, "3 days").await;
    let fine = succeeds(&stack, &since).await;
    fine.says(&format!("ok      {SHARE}"));
    // Some checks do not know when their rows were stored.
    fine.says("in part click_ids are unique");
    // The sale is old, and its refund is of today.
    earning(&stack, "NULL", "%").await;
    earning(&stack, "amount_cents - 100", "t2").await;
    succeeds(&stack, &since).await;
    stack.execute("UPDATE refunds SET created_at = now()").await;
    let broken = ctl(&stack, &since).await;
    assert!(broken.out.contains(&is_broken), "{broken:?}");
}

#[tokio::test]
async fn no_row_is_left_out_between_slices() {
    let (stack, _) = Stack::with_program().await;
    // Two memberships each; a slice has twenty.
    for _ in 0..11 {
        stack.program().await;
    }
    stack.verify().await;
    let memberships: Vec<i64> = stack.values("SELECT id FROM partner_programs ORDER BY id").await;
    assert!(memberships.len() > 20, "{memberships:?}");
    for id in &memberships {
        let damage = format!(
            "INSERT INTO partner_program_balances (partner_program_id, currency, balance_cents)
             VALUES ({id}, 'usd', 1)"
        );
        let mut damaged = stack.holding(&damage).await;
        let found = divided(&mut damaged, None, |_, _| {}).await.unwrap();
        damaged.rollback().await.unwrap();
        let mut names = found.violations.iter().map(|violation| violation.invariant);
        assert!(names.any(|name| name == BALANCE), "{id}: {found:?}");
    }
}
