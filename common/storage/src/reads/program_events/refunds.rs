//! Refunds of the list, on their own day, with their sale's customer and partner. None are tests.

use sqlx::PgConnection;

use super::{ProgramEvent, ProgramEventDetails, RefundDetails, Span, event};
use crate::error::StorageResult;

macro_rules! refunds {
    ($connection:expr, $span:expr, $from:literal $(, $more:expr)*) => {
        sqlx::query!(
            r#"SELECT e.id AS "id!", e.refunded_at AS "timestamp!", e.created_at AS "created_at!", e.customer_id AS "customer_id?",
                      c.click_id AS "click_id?", c.customer_key AS "customer_key?", e.sale_id AS "sale_id!", e.transaction_id AS "transaction_id!",
                      e.effective_cents AS "amount_cents!", e.currency AS "currency!", e.channel AS "channel!",
                      l.short_code AS "link_code?", l.partner_program_id AS "partner_program_id?", l.partner_id AS "partner_id?",
                      p.name AS "partner_name?"
               FROM (SELECT r.id, r.refunded_at, r.created_at, r.sale_id, r.effective_cents, r.channel, s.customer_id, s.currency,
                            s.processor_event_id AS transaction_id, s.referral_link_id
                     FROM "# + $from + r#" r JOIN sale_events s ON s.id = r.sale_id
                     WHERE r.program_id = $1 AND s.duplicate_of IS NULL
                       AND r.refunded_at >= $2 AND r.refunded_at <= $3 AND (r.refunded_at < $3 OR r.id < $4)
                       AND ($6::bigint[] IS NULL OR s.referral_link_id = ANY($6)
                            -- One row at a time: hashed, it would be all of the partner's commissions.
                            OR (SELECT true FROM commissions k
                                WHERE k.sale_id = s.id AND k.superseded_at IS NULL AND k.referral_link_id = ANY($6) LIMIT 1))
                     ORDER BY r.refunded_at DESC, r.id DESC LIMIT $5) e
               LEFT JOIN customers c ON c.id = e.customer_id
               LEFT JOIN referral_links l ON l.id = e.referral_link_id
               LEFT JOIN partners p ON p.id = l.partner_id
               ORDER BY e.refunded_at DESC, e.id DESC"#,
            $span.program_id.get(),
            $span.from,
            $span.before.timestamp,
            $span.before.id,
            $span.limit,
            $span.filter.links.as_deref() as Option<&[i64]>
            $(, $more)*
        )
        .map(|row| event!(row, false, ProgramEventDetails::Refund(RefundDetails {
            sale_id: row.sale_id,
            transaction_id: row.transaction_id,
            amount_cents: row.amount_cents,
            currency: row.currency,
            channel: row.channel,
        })))
        .fetch_all($connection)
        .await?
    };
}

pub(super) async fn read(connection: &mut PgConnection, span: &Span<'_>) -> StorageResult<Vec<ProgramEvent>> {
    let filter = span.filter;
    if filter.is_test {
        return Ok(Vec::new());
    }
    Ok(if let Some(subjects) = &filter.subjects {
        refunds!(
            connection,
            span,
            // A subquery of its own: with order and limit, the planner would choose the index by time.
            "(SELECT * FROM refunds
              WHERE sale_id IN (SELECT id FROM sale_events WHERE customer_id = ANY($7) UNION SELECT unnest($8::bigint[])) OFFSET 0)",
            &subjects.customers,
            &subjects.sales
        )
    } else {
        refunds!(connection, span, "refunds")
    })
}
