//! `webhook_deliveries`, and the unfinished deliveries in `webhook_queue`: one event on its way to one
//! endpoint.
//!
//! A delivery keeps its id when it is finished, so both tables form one list. A delivery that a user requests
//! is queued as a replay. Replays do not count for the endpoint's health, and are also sent to disabled
//! endpoints. A test event has a position below zero, where no reader of the event stream sees it.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::error::StorageResult;
use domain::ids::{ProgramId, WebhookDeliveryId, WebhookEndpointId};
use domain::programs::outbound_event::OutboundEventType;
use domain::programs::webhook_endpoint::{DeliveryState, EventTypes};

#[derive(Debug, Clone)]
pub struct StoredDelivery {
    pub delivery_id: WebhookDeliveryId,
    pub event_id: Uuid,
    pub event_type: String,
    pub is_replay: bool,
    /// A test event that a user requested.
    pub is_test: bool,
    pub state: DeliveryState,
    pub created_at: DateTime<Utc>,
    pub attempts: i16,
    pub attempted_at: Option<DateTime<Utc>>,
    /// HTTP status; `None` when there was no response.
    pub status: Option<i16>,
    pub failure: Option<String>,
    /// The beginning of the response body.
    pub answer: Option<String>,
    pub duration_ms: Option<i32>,
    /// `None` when the delivery is finished.
    pub due_at: Option<DateTime<Utc>>,
    pub finished_at: Option<DateTime<Utc>>,
}

#[derive(Debug, Clone, Copy, Default)]
pub struct DeliveryFilter {
    /// Only deliveries older than this one.
    pub before: Option<WebhookDeliveryId>,
    pub state: Option<DeliveryState>,
    pub event_type: Option<OutboundEventType>,
}

pub async fn list(
    connection: &mut PgConnection,
    endpoint_id: WebhookEndpointId,
    filter: DeliveryFilter,
    limit: i64,
) -> StorageResult<Vec<StoredDelivery>> {
    Ok(fetch_all!(
        connection,
        StoredDelivery,
        r#"SELECT id AS "delivery_id!", event_id AS "event_id!", event_type AS "event_type!",
                  is_replay AND position >= 0 AS "is_replay!", position < 0 AS "is_test!", state AS "state!: _", created_at AS "created_at!", attempts AS "attempts!",
                  attempted_at, status, failure, answer, duration_ms, due_at, finished_at
           FROM (
               (SELECT id, event_id, event_type, position, is_replay, 'waiting' AS state, created_at, attempts, attempted_at,
                       status, failure, answer, duration_ms, due_at, NULL::timestamptz AS finished_at
                FROM webhook_queue
                WHERE endpoint_id = $1 AND ($2::bigint IS NULL OR id < $2) AND ($3::text IS NULL OR $3 = 'waiting')
                  AND ($4::text IS NULL OR event_type = $4)
                ORDER BY id DESC LIMIT $5)
               UNION ALL
               (SELECT id, event_id, event_type, position, is_replay, state, created_at, attempts, attempted_at,
                       status, failure, answer, duration_ms, NULL, finished_at
                FROM webhook_deliveries
                WHERE endpoint_id = $1 AND ($2::bigint IS NULL OR id < $2) AND ($3::text IS NULL OR state = $3)
                  AND ($4::text IS NULL OR event_type = $4)
                ORDER BY id DESC LIMIT $5)
           ) AS both_tables
           ORDER BY id DESC LIMIT $5"#,
        endpoint_id.get(),
        filter.before.map(WebhookDeliveryId::get),
        filter.state.map(DeliveryState::as_str),
        filter.event_type.map(OutboundEventType::as_str),
        limit,
    ))
}

pub async fn find(
    connection: &mut PgConnection,
    endpoint_id: WebhookEndpointId,
    delivery_id: WebhookDeliveryId,
) -> StorageResult<Option<StoredDelivery>> {
    let filter = DeliveryFilter {
        before: Some(WebhookDeliveryId::new(delivery_id.get().saturating_add(1))),
        ..DeliveryFilter::default()
    };
    let mut newest = list(connection, endpoint_id, filter, 1).await?;
    Ok(newest.pop().filter(|found| found.delivery_id == delivery_id))
}

/// Queues the event of a delivery again. `None` when the event is no longer stored.
pub async fn replay(
    connection: &mut PgConnection,
    endpoint_id: WebhookEndpointId,
    delivery_id: WebhookDeliveryId,
    now: DateTime<Utc>,
) -> StorageResult<Option<WebhookDeliveryId>> {
    Ok(fetch_optional_scalar!(
        connection,
        r#"INSERT INTO webhook_queue (endpoint_id, program_id, event_id, event_type, event_created_at, position, customer_id,
             is_replay, created_at, due_at)
         SELECT $1, e.program_id, e.event_id, e.event_type, e.created_at, e.position, e.customer_id, true, $3, $3
         FROM (
             SELECT program_id, event_created_at, position FROM webhook_queue WHERE endpoint_id = $1 AND id = $2
             UNION ALL
             SELECT program_id, event_created_at, position FROM webhook_deliveries WHERE endpoint_id = $1 AND id = $2
         ) AS d
         JOIN outbound_events e
           ON e.created_at = d.event_created_at AND e.program_id = d.program_id AND e.position = d.position
         RETURNING id AS "id: WebhookDeliveryId""#,
        endpoint_id.get(),
        delivery_id.get(),
        now,
    ))
}

/// A selection of events to send to an endpoint again.
#[derive(Debug)]
pub struct ReplayOfMany<'a> {
    pub program_id: ProgramId,
    pub endpoint_id: WebhookEndpointId,
    /// Only events written at this time or later.
    pub since: DateTime<Utc>,
    /// Only events with later positions: the position at which the previous call ended.
    pub after: i64,
    pub types: &'a EventTypes,
    pub limit: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Replayed {
    pub count: usize,
    /// Where the next call starts; `None` when no events are left.
    pub after: Option<i64>,
}

/// Queues stored events in the order in which they happened, except those that still wait for this endpoint.
pub async fn replay_many(
    connection: &mut PgConnection,
    replay: &ReplayOfMany<'_>,
    now: DateTime<Utc>,
) -> StorageResult<Replayed> {
    let positions = fetch_scalars!(
        connection,
        "INSERT INTO webhook_queue (endpoint_id, program_id, event_id, event_type, event_created_at, position, customer_id,
             is_replay, created_at, due_at)
         SELECT $1, program_id, event_id, event_type, created_at, position, customer_id, true, $7, $7
         FROM (
             SELECT e.* FROM outbound_events e
             WHERE e.program_id = $2 AND e.position > $3 AND e.created_at >= $4 AND e.event_type = ANY($5)
               AND NOT EXISTS (SELECT 1 FROM webhook_queue q WHERE q.endpoint_id = $1 AND q.event_id = e.event_id)
             ORDER BY e.position LIMIT $6
         ) AS oldest
         ORDER BY position
         RETURNING position",
        replay.endpoint_id.get(),
        replay.program_id.get(),
        replay.after.max(0),
        replay.since,
        &replay.types.names() as &[&str],
        replay.limit,
        now,
    );
    let is_full = i64::try_from(positions.len()).is_ok_and(|count| count >= replay.limit);
    Ok(Replayed {
        count: positions.len(),
        after: positions.into_iter().max().filter(|_| is_full),
    })
}

#[derive(Debug)]
pub struct TestEvent {
    pub event_id: Uuid,
    pub program_id: ProgramId,
    pub endpoint_id: WebhookEndpointId,
    pub event_type: OutboundEventType,
    /// JSON, sent unchanged.
    pub body: String,
    pub now: DateTime<Utc>,
}

/// Writes the test event with a position of its own, so that it reaches no other endpoint, and queues it.
pub async fn send_test(connection: &mut PgConnection, test: &TestEvent) -> StorageResult<WebhookDeliveryId> {
    Ok(fetch_scalar!(
        connection,
        r#"WITH example AS (
             INSERT INTO outbound_events (event_id, program_id, event_type, occurred_at, body, position)
             VALUES ($2, $3, $4, $5, $6, -nextval('outbound_event_positions'))
             RETURNING event_id, program_id, event_type, created_at, position
         )
         INSERT INTO webhook_queue (endpoint_id, program_id, event_id, event_type, event_created_at, position, is_replay,
             created_at, due_at)
         SELECT $1, program_id, event_id, event_type, created_at, position, true, $5, $5 FROM example
         RETURNING id AS "id: WebhookDeliveryId""#,
        test.endpoint_id.get(),
        test.event_id,
        test.program_id.get(),
        test.event_type.as_str(),
        test.now,
        test.body,
    ))
}
