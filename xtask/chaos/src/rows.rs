//! Reads the rows of a round's program.

use anyhow::Result;
use sqlx::PgPool;

use super::reconcile::{CommissionRow, RefundRow, Rows, SaleRow};

pub(super) async fn read(pool: &PgPool, program_id: i64) -> Result<Rows> {
    let clicks = sqlx::query_scalar("SELECT click_id FROM click_events WHERE program_id = $1")
        .bind(program_id)
        .fetch_all(pool)
        .await?;
    let customers = sqlx::query_as(
        "SELECT customer_key, click_id FROM customers WHERE program_id = $1 AND customer_key IS NOT NULL",
    )
    .bind(program_id)
    .fetch_all(pool)
    .await?;
    let leads =
        sqlx::query_scalar("SELECT customer_key FROM lead_events WHERE program_id = $1 AND NOT provisional")
            .bind(program_id)
            .fetch_all(pool)
            .await?;
    let events = sqlx::query_as(
        "SELECT processor_event_id, state || coalesce(' (' || reason || ')', '')
         FROM processor_events WHERE program_id = $1",
    )
    .bind(program_id)
    .fetch_all(pool)
    .await?;
    Ok(Rows {
        clicks,
        customers,
        leads,
        sales: sales(pool, program_id).await?,
        refunds: refunds(pool, program_id).await?,
        events,
    })
}

type Sale = (i64, String, i64, String, i64, i64);

async fn sales(pool: &PgPool, program_id: i64) -> Result<Vec<SaleRow>> {
    let sales: Vec<Sale> = sqlx::query_as(
        "SELECT s.id, s.processor_event_id, s.amount_cents, coalesce(c.customer_key, ''),
                s.api_refunded_cents, s.processor_refunded_cents
         FROM sale_events s JOIN customers c ON c.id = s.customer_id
         WHERE s.program_id = $1 AND NOT s.is_test ORDER BY s.id",
    )
    .bind(program_id)
    .fetch_all(pool)
    .await?;
    let commissions: Vec<(i64, i64, i64, i64)> = sqlx::query_as(
        "SELECT sale_id, id, amount_cents, deducted_cents FROM commissions
         WHERE program_id = $1 AND superseded_at IS NULL ORDER BY id",
    )
    .bind(program_id)
    .fetch_all(pool)
    .await?;
    let row = |(sale_id, transaction_id, amount_cents, customer_key, api, processor): Sale| SaleRow {
        sale_id,
        transaction_id,
        amount_cents,
        customer_key,
        api_refunded_cents: api,
        processor_refunded_cents: processor,
        commissions: commissions
            .iter()
            .filter(|(of_sale, ..)| *of_sale == sale_id)
            .map(|(_, commission_id, amount_cents, deducted_cents)| CommissionRow {
                commission_id: *commission_id,
                amount_cents: *amount_cents,
                deducted_cents: *deducted_cents,
            })
            .collect(),
    };
    Ok(sales.into_iter().map(row).collect())
}

async fn refunds(pool: &PgPool, program_id: i64) -> Result<Vec<RefundRow>> {
    let refunds: Vec<(String, String, Option<i64>, i64)> = sqlx::query_as(
        "SELECT s.processor_event_id, r.refund_key, r.requested_cents, r.effective_cents
         FROM refunds r JOIN sale_events s ON s.id = r.sale_id
         WHERE r.program_id = $1 AND r.channel = 'api'",
    )
    .bind(program_id)
    .fetch_all(pool)
    .await?;
    let row =
        |(transaction_id, key, requested_cents, effective_cents): (String, String, Option<i64>, i64)| {
            RefundRow {
                transaction_id,
                refund_id: key.trim_start_matches("id:").to_owned(),
                requested_cents,
                effective_cents,
            }
        };
    Ok(refunds.into_iter().map(row).collect())
}
