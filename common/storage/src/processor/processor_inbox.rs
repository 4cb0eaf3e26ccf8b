//! `processor_events` as an operator sees them.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::error::StorageResult;

#[derive(Debug, Clone)]
pub struct KeptEvent {
    pub event_id: Uuid,
    pub processor_event_id: String,
    pub kind: String,
    /// `None` when no program is bound to the event's account.
    pub program_id: Option<i64>,
    pub account_id: Option<String>,
    pub occurred_at: DateTime<Utc>,
    pub received_at: DateTime<Utc>,
    pub state: String,
    pub reason: Option<String>,
    pub waits_for: Option<String>,
    pub sale_pending: bool,
    pub payment_pending: bool,
    pub relay_after: Option<DateTime<Utc>>,
}

#[derive(Debug, Clone)]
pub struct ClosedEvent {
    pub program_id: Option<i64>,
    pub processor_event_id: String,
    pub kind: String,
    pub state: String,
}

pub async fn list(
    connection: &mut PgConnection,
    states: &[&str],
    program_id: Option<i64>,
    limit: i64,
) -> StorageResult<Vec<KeptEvent>> {
    Ok(fetch_all!(
        connection,
        KeptEvent,
        "SELECT event_id, processor_event_id, kind, program_id, account_id, occurred_at, received_at, state, reason,
                waits_for, sale_pending, payment_pending, relay_after
         FROM processor_events
         WHERE state = ANY($1) AND ($2::bigint IS NULL OR program_id = $2)
         ORDER BY received_at, event_id LIMIT $3",
        states as &[&str],
        program_id,
        limit,
    ))
}

pub async fn find(connection: &mut PgConnection, event_id: Uuid) -> StorageResult<Option<KeptEvent>> {
    Ok(fetch_optional!(
        connection,
        KeptEvent,
        "SELECT event_id, processor_event_id, kind, program_id, account_id, occurred_at, received_at, state, reason,
                waits_for, sale_pending, payment_pending, relay_after
         FROM processor_events WHERE event_id = $1",
        event_id,
    ))
}

/// The original payload; `None` once the event is done or ignored.
pub async fn payload(connection: &mut PgConnection, event_id: Uuid) -> StorageResult<Option<String>> {
    Ok(fetch_optional_scalar!(
        connection,
        "SELECT payload FROM processor_events WHERE event_id = $1",
        event_id
    )
    .flatten())
}

/// Makes an unfinished event due for the relay at once. An event without a program is assigned to the program
/// that is bound to its account now.
///
/// `false` when the event is finished, when not exactly one program is bound to its account, or when the
/// program has received the same event meanwhile.
pub async fn replay(connection: &mut PgConnection, event_id: Uuid) -> StorageResult<bool> {
    Ok(execute!(
        connection,
        "UPDATE processor_events e
         SET program_id = n.program_id, state = 'open', reason = NULL, waits_for = NULL, relay_after = now(), relays = 0,
             -- Neither half is pending of what could not be translated.
             sale_pending = e.sale_pending OR NOT e.payment_pending,
             payment_pending = e.payment_pending OR NOT e.sale_pending,
             by_platform = e.by_platform OR e.program_id IS NULL
         FROM (SELECT o.event_id,
                      coalesce(o.program_id, (SELECT min(c.program_id) FROM receiving_connections c
                                              WHERE c.account_id = o.account_id HAVING count(*) = 1)) AS program_id
               FROM processor_events o WHERE o.event_id = $1 FOR UPDATE) n
         WHERE e.event_id = n.event_id AND n.program_id IS NOT NULL AND e.state NOT IN ('done', 'ignored')
           AND NOT EXISTS (SELECT 1 FROM processor_events t
                           WHERE t.processor_event_id = e.processor_event_id AND t.program_id = n.program_id
                             AND t.event_id <> e.event_id)",
        event_id,
    ) > 0)
}

/// Closes an event that was handled outside the service: it is not processed any more, and its payload is
/// deleted.
///
/// `None` when the event does not exist, or is in none of these states.
pub async fn close(
    connection: &mut PgConnection,
    event_id: Uuid,
    states: &[&str],
) -> StorageResult<Option<ClosedEvent>> {
    Ok(fetch_optional!(
        connection,
        ClosedEvent,
        r#"UPDATE processor_events e
           SET state = 'done', sale_pending = false, payment_pending = false, waits_for = NULL, relay_after = NULL, payload = NULL
           FROM (SELECT event_id, state FROM processor_events WHERE event_id = $1 FOR UPDATE) was
           WHERE e.event_id = was.event_id AND was.state = ANY($2)
           RETURNING e.program_id, e.processor_event_id, e.kind, was.state AS "state!""#,
        event_id,
        states as &[&str],
    ))
}
