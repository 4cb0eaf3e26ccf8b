//! Sales of the list, without duplicates.

use serde::Deserialize;
use sqlx::PgConnection;
use sqlx::types::Json;

use super::{ProgramEvent, ProgramEventDetails, SaleDetails, Span, event};
use crate::error::StorageResult;

/// A sale's commission in force, or one that was added by hand to make up for it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct SaleCommission {
    pub id: i64,
    pub partner_program_id: i64,
    pub status: String,
    pub amount_cents: i64,
    pub deducted_cents: i64,
    pub currency: String,
}

/// Reads sales: `head` selects them up to its last condition. A sale belongs to each credited partner.
macro_rules! sales {
    ($connection:expr, $span:expr, $head:literal $(, $more:expr)*) => {
        sqlx::query!(
            r#"SELECT e.id AS "id!", e.sale_date AS "timestamp!", e.created_at AS "created_at!", e.is_test AS "is_test!",
                      e.customer_id AS "customer_id?", c.click_id AS "click_id?", c.customer_key AS "customer_key?",
                      e.processor_event_id AS "transaction_id!",
                      e.amount_cents AS "amount_cents!", e.currency AS "currency!", e.sale_type AS "sale_type!",
                      e.payment_status AS "payment_status!", e.is_recurring AS "is_recurring!",
                      greatest(e.api_refunded_cents, e.processor_refunded_cents) AS "refunded_cents!",
                      e.no_commission_reason AS "no_commission_reason?", l.short_code AS "link_code?",
                      l.partner_program_id AS "partner_program_id?", l.partner_id AS "partner_id?", p.name AS "partner_name?",
                      -- With its sale, which saves a round trip.
                      CASE WHEN $7 THEN coalesce(
                          (SELECT jsonb_agg(to_jsonb(k) ORDER BY k.id)
                           FROM (SELECT id, partner_program_id, status, amount_cents, deducted_cents, currency FROM commissions
                                 WHERE sale_id = e.id AND superseded_at IS NULL
                                 UNION ALL
                                 SELECT id, partner_program_id, status, amount_cents, deducted_cents, currency FROM commissions
                                 WHERE for_sale_id = e.id AND rejected_at IS NULL) k), '[]') END AS "commissions?: Json<Vec<SaleCommission>>"
               FROM ("# + $head + r#" AND duplicate_of IS NULL
                     AND sale_date >= $2 AND sale_date <= $3 AND (sale_date < $3 OR id < $4)
                     AND ($6::bigint[] IS NULL OR referral_link_id = ANY($6)
                          -- One row at a time: hashed, it would be all of the partner's commissions.
                          OR (SELECT true FROM commissions k
                              WHERE k.sale_id = sale_events.id AND k.superseded_at IS NULL AND k.referral_link_id = ANY($6) LIMIT 1))
                     ORDER BY sale_date DESC, id DESC LIMIT $5) e
               LEFT JOIN customers c ON c.id = e.customer_id
               LEFT JOIN referral_links l ON l.id = e.referral_link_id
               LEFT JOIN partners p ON p.id = l.partner_id
               ORDER BY e.sale_date DESC, e.id DESC"#,
            $span.program_id.get(),
            $span.from,
            $span.before.timestamp,
            $span.before.id,
            $span.limit,
            $span.filter.links.as_deref() as Option<&[i64]>,
            $span.with_commissions
            $(, $more)*
        )
        .map(|row| event!(row, row.is_test, ProgramEventDetails::Sale(SaleDetails {
            transaction_id: row.transaction_id,
            amount_cents: row.amount_cents,
            currency: row.currency,
            sale_type: row.sale_type,
            payment_status: row.payment_status,
            is_recurring: row.is_recurring,
            refunded_cents: row.refunded_cents,
            no_commission_reason: row.no_commission_reason,
            commissions: row.commissions.map(|Json(commissions)| commissions),
        })))
        .fetch_all($connection)
        .await?
    };
}

pub(super) async fn read(connection: &mut PgConnection, span: &Span<'_>) -> StorageResult<Vec<ProgramEvent>> {
    let filter = span.filter;
    Ok(if let Some(subjects) = &filter.subjects {
        sales!(
            connection,
            span,
            // A subquery of its own: with order and limit, the planner would choose the index by time.
            "SELECT * FROM (SELECT s.* FROM (SELECT id FROM sale_events WHERE customer_id = ANY($8)
                                             UNION SELECT unnest($9::bigint[])) n
                            JOIN sale_events s ON s.id = n.id OFFSET 0) sale_events
             WHERE program_id = $1 AND NOT is_test",
            &subjects.customers,
            &subjects.sales
        )
    } else if filter.is_test {
        sales!(
            connection,
            span,
            "SELECT * FROM sale_events WHERE program_id = $1 AND is_test"
        )
    } else {
        sales!(
            connection,
            span,
            "SELECT * FROM sale_events WHERE program_id = $1 AND NOT is_test"
        )
    })
}
