//! `outbound_events`: one row an event, written in the transaction of what it tells; and its position, given after the commit.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::batch::unnest;
use crate::error::StorageResult;
use crate::outbound::webhook_queue::LONGEST_LEASE;
use domain::ids::{CustomerId, ProgramId};
use domain::outbound_event::OutboundEventType;

/// An event that somebody wants. Write it last, while the transaction holds the locks of what it tells: that is the order of events.
#[derive(Debug)]
pub struct NewOutboundEvent {
    pub event_id: Uuid,
    pub program_id: ProgramId,
    pub event_type: OutboundEventType,
    /// Whose events are told in their order, and erased with them.
    pub customer_id: Option<CustomerId>,
    /// When it happened.
    pub occurred_at: DateTime<Utc>,
    /// JSON, sent as it is.
    pub body: String,
}

/// Writes events in their order.
pub async fn add(connection: &mut PgConnection, events: &[NewOutboundEvent]) -> StorageResult<()> {
    if events.is_empty() {
        return Ok(());
    }
    unnest!(
        query,
        "INSERT INTO outbound_events (event_id, program_id, event_type, customer_id, occurred_at, body)
         SELECT event_id, program_id, event_type, customer_id, occurred_at, body
         FROM UNNEST($1::uuid[], $2::bigint[], $3::text[], $4::bigint[], $5::timestamptz[], $6::text[])
              WITH ORDINALITY AS e (event_id, program_id, event_type, customer_id, occurred_at, body, place)
         ORDER BY place",
        event in events =>
            ids: Uuid = event.event_id,
            programs: i64 = event.program_id.get(),
            types: &str = event.event_type.as_str(),
            customers: Option<i64> = event.customer_id.map(CustomerId::get),
            times: DateTime<Utc> = event.occurred_at,
            bodies: &str = event.body.as_str()
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Gives positions to committed events, in the order in which they were written, and puts each into the queues of the endpoints that want
/// it. Returns how many events were placed; `None` while another process does it. One process at a time: positions grow in the order in
/// which they become visible.
pub async fn place(
    connection: &mut PgConnection,
    now: DateTime<Utc>,
    limit: i64,
) -> StorageResult<Option<u64>> {
    let alone = sqlx::query_scalar!(
        r#"SELECT pg_try_advisory_xact_lock(hashtextextended('place_outbound_events', 0)) AS "alone!""#
    )
    .fetch_one(&mut *connection)
    .await?;
    if !alone {
        return Ok(None);
    }
    let placed = sqlx::query_scalar!(
        r#"WITH unplaced AS MATERIALIZED (
               SELECT id, created_at, nextval('outbound_event_positions') AS position
               FROM (SELECT id, created_at FROM outbound_events WHERE position IS NULL ORDER BY id LIMIT $2) AS oldest
               ORDER BY id
           ), placed AS (
               UPDATE outbound_events e SET position = u.position
               FROM unplaced u WHERE e.created_at = u.created_at AND e.id = u.id AND e.position IS NULL
               RETURNING e.event_id, e.program_id, e.event_type, e.customer_id, e.created_at, e.position
           ), queued AS (
               INSERT INTO webhook_queue (endpoint_id, program_id, event_id, event_type, event_created_at, position, customer_id,
                                          created_at, due_at)
               SELECT w.id, p.program_id, p.event_id, p.event_type, p.created_at, p.position, p.customer_id, $1,
                      CASE WHEN before.due_at > $3 THEN before.due_at ELSE $1 END
               FROM placed p
               JOIN webhook_endpoints w ON w.program_id = p.program_id AND w.disabled_at IS NULL AND p.event_type = ANY(w.event_types)
               -- Waits for its next attempt: this one waits with it.
               LEFT JOIN LATERAL (
                   SELECT q.due_at FROM webhook_queue q
                   WHERE q.endpoint_id = w.id AND q.customer_id = p.customer_id AND NOT q.is_replay
                   ORDER BY q.position DESC LIMIT 1
               ) before ON true
               ORDER BY p.position, w.id
           )
           SELECT count(*) AS "placed!" FROM placed"#,
        now,
        limit,
        now + LONGEST_LEASE,
    )
    .fetch_one(connection)
    .await?;
    Ok(Some(placed.unsigned_abs()))
}
