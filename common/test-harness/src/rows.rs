//! Rows of the tables as JSON, looked up by the ids that callers know.

use std::collections::BTreeMap;

use domain::earnings::commission::{CommissionType, Rate};
use domain::ids::ReferralLinkId;
use domain::text::Text;
use serde_json::Value;
use storage::program::policies::{self, NewPolicy};

use crate::program::Program;
use crate::stack::Stack;

/// The customer to whom a `click_id` was issued.
pub async fn customer(stack: &Stack, click_id: &str) -> Value {
    sqlx::query_scalar("SELECT to_jsonb(c) FROM customers c WHERE click_id = $1")
        .bind(click_id)
        .fetch_one(stack.pool())
        .await
        .unwrap()
}

/// The sale recorded under a `transaction_id`; `null` if there is none.
pub async fn sale(stack: &Stack, transaction_id: &str) -> Value {
    sqlx::query_scalar("SELECT to_jsonb(s) FROM sale_events s WHERE processor_event_id = $1")
        .bind(transaction_id)
        .fetch_optional(stack.pool())
        .await
        .unwrap()
        .unwrap_or_default()
}

/// The commissions of a sale, oldest first.
pub async fn commissions(stack: &Stack, transaction_id: &str) -> Vec<Value> {
    sqlx::query_scalar(
        "SELECT to_jsonb(c) FROM commissions c JOIN sale_events s ON s.id = c.sale_id
         WHERE s.processor_event_id = $1 ORDER BY c.id",
    )
    .bind(transaction_id)
    .fetch_all(stack.pool())
    .await
    .unwrap()
}

/// The only commission of a sale.
pub async fn commission(stack: &Stack, transaction_id: &str) -> Value {
    let mut commissions = commissions(stack, transaction_id).await;
    assert_eq!(commissions.len(), 1, "{commissions:?}");
    commissions.remove(0)
}

pub async fn claims(stack: &Stack, transaction_id: &str) -> i64 {
    sqlx::query_scalar("SELECT count(*) FROM transaction_claims WHERE transaction_id = $1")
        .bind(transaction_id)
        .fetch_one(stack.pool())
        .await
        .unwrap()
}

/// Waits until a link has counted this many clicks. The same transaction writes the journeys.
pub async fn counted(stack: &Stack, link: ReferralLinkId, clicks: i64) {
    let counted = format!("referral_links WHERE id = {link} AND clicks = {clicks}");
    stack.reaches(&counted, 1).await;
}

/// Changes one setting of a program, as an operator can.
pub async fn set(stack: &Stack, program: &Program, assignment: &str) {
    let id = program.program_id;
    stack
        .execute(&format!("UPDATE programs SET {assignment} WHERE id = {id}"))
        .await;
}

/// Adds a policy in force from `effective_from` on, an ISO 8601 instant.
pub async fn policy(
    stack: &Stack,
    program: &Program,
    product_id: Option<&str>,
    (kind, rate): (CommissionType, Rate),
    effective_from: &str,
) {
    let mut connection = stack.pool().acquire().await.unwrap();
    let product_id = product_id.map(|product_id| Text::parse(product_id).unwrap());
    let policy = NewPolicy {
        program_id: program.program_id,
        product_id: product_id.as_ref(),
        effective_from: effective_from.parse().unwrap(),
        commission_type: kind,
        rate: &rate,
        created_at: stack.clock.now(),
    };
    policies::create(&mut connection, &policy).await.unwrap();
}

/// Tables that the worker fills and empties at any time.
const ROLLUPS: [&str; 11] = [
    "rollup_deltas",
    "program_days",
    "link_days",
    "refund_deltas",
    "program_refund_days",
    "link_refund_days",
    "click_origin_deltas",
    "click_origin_days",
    "customer_month_deltas",
    "customer_months",
    "program_cohorts",
];

/// The names of all tables except rollups and `others`.
pub async fn tables_but(stack: &Stack, others: &[&str]) -> Vec<String> {
    let left_out: Vec<&str> = ROLLUPS.iter().chain(others).copied().collect();
    sqlx::query_scalar(
        "SELECT quote_ident(relname) FROM pg_class
         WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition
           AND relname <> ALL($1) ORDER BY 1",
    )
    .bind(left_out)
    .fetch_all(stack.pool())
    .await
    .unwrap()
}

/// The number of rows in each table. Stored refusals are left out, because refused requests create them.
/// Rollups are left out, because the worker folds them after the answers.
pub async fn counts(stack: &Stack) -> BTreeMap<String, i64> {
    let tables = tables_but(stack, &["refused_events"]).await;
    let mut counts = BTreeMap::new();
    for table in tables {
        let rows = stack.count(&table).await;
        counts.insert(table, rows);
    }
    counts
}

/// Every row of every table, each column as text.
pub async fn text_of_all_rows(stack: &Stack) -> String {
    let mut text = String::new();
    for table in tables_but(stack, &[])
        .await
        .iter()
        .map(String::as_str)
        .chain(ROLLUPS)
    {
        let rows = format!("SELECT coalesce(string_agg(t::text, E'\\n'), '') FROM {table} t");
        text += &stack.value::<String>(&rows).await;
        text.push('\n');
    }
    text
}
