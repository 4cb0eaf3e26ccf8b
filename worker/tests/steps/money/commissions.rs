//! What a sale earns: the policy that counts, the day of the commission, and how it is shown.

use chrono::TimeDelta;
use domain::earnings::commission::CommissionType;
use serde_json::json;
use test_harness::{Json, Shop, Stack, noon, percentage, refund_of, rows, sale_of, sell};

#[tokio::test]
async fn the_policy_in_force_at_sale_time_counts_and_later_ones_do_not_reach_back() {
    let (stack, program) = Stack::with_customer_at_noon().await;
    let change = noon() + TimeDelta::days(10);
    let terms = (CommissionType::CpsLifetime, percentage(1_000));
    rows::policy(&stack, &program, None, terms, &change.to_rfc3339()).await;
    for (at, transaction_id, rate, earned) in [
        (change - TimeDelta::milliseconds(1), "t1", 2_000, 2_000),
        (change, "t2", 1_000, 1_000),
    ] {
        stack.clock.set(at);
        sell(&stack, &program, transaction_id, 10_000, json!({})).await;
        let commission = rows::commission(&stack, transaction_id).await;
        commission.has(json!({ "rate_bps": rate, "amount_cents": earned }));
    }
    let refund = stack.refunded(&program, refund_of("t1", 0)).await;
    assert_eq!(refund.body["deductionAmount"], 20.0);
    stack.verify().await;
}

/// Revenue and commission of a sale count on the same day, even if the pipeline was behind.
#[tokio::test]
async fn a_commission_is_of_its_sales_day_however_late_it_is_settled() {
    let mut stack = Stack::at_noon().await;
    let program = stack.program_with_customer().await;
    stack.stop_workers().await;
    // No worker settles the sale, so its caller need not wait for long.
    stack.set("ANSWER_WITHIN_MS", "200");
    let hasty = stack.start_ingest();
    stack.use_ingest(hasty);
    stack.ready().await;
    stack.sale(&program, sale_of("t1", "user-1")).await.is(500);
    stack.clock.advance(TimeDelta::days(2));
    stack.start_worker();
    stack.reaches("commissions", 1).await;
    let sale_date = rows::sale(&stack, "t1").await["sale_date"].clone();
    assert_eq!(rows::commission(&stack, "t1").await["created_at"], sale_date);
    stack.verify().await;
}

#[tokio::test]
async fn a_commission_is_shown_with_its_sale_and_what_of_it_earns() {
    let shop = Shop::open().await;
    let sale = json!({ "amount_cents": 1_190, "commissionable_cents": 1_000 });
    shop.sell("t1", sale).await;
    let commission = &shop.read("commissions").await[0];
    commission.has(json!({ "amount_cents": 200, "sale_amount_cents": 1_190, "sale_currency": "USD" }));
    assert_eq!(commission["commissionable_cents"], 1_000);
    let file = shop.get("commissions/export.csv").await;
    let line = file.text().lines().nth(1).unwrap();
    assert!(line.ends_with(r#","1190","1000","USD","0","","","""#), "{line}");
    shop.stack.verify().await;
}
