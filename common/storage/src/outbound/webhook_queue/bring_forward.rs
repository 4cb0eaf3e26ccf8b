//! Brings forward deliveries that a take does not reach, because one customer has more than it examines.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use super::go_by_indexes;
use crate::error::StorageResult;
use domain::ids::WebhookEndpointId;

/// Below this number of usable deliveries among a take's thousand, other deliveries are brought forward.
const FREE_AT_LEAST: i64 = 32;
/// Maximum number of deliveries to bring forward for one endpoint.
const BROUGHT: i64 = 500;
/// Maximum number of deliveries to search beyond those thousand.
const LOOKED_THROUGH: i64 = 200_000;

/// Endpoints after this one that have waiting deliveries, ascending.
pub async fn endpoints(
    connection: &mut PgConnection,
    after: WebhookEndpointId,
    limit: i64,
) -> StorageResult<Vec<i64>> {
    go_by_indexes(connection).await?;
    Ok(fetch_scalars!(
        connection,
        r#"WITH RECURSIVE waiting AS (
               (SELECT endpoint_id FROM webhook_queue WHERE endpoint_id > $1 ORDER BY endpoint_id LIMIT 1)
               UNION ALL
               SELECT (SELECT q.endpoint_id FROM webhook_queue q WHERE q.endpoint_id > w.endpoint_id ORDER BY q.endpoint_id LIMIT 1)
               FROM waiting w WHERE w.endpoint_id IS NOT NULL
           )
           SELECT endpoint_id AS "endpoint_id!" FROM waiting WHERE endpoint_id IS NOT NULL LIMIT $2"#,
        after.get(),
        limit,
    ))
}

/// Acts on endpoints where nearly all deliveries that a take examines wait for an earlier delivery of their
/// customer. Brings forward other customers' deliveries from behind them. Also brings forward that earlier
/// delivery, if it became due again after those that wait for it. Returns how many were moved.
///
/// Deliveries in flight, and those that wait for their next attempt, stay. Must run in a transaction.
pub async fn bring_forward(
    connection: &mut PgConnection,
    endpoints: &[i64],
    now: DateTime<Utc>,
) -> StorageResult<u64> {
    if endpoints.is_empty() {
        return Ok(0);
    }
    go_by_indexes(connection).await?;
    Ok(execute!(
        connection,
        "WITH full_ones AS MATERIALIZED (
             SELECT w.endpoint_id, last.due_at, last.position
             FROM UNNEST($4::bigint[]) AS w (endpoint_id) CROSS JOIN LATERAL (
                 SELECT q.due_at, q.position FROM webhook_queue q WHERE q.endpoint_id = w.endpoint_id AND q.due_at <= $1
                 ORDER BY q.due_at, q.position OFFSET 999 LIMIT 1
             ) last
         ), blocked AS MATERIALIZED (
             SELECT f.*, (SELECT min(q.due_at) FROM webhook_queue q WHERE q.endpoint_id = f.endpoint_id) AS first_due_at
             FROM full_ones f
             WHERE (SELECT count(*) FROM (
                        SELECT 1 FROM webhook_queue d
                        WHERE d.endpoint_id = f.endpoint_id AND (d.due_at, d.position) <= (f.due_at, f.position)
                          AND (d.customer_id IS NULL
                               OR NOT EXISTS (SELECT 1 FROM webhook_queue e
                                              WHERE e.endpoint_id = d.endpoint_id AND e.customer_id = d.customer_id
                                                AND e.position < d.position AND e.is_replay = d.is_replay))
                        LIMIT $2) free) < $2
         ), foremost AS MATERIALIZED (
             SELECT DISTINCT d.endpoint_id, d.customer_id, d.is_replay
             FROM blocked b JOIN webhook_queue d ON d.endpoint_id = b.endpoint_id AND (d.due_at, d.position) <= (b.due_at, b.position)
             WHERE d.customer_id IS NOT NULL
         ), chosen AS MATERIALIZED (
             SELECT behind.id, b.first_due_at
             FROM blocked b CROSS JOIN LATERAL (
                 SELECT d.id
                 FROM (SELECT q.* FROM webhook_queue q
                       WHERE q.endpoint_id = b.endpoint_id AND q.due_at <= $1 AND (q.due_at, q.position) > (b.due_at, b.position)
                       ORDER BY q.due_at, q.position LIMIT $3) d
                 WHERE d.customer_id IS NULL
                    OR (d.endpoint_id, d.customer_id, d.is_replay) NOT IN (SELECT f.endpoint_id, f.customer_id, f.is_replay FROM foremost f)
                 ORDER BY d.due_at, d.position LIMIT $5
             ) behind
             UNION ALL
             SELECT head.id, b.first_due_at
             FROM foremost f JOIN blocked b ON b.endpoint_id = f.endpoint_id CROSS JOIN LATERAL (
                 SELECT e.id, e.due_at, e.position FROM webhook_queue e
                 WHERE e.endpoint_id = f.endpoint_id AND e.customer_id = f.customer_id AND e.is_replay = f.is_replay
                 ORDER BY e.position LIMIT 1
             ) head
             WHERE head.due_at <= $1 AND (head.due_at, head.position) > (b.due_at, b.position)
         ), locked AS MATERIALIZED (
             SELECT q.id FROM webhook_queue q WHERE q.id IN (SELECT id FROM chosen) AND q.due_at <= $1
             ORDER BY q.id FOR UPDATE SKIP LOCKED
         )
         UPDATE webhook_queue q SET due_at = c.first_due_at - interval '1 microsecond'
         FROM locked l JOIN chosen c ON c.id = l.id WHERE q.id = l.id",
        now,
        FREE_AT_LEAST,
        LOOKED_THROUGH,
        endpoints,
        BROUGHT,
    ))
}
