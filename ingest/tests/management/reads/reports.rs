//! The dashboard's reports of a program's events: exact, in order, and only for users with the right.

mod access;
mod events;
mod export;
mod live;
mod performance;
mod raw_rows;
mod replica;
mod status;

use chrono::{DateTime, Utc};
use test_harness::{Program, Stack};

/// Adds a row of `click_events`: `(event_id, program_id, …)`, beside its time.
pub async fn add_click(
    stack: &Stack,
    program: &Program,
    at: DateTime<Utc>,
    customer_id: i64,
    click_id: &str,
) {
    sqlx::query(
        "INSERT INTO click_events (event_id, program_id, referral_link_id, customer_id, click_timestamp, click_id, created_at)
         VALUES (gen_random_uuid(), $1, $2, $3, $4, $5, $4)",
    )
    .bind(program.program_id.get())
    .bind(program.ada.link.get())
    .bind(customer_id)
    .bind(at)
    .bind(click_id)
    .execute(stack.pool())
    .await
    .unwrap();
}
