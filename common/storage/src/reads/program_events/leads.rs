//! Leads of the list.

use sqlx::PgConnection;

use super::{LeadDetails, ProgramEvent, ProgramEventDetails, Span, event};
use crate::error::StorageResult;

/// Reads leads: `head` selects them up to its last condition. A lead belongs to the last link that the
/// customer clicked before it, as in the worker's lead step.
macro_rules! leads {
    ($connection:expr, $span:expr, $head:literal $(, $more:expr)?) => {
        sqlx::query!(
            r#"SELECT e.id AS "id!", e.lead_timestamp AS "timestamp!", e.created_at AS "created_at!", e.is_test AS "is_test!",
                      e.customer_id AS "customer_id?", e.click_id AS "click_id?", e.customer_key AS "customer_key?",
                      e.session_id AS "session_id?", e.page_url AS "page_url?",
                      coalesce(c.status = 'conversion', false) AS "converted!", l.short_code AS "link_code?",
                      l.partner_program_id AS "partner_program_id?", l.partner_id AS "partner_id?", p.name AS "partner_name?"
               FROM ("# + $head + r#"
                     AND lead_timestamp >= $2 AND lead_timestamp <= $3 AND (lead_timestamp < $3 OR id < $4)
                     AND ($6::bigint[] IS NULL
                          OR (SELECT (SELECT t.link_id
                                      FROM unnest(c.touched_link_ids || coalesce(c.earlier_link_ids, '{}'),
                                                  c.touched_at || coalesce(c.earlier_at, '{}')) AS t (link_id, at)
                                      ORDER BY t.at <= lead_events.lead_timestamp DESC, t.at DESC, t.link_id DESC LIMIT 1)
                              FROM customers c WHERE c.id = lead_events.customer_id) = ANY($6))
                     ORDER BY lead_timestamp DESC, id DESC LIMIT $5) e
               LEFT JOIN customers c ON c.id = e.customer_id
               LEFT JOIN LATERAL (
                   SELECT t.link_id
                   FROM unnest(c.touched_link_ids || coalesce(c.earlier_link_ids, '{}'),
                               c.touched_at || coalesce(c.earlier_at, '{}')) AS t (link_id, at)
                   ORDER BY t.at <= e.lead_timestamp DESC, t.at DESC, t.link_id DESC LIMIT 1) k ON true
               LEFT JOIN referral_links l ON l.id = k.link_id
               LEFT JOIN partners p ON p.id = l.partner_id
               ORDER BY e.lead_timestamp DESC, e.id DESC"#,
            $span.program_id.get(),
            $span.from,
            $span.before.timestamp,
            $span.before.id,
            $span.limit,
            $span.filter.links.as_deref() as Option<&[i64]>
            $(, $more)?
        )
        .map(|row| event!(row, row.is_test, ProgramEventDetails::Lead(LeadDetails {
            customer_key: row.customer_key.clone(),
            session_id: row.session_id,
            page_url: row.page_url,
            converted: row.converted,
        })))
        .fetch_all($connection)
        .await?
    };
}

pub(super) async fn read(connection: &mut PgConnection, span: &Span<'_>) -> StorageResult<Vec<ProgramEvent>> {
    let filter = span.filter;
    Ok(if let Some(subjects) = &filter.subjects {
        leads!(
            connection,
            span,
            // A subquery of its own: with order and limit, the planner would choose the index by time.
            "SELECT * FROM (SELECT * FROM lead_events WHERE customer_id = ANY($7) OFFSET 0) lead_events
             WHERE program_id = $1 AND NOT is_test",
            &subjects.customers
        )
    } else if filter.is_test {
        leads!(
            connection,
            span,
            "SELECT * FROM lead_events WHERE program_id = $1 AND is_test"
        )
    } else {
        leads!(
            connection,
            span,
            "SELECT * FROM lead_events WHERE program_id = $1 AND NOT is_test"
        )
    })
}
