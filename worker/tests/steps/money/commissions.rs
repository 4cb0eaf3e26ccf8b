//! What a sale earns: rates, currencies, policies, and the hold period.

use chrono::TimeDelta;
use domain::earnings::commission::{CommissionType, Rate};
use domain::money::{Cents, Currency};
use domain::tracking::attribution::AttributionModel;
use reqwest::StatusCode;
use runtime::clock::Clock;
use serde_json::{Value, json};
use test_harness::{Stack, noon, percentage, rows, sell};

const LONG_AGO: &str = "2000-01-01T00:00:00Z";

fn fixed(cents: i64, currency: &str) -> Rate {
    Rate::Fixed {
        amount: Cents::new(cents),
        currency: Currency::parse(currency).unwrap(),
    }
}

async fn balance(stack: &Stack, membership: i64, currency: &str) -> i64 {
    sqlx::query_scalar(
        "SELECT coalesce(sum(balance_cents), 0)::bigint FROM partner_program_balances
         WHERE partner_program_id = $1 AND currency = $2",
    )
    .bind(membership)
    .bind(currency)
    .fetch_one(stack.pool())
    .await
    .unwrap()
}

#[tokio::test]
async fn a_percentage_is_rounded_to_the_cent_with_halves_away_from_zero() {
    let (stack, program) = Stack::with_customer().await;
    let cases = [
        (1_250, 3, 0),
        (1_250, 4, 1),
        (1_250, 11, 1),
        (1_250, 12, 2),
        (5_000, 1, 1),
        (4_999, 1, 0),
        (1, 4_999, 0),
        (1, 5_000, 1),
        (3_333, 9_999, 3_333),
        (0, 10_000, 0),
        (10_000, 99, 99),
    ];
    let mut owed = 0;
    for (basis_points, amount, earned) in cases {
        let product = format!("{basis_points} of {amount}");
        let terms = (CommissionType::CpsLifetime, percentage(basis_points));
        rows::policy(&stack, &program, Some(&product), terms, LONG_AGO).await;
        let sale = sell(
            &stack,
            &program,
            &product,
            amount,
            json!({ "product_id": product }),
        )
        .await;
        assert!(sale.body["commission_id"].is_i64(), "{product}: {sale:?}");
        let commission = rows::commission(&stack, &product).await;
        assert_eq!(commission["amount_cents"], earned, "{product}");
        assert_eq!(commission["rate_bps"], basis_points, "{product}");
        owed += earned;
    }
    assert_eq!(stack.balance(program.ada.membership).await, owed);
    stack.verify().await;
}

#[tokio::test]
async fn a_percentage_is_owed_in_the_sales_currency_and_a_fixed_amount_in_its_own() {
    let (stack, program) = Stack::with_program().await;
    let membership = program.ada.membership.get();
    stack.customer(&program, &program.ada.code, "user-1").await;
    let terms = (CommissionType::CpsLifetime, fixed(700, "USD"));
    rows::policy(&stack, &program, Some("flat"), terms, LONG_AGO).await;
    sell(&stack, &program, "t1", 5000, json!({ "currency": "eur" })).await;
    sell(
        &stack,
        &program,
        "t2",
        5000,
        json!({ "currency": "EUR", "product_id": "flat" }),
    )
    .await;
    assert_eq!(rows::sale(&stack, "t1").await["currency"], "EUR");
    assert_eq!(rows::commission(&stack, "t1").await["currency"], "EUR");
    let flat = rows::commission(&stack, "t2").await;
    assert_eq!(
        (&flat["amount_cents"], &flat["currency"]),
        (&json!(700), &json!("USD"))
    );
    assert_eq!(balance(&stack, membership, "EUR").await, 1000);
    assert_eq!(balance(&stack, membership, "USD").await, 700);
    let half = stack
        .refund(
            &program,
            json!({ "transaction_id": "t2", "refund_amount_cents": 2500 }),
        )
        .await;
    assert_eq!(half.body["deductionAmount"], 3.5);
    assert_eq!(balance(&stack, membership, "EUR").await, 1000);
    assert_eq!(balance(&stack, membership, "USD").await, 350);
    stack.verify().await;
}

#[tokio::test]
async fn a_products_own_policy_goes_before_the_programs_default() {
    let (stack, program) = Stack::with_customer().await;
    let terms = (CommissionType::CpsLifetime, percentage(5_000));
    rows::policy(&stack, &program, Some("pro"), terms, LONG_AGO).await;
    for (transaction_id, product, earned) in [
        ("t1", json!("pro"), 5000),
        ("t2", json!("Pro"), 2000),
        ("t3", Value::Null, 2000),
    ] {
        sell(
            &stack,
            &program,
            transaction_id,
            10_000,
            json!({ "product_id": product }),
        )
        .await;
        assert_eq!(
            rows::commission(&stack, transaction_id).await["amount_cents"],
            earned,
            "{product}"
        );
    }
    stack.verify().await;
}

#[tokio::test]
async fn one_time_commissions_are_paid_on_a_customers_first_payment_only() {
    let stack = Stack::start().await;
    let program = stack
        .program_with(
            AttributionModel::LastClick,
            CommissionType::CpsOneTime,
            percentage(2_000),
        )
        .await;
    stack.customer(&program, &program.ada.code, "user-1").await;
    let first = sell(&stack, &program, "t1", 5000, json!({})).await;
    assert!(first.body["commission_id"].is_i64(), "{first:?}");
    let second = sell(&stack, &program, "t2", 5000, json!({})).await;
    assert!(second.body["sale_id"].is_i64(), "{second:?}");
    assert_eq!(second.body["commission_id"], Value::Null);
    let message = second.body["message"].as_str().unwrap();
    assert!(message.contains("first payment only"), "{message}");
    assert_eq!(
        rows::sale(&stack, "t2").await["no_commission_reason"],
        "one_time_already_paid"
    );
    assert_eq!(stack.balance(program.ada.membership).await, 1000);
    // The first payment of another customer counts as a first payment.
    stack.customer(&program, &program.ada.code, "user-2").await;
    sell(&stack, &program, "t3", 5000, json!({ "customer_key": "user-2" })).await;
    assert_eq!(stack.balance(program.ada.membership).await, 2000);
    stack.verify().await;
}

#[tokio::test]
async fn without_a_policy_in_force_the_answer_says_why_the_sale_has_no_commission() {
    let (stack, program) = Stack::with_program().await;
    sqlx::query("DELETE FROM commission_policies")
        .execute(stack.pool())
        .await
        .unwrap();
    let terms = (CommissionType::CpsLifetime, percentage(2_000));
    rows::policy(&stack, &program, None, terms, "2900-01-01T00:00:00Z").await;
    stack.customer(&program, &program.ada.code, "user-1").await;
    let sale = sell(&stack, &program, "t1", 5000, json!({})).await;
    assert!(sale.body["sale_id"].is_i64(), "{sale:?}");
    assert_eq!(sale.body["commission_id"], Value::Null);
    assert!(
        sale.body["message"]
            .as_str()
            .unwrap()
            .contains("no commission policy in force"),
        "{sale:?}"
    );
    assert_eq!(
        rows::sale(&stack, "t1").await["no_commission_reason"],
        "no_commission_policy"
    );
    stack.verify().await;
}

#[tokio::test]
async fn the_policy_in_force_at_sale_time_counts_and_later_ones_do_not_reach_back() {
    let stack = Stack::start_with(Clock::manual(noon())).await;
    let program = stack.program().await;
    stack.customer(&program, &program.ada.code, "user-1").await;
    let change = noon() + TimeDelta::days(10);
    let terms = (CommissionType::CpsLifetime, percentage(1_000));
    rows::policy(&stack, &program, None, terms, &change.to_rfc3339()).await;
    stack.clock.set(change - TimeDelta::milliseconds(1));
    sell(&stack, &program, "t1", 10_000, json!({})).await;
    stack.clock.set(change);
    sell(&stack, &program, "t2", 10_000, json!({})).await;
    for (transaction_id, rate, earned) in [("t1", 2_000, 2000), ("t2", 1_000, 1000)] {
        let commission = rows::commission(&stack, transaction_id).await;
        assert_eq!(
            (&commission["rate_bps"], &commission["amount_cents"]),
            (&json!(rate), &json!(earned))
        );
    }
    let refund = stack.refund(&program, json!({ "transaction_id": "t1" })).await;
    assert_eq!(refund.body["deductionAmount"], 20.0);
    stack.verify().await;
}

/// Revenue and commission of a sale count on the same day, even if the pipeline was behind.
#[tokio::test]
async fn a_commission_is_of_its_sales_day_however_late_it_is_settled() {
    let mut stack = Stack::without_services(Clock::manual(noon())).await;
    stack.start_services().await;
    let program = stack.program().await;
    stack.customer(&program, &program.ada.code, "user-1").await;
    stack.stop_workers().await;
    // No worker settles the sale, so its caller need not wait for long.
    stack.set("ANSWER_WITHIN_MS", "200");
    let hasty = stack.start_ingest();
    stack.use_ingest(hasty);
    stack.ready().await;
    let body = json!({ "transaction_id": "t1", "amount_cents": 5_000, "customer_key": "user-1" });
    let unknown = stack.sale(&program, body).await;
    assert_eq!(unknown.status, StatusCode::INTERNAL_SERVER_ERROR, "{unknown:?}");
    stack.clock.advance(TimeDelta::days(2));
    stack.start_worker();
    stack.reaches("commissions", 1).await;
    assert_eq!(
        rows::commission(&stack, "t1").await["created_at"],
        rows::sale(&stack, "t1").await["sale_date"]
    );
    stack.verify().await;
}

#[tokio::test]
async fn a_commission_is_shown_with_its_sale_and_what_of_it_earns() {
    let (stack, program) = Stack::with_customer().await;
    let sold = json!({ "transaction_id": "t1", "amount_cents": 1190, "commissionable_cents": 1000, "customer_key": "user-1" });
    stack.sold(&program, sold).await;
    let owner = stack.owner_of(&program).await;
    let path = format!(
        "/api/advertiser/affiliate-programs/{}/commissions",
        program.program_id
    );
    let listed = stack.get(&path, &owner.token).await;
    let commission = &listed.body["data"][0];
    for (field, value) in [
        ("amount_cents", json!(200)),
        ("sale_amount_cents", json!(1190)),
        ("commissionable_cents", json!(1000)),
        ("sale_currency", json!("USD")),
    ] {
        assert_eq!(commission[field], value, "{field}: {commission}");
    }
    let file = stack.get(&format!("{path}/export.csv"), &owner.token).await;
    let lines: Vec<&str> = file.body.as_str().unwrap().lines().collect();
    assert!(
        lines[1].ends_with(r#","1190","1000","USD","0","","","""#),
        "{lines:?}"
    );
    stack.verify().await;
}
