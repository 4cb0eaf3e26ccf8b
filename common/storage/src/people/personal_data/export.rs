//! Exports all stored data of a customer as JSON: rows under the names of their tables.

use serde::Serialize;
use serde_json::{Value, json};
use sqlx::PgConnection;

use super::find::Found;
use crate::error::StorageResult;

/// Each field is an array of objects.
#[derive(Debug, Serialize)]
pub struct Export {
    pub customers: Value,
    pub click_events: Value,
    pub lead_events: Value,
    pub sale_events: Value,
    pub commissions: Value,
    pub refunds: Value,
    pub notifications: Value,
    pub processor_customers: Value,
    pub outbound_events: Value,
    /// Includes the endpoints' responses.
    pub webhook_deliveries: Value,
    /// Set-aside records in their original form, with their place of storage.
    pub unprocessed: Vec<Value>,
}

/// One statement, for one moment: each refund has its sale, and each sale agrees with its customer.
pub async fn export(connection: &mut PgConnection, found: &Found) -> StorageResult<Export> {
    let rows = fetch_one!(
        &mut *connection,
        r#"SELECT
             (SELECT coalesce(jsonb_agg(to_jsonb(c) ORDER BY c.id), '[]')
              FROM customers c WHERE c.id = ANY($2)) AS "customers!",
             (SELECT coalesce(jsonb_agg(to_jsonb(e) - '{user_agent_id,page_title_id}'::text[]
                                        || jsonb_build_object('user_agent', coalesce(e.user_agent, u.text),
                                                              'page_title', coalesce(e.page_title, p.text)) ORDER BY e.id), '[]')
              FROM UNNEST($5::timestamptz[]) AS t (clicked_at)
              -- Click by click (OFFSET 0): each looks into one month, by its index.
              CROSS JOIN LATERAL (SELECT e.* FROM click_events e
                                  WHERE e.program_id = $1 AND NOT e.is_test AND e.click_timestamp = t.clicked_at
                                    AND e.customer_id = ANY($2) OFFSET 0) e
              LEFT JOIN shared_texts u ON u.id = e.user_agent_id
              LEFT JOIN shared_texts p ON p.id = e.page_title_id) AS "click_events!",
             (SELECT coalesce(jsonb_agg(to_jsonb(e) ORDER BY e.id), '[]')
              FROM (SELECT e.* FROM lead_events e
                    WHERE e.program_id = $1 AND e.customer_id = ANY($2) AND e.lead_timestamp >= $6
                    UNION
                    SELECT e.* FROM lead_events e
                    WHERE e.program_id = $1 AND e.customer_key = ANY($3) AND e.customer_key IS NOT NULL) e) AS "lead_events!",
             (SELECT coalesce(jsonb_agg(to_jsonb(s) ORDER BY s.id), '[]')
              FROM sale_events s WHERE s.program_id = $1 AND s.customer_id = ANY($2)) AS "sale_events!",
             (SELECT coalesce(jsonb_agg(to_jsonb(c) ORDER BY c.id), '[]')
              FROM commissions c JOIN sale_events s ON s.id = c.sale_id
              WHERE s.program_id = $1 AND s.customer_id = ANY($2)) AS "commissions!",
             (SELECT coalesce(jsonb_agg(to_jsonb(r) ORDER BY r.id), '[]')
              FROM refunds r JOIN sale_events s ON s.id = r.sale_id
              WHERE s.program_id = $1 AND s.customer_id = ANY($2)) AS "refunds!",
             (SELECT coalesce(jsonb_agg(to_jsonb(n) ORDER BY n.id), '[]')
              FROM notifications n JOIN sale_events s ON s.id::text = n.details ->> 'sale_id'
              WHERE n.program_id = $1 AND n.details ->> 'sale_id' IS NOT NULL AND s.program_id = $1
                AND s.customer_id = ANY($2)) AS "notifications!",
             (SELECT coalesce(jsonb_agg(to_jsonb(p) ORDER BY p.processor_customer_id), '[]')
              FROM processor_customers p
              WHERE p.program_id = $1 AND p.processor_customer_id = ANY($4)) AS "processor_customers!",
             (SELECT coalesce(jsonb_agg(to_jsonb(o) || jsonb_build_object('body', o.body::jsonb) ORDER BY o.id), '[]')
              FROM outbound_events o
              WHERE o.program_id = $1 AND o.customer_id = ANY($2) AND o.customer_id IS NOT NULL) AS "outbound_events!",
             (SELECT coalesce(jsonb_agg(d.delivery ORDER BY (d.delivery ->> 'id')::bigint), '[]')
              FROM (SELECT to_jsonb(q) AS delivery FROM webhook_queue q
                    WHERE q.endpoint_id IN (SELECT id FROM webhook_endpoints WHERE program_id = $1)
                      AND q.customer_id = ANY($2) AND q.customer_id IS NOT NULL
                    UNION ALL
                    SELECT to_jsonb(w) FROM webhook_deliveries w
                    WHERE w.program_id = $1 AND w.customer_id = ANY($2) AND w.customer_id IS NOT NULL) d)
             AS "webhook_deliveries!""#,
        found.program_id.get(),
        &found.customer_ids(),
        &found.keys() as &[&str],
        &found.processor_customers() as &[&str],
        &found.clicked_at.iter().copied().collect::<Vec<_>>(),
        found.since(),
    );
    Ok(Export {
        customers: rows.customers,
        click_events: rows.click_events,
        lead_events: rows.lead_events,
        sale_events: rows.sale_events,
        commissions: rows.commissions,
        refunds: rows.refunds,
        notifications: rows.notifications,
        processor_customers: rows.processor_customers,
        outbound_events: rows.outbound_events,
        webhook_deliveries: rows.webhook_deliveries,
        unprocessed: unprocessed(connection, found).await?,
    })
}

async fn unprocessed(connection: &mut PgConnection, found: &Found) -> StorageResult<Vec<Value>> {
    let letters = fetch_all!(
        &mut *connection,
        "SELECT subject, payload, reason, created_at FROM dead_letters WHERE id = ANY($1) ORDER BY id",
        &found.letters,
    );
    let claims = fetch_all!(
        &mut *connection,
        r#"SELECT transaction_id, event_id, state, payload, to_jsonb(claimed_at) AS "claimed_at!"
           FROM transaction_claims WHERE transaction_id = ANY($1) ORDER BY transaction_id"#,
        &found.claims,
    );
    let events = fetch_all!(
        connection,
        "SELECT kind, state, reason, payload, received_at FROM processor_events WHERE event_id = ANY($1)
         ORDER BY received_at, event_id",
        &found.processor_events,
    );
    let letters = letters.into_iter().map(|row| {
        json!({
            "kept_in": "dead_letters",
            "subject": row.subject,
            "reason": row.reason,
            "at": row.created_at,
            "record": record(&row.payload),
        })
    });
    let claims = claims.into_iter().map(|row| {
        json!({
            "kept_in": "transaction_claims",
            "transaction_id": row.transaction_id,
            "event_id": row.event_id,
            "state": row.state,
            "at": row.claimed_at,
            "record": record(row.payload.unwrap_or_default().as_bytes()),
        })
    });
    let events = events.into_iter().map(|row| {
        json!({
            "kept_in": "processor_events",
            "kind": row.kind,
            "state": row.state,
            "reason": row.reason,
            "at": row.received_at,
            "record": record(row.payload.unwrap_or_default().as_bytes()),
        })
    });
    Ok(letters.chain(claims).chain(events).collect())
}

/// The payload as JSON, or as a string if it is not JSON.
fn record(payload: &[u8]) -> Value {
    serde_json::from_slice(payload).unwrap_or_else(|_| String::from_utf8_lossy(payload).into())
}
