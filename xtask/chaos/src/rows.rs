//! Reads the rows of a round's program.

use anyhow::Result;
use sqlx::PgPool;
use sqlx::postgres::PgRow;

use super::reconcile::Rows;

pub(super) async fn read(pool: &PgPool, program_id: i64) -> Result<Rows> {
    let program = Program { pool, program_id };
    let clicks = "SELECT click_id FROM click_events WHERE program_id = $1";
    let customers =
        "SELECT customer_key, click_id FROM customers WHERE program_id = $1 AND customer_key IS NOT NULL";
    let leads = "SELECT customer_key FROM lead_events WHERE program_id = $1 AND NOT provisional";
    let sales = "SELECT s.id AS sale_id, s.processor_event_id AS transaction_id, s.amount_cents,
                        coalesce(c.customer_key, '') AS customer_key, s.api_refunded_cents, s.processor_refunded_cents,
                        (SELECT coalesce(jsonb_agg(jsonb_build_object(
                                    'commission_id', o.id, 'amount_cents', o.amount_cents, 'deducted_cents', o.deducted_cents)
                                    ORDER BY o.id), '[]')
                         FROM commissions o WHERE o.sale_id = s.id AND o.superseded_at IS NULL) AS commissions
                 FROM sale_events s JOIN customers c ON c.id = s.customer_id
                 WHERE s.program_id = $1 AND NOT s.is_test ORDER BY s.id";
    let refunds = "SELECT s.processor_event_id AS transaction_id, regexp_replace(r.refund_key, '^id:', '') AS refund_id,
                          r.requested_cents, r.effective_cents
                   FROM refunds r JOIN sale_events s ON s.id = r.sale_id
                   WHERE r.program_id = $1 AND r.channel = 'api'";
    let events = "SELECT processor_event_id, state || coalesce(' (' || reason || ')', '')
                  FROM processor_events WHERE program_id = $1";
    Ok(Rows {
        clicks: program.texts(clicks).await?,
        customers: program.rows(customers).await?,
        leads: program.texts(leads).await?,
        sales: program.rows(sales).await?,
        refunds: program.rows(refunds).await?,
        events: program.rows(events).await?,
    })
}

struct Program<'a> {
    pool: &'a PgPool,
    program_id: i64,
}

impl Program<'_> {
    async fn rows<T>(&self, query: &'static str) -> Result<Vec<T>>
    where
        T: for<'r> sqlx::FromRow<'r, PgRow> + Send + Unpin,
    {
        let query = sqlx::query_as(query).bind(self.program_id);
        Ok(query.fetch_all(self.pool).await?)
    }

    /// Of one column.
    async fn texts(&self, query: &'static str) -> Result<Vec<String>> {
        let rows: Vec<(String,)> = self.rows(query).await?;
        Ok(rows.into_iter().map(|(text,)| text).collect())
    }
}
