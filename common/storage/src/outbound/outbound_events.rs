//! `outbound_events`: one row for each event, written in the transaction of the change that it reports. It
//! gets its position after the commit.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::error::StorageResult;
use crate::outbound::webhook_queue::{LONGEST_LEASE, go_by_indexes};
use domain::ids::{CustomerId, EventId, ProgramId};
use domain::programs::outbound_event::OutboundEventType;
use messages::outbound_event::OutboundEvent;

/// An event that its program wants. Write it last, while the transaction holds the locks of the changed rows:
/// this gives the order of events.
#[derive(Debug)]
pub struct NewOutboundEvent {
    pub event_id: Uuid,
    pub program_id: ProgramId,
    pub event_type: OutboundEventType,
    /// Events of a customer are delivered in order, and erased with the customer.
    pub customer_id: Option<CustomerId>,
    /// When the reported change happened.
    pub occurred_at: DateTime<Utc>,
    /// JSON, sent unchanged.
    pub body: String,
}

impl NewOutboundEvent {
    pub fn new(
        event_id: EventId,
        customer_id: Option<CustomerId>,
        occurred_at: DateTime<Utc>,
        event: &OutboundEvent,
    ) -> StorageResult<Self> {
        let body = event
            .body(occurred_at)
            .map_err(|error| sqlx::Error::Encode(error.into()))?;
        Ok(Self {
            event_id: event_id.get(),
            program_id: event.program_id(),
            event_type: event.event_type(),
            customer_id,
            occurred_at,
            body,
        })
    }
}

pub async fn add(connection: &mut PgConnection, events: &[NewOutboundEvent]) -> StorageResult<()> {
    write_batch!(
        connection,
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
    );
    Ok(())
}

/// Minimum number of positions to skip when the last position in use is unknown: months of events at 10⁵ a
/// second. At most twice as many are skipped, so that the positions last for four million skips.
const AHEAD: i64 = 1 << 40;

/// Moves the sequence beyond all positions that may be in use: the first time on a timeline of PostgreSQL, or
/// whenever `anyway`. Returns whether it moved.
///
/// A timeline begins with a restore, or with the promotion of a replica that lacks the last commits. Readers
/// may then have cursors that this database does not know. New events would reuse these positions, and
/// readers would miss the events.
///
/// The distance is random: a second restore of the same backup must not reuse the positions of the first.
pub async fn advance(connection: &mut PgConnection, anyway: bool) -> StorageResult<bool> {
    // The insert waits for any other process that moves the sequence at the same time.
    let began = execute!(
        &mut *connection,
        "INSERT INTO outbound_position_timelines (timeline) VALUES (current_timeline()) ON CONFLICT DO NOTHING"
    );
    if began == 0 && !anyway {
        return Ok(false);
    }
    // A sequence copied by logical replication may be behind the stored rows.
    fetch_one!(
        connection,
        r#"SELECT setval('outbound_event_positions',
                         greatest(last_value, (SELECT max(e.position)
                                               FROM programs p
                                               CROSS JOIN LATERAL (SELECT max(position) AS position FROM outbound_events
                                                                   WHERE program_id = p.id AND position IS NOT NULL) e))
                         + $1 + floor(random() * $1)::bigint) AS "moved!"
           FROM outbound_event_positions"#,
        AHEAD,
    );
    Ok(true)
}

pub async fn add_without_customer(
    connection: &mut PgConnection,
    occurred_at: DateTime<Utc>,
    new_event_id: impl Fn() -> EventId,
    events: impl IntoIterator<Item = OutboundEvent>,
) -> StorageResult<()> {
    let events = events
        .into_iter()
        .map(|event| NewOutboundEvent::new(new_event_id(), None, occurred_at, &event))
        .collect::<StorageResult<Vec<_>>>()?;
    add(connection, &events).await
}

/// Gives positions to committed events in the order in which they were written, and queues each event for the
/// endpoints that want it. Returns how many events were placed; `None` while another process places events.
/// Only one process at a time may do this, so that positions become visible in ascending order.
pub async fn place(
    connection: &mut PgConnection,
    now: DateTime<Utc>,
    limit: i64,
) -> StorageResult<Option<u64>> {
    let may = fetch_one!(
        &mut *connection,
        r#"SELECT pg_try_advisory_xact_lock(hashtextextended('place_outbound_events', 0)) AS "alone!",
                  EXISTS (SELECT FROM outbound_position_timelines WHERE timeline = current_timeline()) AS "timeline_is_known!""#
    );
    if !may.alone {
        return Ok(None);
    }
    if !may.timeline_is_known {
        advance(connection, false).await?;
    }
    go_by_indexes(connection).await?;
    let placed = fetch_scalar!(
        connection,
        r#"WITH unplaced AS MATERIALIZED (
               SELECT id, created_at, nextval('outbound_event_positions') AS position
               FROM (SELECT id, created_at FROM outbound_events WHERE position IS NULL ORDER BY id LIMIT $2) AS oldest
               ORDER BY id
           ), placed AS (
               UPDATE outbound_events e SET position = u.position
               FROM unplaced u WHERE e.created_at = u.created_at AND e.id = u.id AND e.position IS NULL
               RETURNING e.event_id, e.program_id, e.event_type, e.customer_id, e.created_at, e.position
           ), receiving AS MATERIALIZED (
               -- Locked as rows that refer to them would: one that is deleted in the same moment gets none.
               SELECT w.id, w.program_id, w.event_types FROM webhook_endpoints w
               WHERE w.program_id IN (SELECT p.program_id FROM placed p) AND w.disabled_at IS NULL
               FOR KEY SHARE
           ), queued AS (
               INSERT INTO webhook_queue (endpoint_id, program_id, event_id, event_type, event_created_at, position, customer_id,
                                          created_at, due_at)
               SELECT w.id, p.program_id, p.event_id, p.event_type, p.created_at, p.position, p.customer_id, $1,
                      CASE WHEN before.due_at > $3 THEN before.due_at ELSE $1 END
               FROM placed p
               JOIN receiving w ON w.program_id = p.program_id AND p.event_type = ANY(w.event_types)
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
    );
    Ok(Some(placed.unsigned_abs()))
}
