//! `webhook_queue`: unfinished deliveries. Due deliveries are taken for an attempt, and then finished or
//! postponed.
//!
//! Taking a delivery moves its `due_at` beyond the longest attempt: this is its lease. To finish a delivery,
//! a process names its lease. If another process has taken the delivery since, nothing changes. An endpoint
//! receives the events of a customer in the order of positions: only the earliest delivery of an endpoint and
//! customer can be taken. Replays have an order of their own. A postponed delivery also postpones the
//! deliveries behind it, so nearly all due deliveries can be taken. The exception is a customer with more due
//! deliveries than a take examines: then [`bring_forward()`] moves other customers' deliveries ahead.

mod bring_forward;

use chrono::{DateTime, TimeDelta, Utc};
use sqlx::PgConnection;
use uuid::Uuid;

pub use self::bring_forward::{bring_forward, endpoints};

use crate::error::StorageResult;
use domain::ids::{CustomerId, ProgramId, WebhookEndpointId};

/// Leases are shorter. A delivery that is due later waits for its next attempt, with those behind it.
pub const LONGEST_LEASE: TimeDelta = TimeDelta::minutes(1);

/// How many deliveries a process can take.
#[derive(Debug)]
pub struct Room<'a> {
    pub now: DateTime<Utc>,
    pub leased_until: DateTime<Utc>,
    /// Maximum of all deliveries.
    pub deliveries: i64,
    /// Maximum for struggling endpoints.
    pub struggling: i64,
    /// Maximum of deliveries beyond the first of each endpoint.
    pub additional: i64,
    /// An endpoint that is not listed has nothing in flight and gets one delivery at a time.
    pub endpoints: &'a [EndpointRoom],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EndpointRoom {
    pub endpoint_id: WebhookEndpointId,
    pub in_flight: i32,
    /// Maximum in flight at once: one after a failure in any process, until the next success.
    pub most: i32,
    /// The last attempt failed or took long.
    pub struggles: bool,
}

#[derive(Debug, Clone)]
pub struct DueDelivery {
    pub id: i64,
    pub leased_until: DateTime<Utc>,
    pub endpoint_id: WebhookEndpointId,
    pub program_id: ProgramId,
    pub event_id: Uuid,
    pub position: i64,
    pub customer_id: Option<CustomerId>,
    pub is_replay: bool,
    /// Attempts before this one.
    pub attempts: i16,
    /// `None` when the event is no longer stored.
    pub body: Option<String>,
}

/// For the rest of the transaction, statements use indexes, row by row. The queue may be empty at one moment
/// and long at the next. A cached plan for an empty queue would read the whole queue for every row, or read
/// all deliveries of an endpoint to find the first.
pub(super) async fn go_by_indexes(connection: &mut PgConnection) -> StorageResult<()> {
    sqlx::query(
        "SELECT set_config('enable_' || way, 'off', true) FROM UNNEST(ARRAY['seqscan', 'bitmapscan', 'mergejoin']) AS other (way)",
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Takes due deliveries, of each endpoint as many as its room allows, in turn. Struggling endpoints leave
/// room for the others, and further deliveries of an endpoint for first ones. Must run in a transaction.
pub async fn take_due(connection: &mut PgConnection, room: &Room<'_>) -> StorageResult<Vec<DueDelivery>> {
    go_by_indexes(connection).await?;
    Ok(unnest!(
        query_as,
        DueDelivery,
        r#"WITH RECURSIVE waiting AS (
               (SELECT endpoint_id FROM webhook_queue ORDER BY endpoint_id LIMIT 1)
               UNION ALL
               SELECT (SELECT q.endpoint_id FROM webhook_queue q WHERE q.endpoint_id > w.endpoint_id ORDER BY q.endpoint_id LIMIT 1)
               FROM waiting w WHERE w.endpoint_id IS NOT NULL
           ), endpoints AS MATERIALIZED (
               SELECT w.id, w.disabled_at IS NULL AS enabled, coalesce(b.in_flight, 0) AS in_flight,
                      w.failing_since IS NOT NULL OR coalesce(b.struggles, false) AS struggles,
                      CASE WHEN w.failing_since IS NULL THEN coalesce(b.most, 1) ELSE 1 END - coalesce(b.in_flight, 0) AS room
               FROM waiting JOIN webhook_endpoints w ON w.id = waiting.endpoint_id
               LEFT JOIN UNNEST($1::bigint[], $2::int[], $3::int[], $4::bool[]) AS b (endpoint_id, in_flight, most, struggles)
                    ON b.endpoint_id = w.id
               WHERE EXISTS (SELECT 1 FROM webhook_queue q WHERE q.endpoint_id = w.id AND q.due_at <= $5)
           ), share AS MATERIALIZED (
               SELECT greatest(1, ceil($7::bigint::float8 / greatest(count(*), 1)))::bigint AS deliveries FROM endpoints WHERE room > 0
           ), free AS MATERIALIZED (
               SELECT front.id, front.due_at, w.struggles,
                      w.in_flight + row_number() OVER (PARTITION BY w.id ORDER BY front.due_at, front.position) AS turn
               FROM endpoints w CROSS JOIN share s CROSS JOIN LATERAL (
                   SELECT d.id, d.due_at, d.position
                   FROM (SELECT q.id, q.due_at, q.position, q.customer_id, q.is_replay FROM webhook_queue q
                         WHERE q.endpoint_id = w.id AND q.due_at <= $5 AND (w.enabled OR q.is_replay)
                         ORDER BY q.due_at, q.position LIMIT 1000) d
                   -- The order leaves one index to go by.
                   WHERE d.customer_id IS NULL
                      OR (SELECT e.id FROM webhook_queue e
                          WHERE e.endpoint_id = w.id AND e.customer_id = d.customer_id AND e.position < d.position
                            AND e.is_replay = d.is_replay ORDER BY e.position LIMIT 1) IS NULL
                   ORDER BY d.due_at, d.position
                   LIMIT least(w.room::bigint, s.deliveries)
               ) front
               WHERE w.room > 0
           ), chosen AS MATERIALIZED (
               SELECT f.id FROM (
                   SELECT free.*, row_number() OVER (PARTITION BY struggles, turn = 1 OR struggles ORDER BY turn, due_at, id) AS place
                   FROM free
               ) f
               WHERE f.place <= CASE WHEN f.struggles THEN $8::bigint WHEN f.turn = 1 THEN $7::bigint ELSE $9::bigint END
               ORDER BY f.turn, f.due_at, f.id LIMIT $7
           ), locked AS MATERIALIZED (
               -- `IS TRUE` keeps the index by time out of it.
               SELECT q.id FROM webhook_queue q
               WHERE q.id IN (SELECT id FROM chosen) AND (q.due_at <= $5) IS TRUE
               FOR UPDATE SKIP LOCKED
           ), taken AS (
               UPDATE webhook_queue q SET due_at = $6 FROM locked WHERE q.id = locked.id
               RETURNING q.id, q.endpoint_id, q.program_id, q.event_id, q.event_created_at, q.position, q.customer_id, q.is_replay,
                         q.attempts, q.due_at
           )
           SELECT t.id, t.due_at AS leased_until, t.endpoint_id, t.program_id, t.event_id, t.position,
                  t.customer_id AS "customer_id: _", t.is_replay, t.attempts, e.body AS "body?"
           FROM taken t LEFT JOIN outbound_events e
                ON e.program_id = t.program_id AND e.position = t.position AND e.created_at = t.event_created_at"#,
        endpoint in room.endpoints =>
            endpoints: i64 = endpoint.endpoint_id.get(),
            counts: i32 = endpoint.in_flight,
            most: i32 = endpoint.most,
            struggling: bool = endpoint.struggles;
        room.now, room.leased_until, room.deliveries, room.struggling, room.additional
    )
    .fetch_all(connection)
    .await?)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttemptResult {
    Delivered,
    GivenUp,
    /// The event is no longer stored.
    Cancelled,
    Again(DateTime<Utc>),
}

impl AttemptResult {
    const fn state(self) -> Option<&'static str> {
        match self {
            Self::Delivered => Some("delivered"),
            Self::GivenUp => Some("given_up"),
            Self::Cancelled => Some("cancelled"),
            Self::Again(_) => None,
        }
    }

    const fn due_at(self) -> Option<DateTime<Utc>> {
        match self {
            Self::Again(due_at) => Some(due_at),
            Self::Delivered | Self::GivenUp | Self::Cancelled => None,
        }
    }
}

#[derive(Debug, Clone)]
pub struct FinishedDelivery {
    pub id: i64,
    /// The lease under which it was taken.
    pub leased_until: DateTime<Utc>,
    pub result: AttemptResult,
    /// `None` without an attempt.
    pub attempted_at: Option<DateTime<Utc>>,
    pub status: Option<i16>,
    /// Why there was no response.
    pub failure: Option<String>,
    /// The beginning of the response body.
    pub answer: Option<String>,
    pub duration_ms: Option<i32>,
}

/// Moves finished deliveries to `webhook_deliveries`, and postpones the others with the deliveries behind
/// them. Returns how many were still leased to the caller. Must run in a transaction.
pub async fn finish(
    connection: &mut PgConnection,
    finished: &[FinishedDelivery],
    now: DateTime<Utc>,
) -> StorageResult<u64> {
    go_by_indexes(connection).await?;
    let (done, again): (Vec<_>, Vec<_>) = finished.iter().partition(|one| one.result.state().is_some());
    let mut ours = write_batch!(
        &mut *connection,
        "WITH moved AS (
             DELETE FROM webhook_queue q
             USING UNNEST($1::bigint[], $2::timestamptz[], $3::text[], $4::timestamptz[], $5::smallint[], $6::text[], $7::text[],
                          $8::int[])
                   AS f (id, leased_until, state, attempted_at, status, failure, answer, duration_ms)
             WHERE q.id = f.id AND q.due_at = f.leased_until
             RETURNING q.id, q.endpoint_id, q.program_id, q.event_id, q.event_type, q.event_created_at, q.position, q.customer_id,
                       q.is_replay, q.created_at, q.attempts + (f.attempted_at IS NOT NULL)::int AS attempts,
                       coalesce(f.attempted_at, q.attempted_at) AS attempted_at, coalesce(f.status, q.status) AS status,
                       CASE WHEN f.attempted_at IS NULL THEN q.failure ELSE f.failure END AS failure,
                       CASE WHEN f.attempted_at IS NULL THEN q.answer ELSE f.answer END AS answer,
                       coalesce(f.duration_ms, q.duration_ms) AS duration_ms, f.state
         )
         INSERT INTO webhook_deliveries (id, endpoint_id, program_id, event_id, event_type, event_created_at, position, customer_id,
                                         is_replay, created_at, attempts, attempted_at, status, failure, answer, duration_ms, state,
                                         finished_at)
         SELECT id, endpoint_id, program_id, event_id, event_type, event_created_at, position, customer_id, is_replay, created_at,
                attempts, attempted_at, status, failure, answer, duration_ms, state, $9
         FROM moved",
        one in done =>
            ids: i64 = one.id,
            leases: DateTime<Utc> = one.leased_until,
            states: Option<&str> = one.result.state(),
            times: Option<DateTime<Utc>> = one.attempted_at,
            statuses: Option<i16> = one.status,
            failures: Option<&str> = one.failure.as_deref(),
            answers: Option<&str> = one.answer.as_deref(),
            durations: Option<i32> = one.duration_ms;
        now
    );
    if !again.is_empty() {
        ours += postpone(connection, &again, now).await?;
    }
    Ok(ours)
}

async fn postpone(
    connection: &mut PgConnection,
    failed: &[&FinishedDelivery],
    now: DateTime<Utc>,
) -> StorageResult<u64> {
    let postponed = unnest!(
        query_scalar,
        r#"WITH postponed AS (
               UPDATE webhook_queue q
               SET due_at = f.due_at, attempts = q.attempts + 1, attempted_at = f.attempted_at, status = f.status, failure = f.failure,
                   answer = f.answer, duration_ms = f.duration_ms
               FROM UNNEST($1::bigint[], $2::timestamptz[], $3::timestamptz[], $4::timestamptz[], $5::smallint[], $6::text[], $7::text[],
                           $8::int[])
                    AS f (id, leased_until, due_at, attempted_at, status, failure, answer, duration_ms)
               WHERE q.id = f.id AND q.due_at = f.leased_until
               RETURNING q.endpoint_id, q.customer_id, q.position, q.is_replay, q.due_at
           ), behind AS (
               UPDATE webhook_queue q SET due_at = p.due_at
               FROM postponed p
               WHERE p.due_at > $9 AND q.endpoint_id = p.endpoint_id AND q.customer_id = p.customer_id AND q.position > p.position
                 AND q.is_replay = p.is_replay AND q.due_at < p.due_at
           )
           SELECT count(*) AS "count!" FROM postponed"#,
        one in failed =>
            ids: i64 = one.id,
            leases: DateTime<Utc> = one.leased_until,
            due: Option<DateTime<Utc>> = one.result.due_at(),
            times: Option<DateTime<Utc>> = one.attempted_at,
            statuses: Option<i16> = one.status,
            failures: Option<&str> = one.failure.as_deref(),
            answers: Option<&str> = one.answer.as_deref(),
            durations: Option<i32> = one.duration_ms;
        now + LONGEST_LEASE
    )
    .fetch_one(connection)
    .await?;
    Ok(postponed.unsigned_abs())
}

/// Cancels deliveries of disabled endpoints, except replays. Deliveries that may be in flight are left for a
/// later call. Returns how many.
pub async fn cancel_of_disabled(
    connection: &mut PgConnection,
    now: DateTime<Utc>,
    limit: i64,
) -> StorageResult<u64> {
    Ok(execute!(
        connection,
        "WITH chosen AS MATERIALIZED (
             SELECT q.id FROM webhook_endpoints w JOIN webhook_queue q ON q.endpoint_id = w.id
             WHERE w.disabled_at IS NOT NULL AND NOT q.is_replay AND (q.due_at <= $1 OR q.due_at > $2)
             ORDER BY q.id LIMIT $3 FOR UPDATE OF q SKIP LOCKED
         ), moved AS (
             DELETE FROM webhook_queue q USING chosen WHERE q.id = chosen.id
             RETURNING q.*
         )
         INSERT INTO webhook_deliveries (id, endpoint_id, program_id, event_id, event_type, event_created_at, position, customer_id,
                                         is_replay, created_at, attempts, attempted_at, status, failure, answer, duration_ms, state,
                                         finished_at)
         SELECT id, endpoint_id, program_id, event_id, event_type, event_created_at, position, customer_id, is_replay, created_at,
                attempts, attempted_at, status, failure, answer, duration_ms, 'cancelled', $1
         FROM moved",
        now,
        now + LONGEST_LEASE,
        limit,
    ))
}

/// When the oldest waiting delivery became due. Excludes deliveries in flight and disabled endpoints.
pub async fn oldest_due(
    connection: &mut PgConnection,
    now: DateTime<Utc>,
) -> StorageResult<Option<DateTime<Utc>>> {
    Ok(fetch_scalar!(
        connection,
        "SELECT min(first.due_at) FROM webhook_endpoints w CROSS JOIN LATERAL (
             SELECT q.due_at FROM webhook_queue q WHERE q.endpoint_id = w.id AND q.due_at <= $1 ORDER BY q.due_at, q.position LIMIT 1
         ) first
         WHERE w.disabled_at IS NULL",
        now,
    ))
}
