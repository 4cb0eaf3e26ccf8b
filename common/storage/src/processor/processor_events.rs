//! `processor_events`: the inbox of payment processors' reports, and the outcome of each event.

mod endings;
mod unresolved;
mod waits;

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use chrono::{DateTime, Utc};
use sqlx::{PgConnection, PgPool};
use uuid::Uuid;

pub use self::endings::{Ending, Part, end};
pub use self::unresolved::{UnresolvedEvent, unresolved};
pub use self::waits::{
    PARTNER_APPROVED, Reason, give_up_parked, waits_for_key, waits_for_processor_customer, waits_for_sale,
    wake,
};
use crate::error::{StorageResult, expect_rows};
use domain::ids::{EventId, ProgramId};
use domain::processors::processor::ProcessorId;
use domain::programs::outbound_event::OutboundEventType;
use domain::text::TransactionId;
use messages::outbound_event::processor_event::ProcessorEventNeedsReview;

/// A new event with a verified signature.
#[derive(Debug, Clone)]
pub struct NewProcessorEvent {
    pub event_id: EventId,
    /// `None` when no program is bound to the event's account.
    pub program_id: Option<ProgramId>,
    pub processor_event_id: ProcessorId,
    pub kind: String,
    pub account_id: Option<ProcessorId>,
    /// The event arrived at the platform's endpoint instead of the program's own.
    pub by_platform: bool,
    pub occurred_at: DateTime<Utc>,
    pub received_at: DateTime<Utc>,
    pub payload: String,
    pub disposition: Disposition,
    /// The transaction_id of the sale, when another event may report more of it. The relay processes this
    /// event after [`SESSION_FOLLOWS`], or as soon as the other event arrives as a sale.
    pub awaits_session: Option<TransactionId>,
}

/// The session or invoice of a payment intent is reported within this time.
const SESSION_FOLLOWS: Duration = Duration::from_mins(5);
/// The relay retries an unfinished event after this time.
const RELAYED_AFTER: Duration = Duration::from_secs(5);

/// The state of an event after its translation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Disposition {
    /// Published as a sale, a report about a payment, or both.
    Open {
        sale: bool,
        payment: bool,
    },
    Ignored(&'static str),
    Review(&'static str),
    /// Cannot be translated, with the reason.
    Stuck(String),
}

struct DispositionColumns<'a> {
    state: &'static str,
    reason: Option<&'a str>,
    sale_pending: bool,
    payment_pending: bool,
}

impl<'a> From<&'a Disposition> for DispositionColumns<'a> {
    fn from(disposition: &'a Disposition) -> Self {
        let (state, reason, sale_pending, payment_pending) = match disposition {
            Disposition::Open {
                sale: false,
                payment: false,
            } => ("done", None, false, false),
            Disposition::Open { sale, payment } => ("open", None, *sale, *payment),
            Disposition::Ignored(reason) => ("ignored", Some(*reason), false, false),
            Disposition::Review(reason) => ("review", Some(*reason), false, false),
            Disposition::Stuck(reason) => ("stuck", Some(reason.as_str()), false, false),
        };
        Self {
            state,
            reason,
            sale_pending,
            payment_pending,
        }
    }
}

/// For each received event, in order, whether it was new. Also the outbound events about those that a person
/// must review, if the program wants such outbound events.
#[derive(Debug)]
pub struct Received {
    pub new: Vec<bool>,
    pub for_review: Vec<ProcessorEventNeedsReview>,
}

/// Stores new events. Returns for each whether it was new; a repeated id is not new, also within the batch.
///
/// The call may be repeated when it is unknown whether it committed: a row with this event counts as new.
pub async fn receive(connection: &mut PgConnection, events: &[NewProcessorEvent]) -> StorageResult<Received> {
    let mut first_of_id: Vec<&NewProcessorEvent> = events.iter().collect();
    // A stable sort keeps arrival order within one id, and ascending ids avoid deadlocks between batches.
    first_of_id.sort_by(|a, b| inbox_key(a).cmp(&inbox_key(b)));
    first_of_id.dedup_by(|later, earlier| inbox_key(later) == inbox_key(earlier));
    let inserted = insert(connection, &first_of_id).await?;
    let to_review: HashSet<Uuid> = inserted
        .iter()
        .filter(|new| new.reviews_are_wanted)
        .map(|new| new.event_id)
        .collect();
    let mut new: HashSet<Uuid> = inserted.iter().map(|new| new.event_id).collect();
    if new.len() < first_of_id.len() {
        let held = unnest!(
            query_scalar,
            "SELECT event_id FROM processor_events WHERE event_id = ANY($1)",
            event in first_of_id =>
                ids: Uuid = event.event_id.get()
        )
        .fetch_all(connection)
        .await?;
        new.extend(held);
    }
    Ok(Received {
        new: events
            .iter()
            .map(|event| new.contains(&event.event_id.get()))
            .collect(),
        for_review: first_of_id
            .iter()
            .filter(|event| to_review.contains(&event.event_id.get()))
            .filter_map(|event| for_review(event))
            .collect(),
    })
}

struct Inserted {
    event_id: Uuid,
    /// The program wants outbound events about events that wait for a person.
    reviews_are_wanted: bool,
}

async fn insert(
    connection: &mut PgConnection,
    events: &[&NewProcessorEvent],
) -> StorageResult<Vec<Inserted>> {
    columns!(event in events =>
        dispositions: DispositionColumns<'_> = disposition(event),
        pauses: f64 = pause(event).as_secs_f64(),
        ids: Uuid = event.event_id.get(),
        programs: Option<i64> = event.program_id.map(ProgramId::get),
        processor_ids: &str = event.processor_event_id.as_str(),
        kinds: &str = event.kind.as_str(),
        accounts: Option<&str> = event.account_id.as_ref().map(ProcessorId::as_str),
        occurred: DateTime<Utc> = event.occurred_at,
        received: DateTime<Utc> = event.received_at,
    );
    columns!(columns in dispositions =>
        states: &str = columns.state,
        reasons: Option<&str> = columns.reason,
        sales: bool = columns.sale_pending,
        payments: bool = columns.payment_pending,
    );
    columns!(event in events =>
        waits: Option<String> = event.awaits_session.as_ref().map(waits_for_sale),
        payloads: &str = event.payload.as_str(),
        by_platform: bool = event.by_platform,
    );
    Ok(fetch_all!(
        connection,
        Inserted,
        r#"WITH new AS (
             INSERT INTO processor_events (event_id, program_id, processor_event_id, kind, account_id, occurred_at,
                 received_at, state, reason, sale_pending, payment_pending, relay_after, payload, by_platform, waits_for)
             SELECT event_id, program_id, processor_event_id, kind, account_id, occurred_at, received_at, state, reason,
                    sale_pending, payment_pending,
                    -- What is waited for may be there already.
                    CASE WHEN EXISTS (SELECT FROM transaction_claims t
                                      WHERE t.transaction_id = substr(e.waits_for, 6) AND t.state = 'recorded') THEN now()
                         WHEN state IN ('open', 'parked') THEN now() + make_interval(secs => pause) END,
                    CASE WHEN state NOT IN ('done', 'ignored') THEN payload END,
                    by_platform, waits_for
             FROM UNNEST($1::uuid[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::timestamptz[],
                         $7::timestamptz[], $8::text[], $9::text[], $10::bool[], $11::bool[], $12::text[], $13::float8[],
                         $14::bool[], $15::text[])
                  AS e (event_id, program_id, processor_event_id, kind, account_id, occurred_at, received_at, state,
                        reason, sale_pending, payment_pending, payload, pause, by_platform, waits_for)
             -- An update would lock the row that is there, before the claims that this transaction still has to lock.
             ON CONFLICT (processor_event_id, program_id) DO NOTHING
             RETURNING event_id, program_id
           )
           SELECT n.event_id AS "event_id!", coalesce(p.wanted_events & $16 <> 0, false) AS "reviews_are_wanted!"
           FROM new n LEFT JOIN programs p ON p.id = n.program_id"#,
        &ids,
        &programs as &[Option<i64>],
        &processor_ids as &[&str],
        &kinds as &[&str],
        &accounts as &[Option<&str>],
        &occurred,
        &received,
        &states as &[&str],
        &reasons as &[Option<&str>],
        &sales,
        &payments,
        &payloads as &[&str],
        &pauses,
        &by_platform,
        &waits as &[Option<String>],
        OutboundEventType::ProcessorEventNeedsReview.bit(),
    ))
}

fn for_review(event: &NewProcessorEvent) -> Option<ProcessorEventNeedsReview> {
    let DispositionColumns { state, reason, .. } = disposition(event);
    let waits_for_a_person = matches!(event.disposition, Disposition::Review(_) | Disposition::Stuck(_));
    Some(ProcessorEventNeedsReview {
        program_id: event.program_id.filter(|_| waits_for_a_person)?.get(),
        processor_event_id: event.processor_event_id.to_string(),
        kind: event.kind.clone(),
        state: state.to_owned(),
        reason: reason.map(str::to_owned),
        received_at: event.received_at,
    })
}

fn disposition(event: &NewProcessorEvent) -> DispositionColumns<'_> {
    let columns = DispositionColumns::from(&event.disposition);
    if event.awaits_session.is_some() && columns.sale_pending {
        DispositionColumns {
            state: "parked",
            reason: Some(Reason::AwaitsSession.as_str()),
            ..columns
        }
    } else {
        columns
    }
}

const fn pause(event: &NewProcessorEvent) -> Duration {
    if event.awaits_session.is_some() {
        SESSION_FOLLOWS
    } else {
        RELAYED_AFTER
    }
}

fn inbox_key(event: &NewProcessorEvent) -> (&str, Option<ProgramId>) {
    (event.processor_event_id.as_str(), event.program_id)
}

#[derive(Debug, Clone)]
pub struct DueEvent {
    pub event_id: EventId,
    pub program_id: ProgramId,
    pub received_at: DateTime<Utc>,
    pub by_platform: bool,
    pub sale_pending: bool,
    pub payment_pending: bool,
    pub payload: String,
}

/// Takes due events, oldest first, and postpones the next attempt (doubling to six hours). Skips locked ones.
pub async fn take_due(pool: &PgPool, limit: i64, pause: Duration) -> StorageResult<Vec<DueEvent>> {
    Ok(fetch_all!(
        pool,
        DueEvent,
        r#"WITH due AS (
             SELECT event_id FROM processor_events
             WHERE state IN ('open', 'parked') AND relay_after < now() AND program_id IS NOT NULL
             ORDER BY relay_after
             LIMIT $1
             FOR UPDATE SKIP LOCKED
           )
           UPDATE processor_events e
           SET relays = least(e.relays + 1, 100),
               relay_after = now() + least(interval '6 hours', make_interval(secs => $2 * 2 ^ least(e.relays, 20)))
           FROM due WHERE e.event_id = due.event_id
           RETURNING e.event_id, e.program_id AS "program_id!", e.received_at, e.by_platform, e.sale_pending,
                     e.payment_pending, e.payload AS "payload!""#,
        limit,
        pause.as_secs_f64(),
    ))
}

/// Stores the result of a repeated translation: the event still cannot be translated, or concerns no program
/// now. A part that was already handled stays handled. Returns the event when a person must review it from
/// now on and its program wants an outbound event about that.
pub async fn dispose(
    connection: &mut PgConnection,
    event_id: EventId,
    disposition: &Disposition,
) -> StorageResult<Option<ProcessorEventNeedsReview>> {
    let columns = DispositionColumns::from(disposition);
    let disposed = fetch_optional!(
        connection,
        r#"WITH disposed AS (
         UPDATE processor_events e
         SET sale_pending = n.sale, payment_pending = n.payment,
             state = n.state,
             reason = $3,
             waits_for = CASE WHEN n.state = 'open' THEN e.waits_for END,
             relay_after = CASE WHEN n.state = 'open' THEN e.relay_after END,
             payload = CASE WHEN n.state IN ('done', 'ignored') THEN NULL ELSE e.payload END
         FROM (SELECT o.event_id, o.state AS state_before, o.sale_pending AND $4 AS sale, o.payment_pending AND $5 AS payment,
                      CASE WHEN $2 <> 'open' THEN $2
                           WHEN (o.sale_pending AND $4) OR (o.payment_pending AND $5) THEN 'open'
                           ELSE 'done' END AS state
               FROM processor_events o WHERE o.event_id = $1 FOR UPDATE) n
         WHERE e.event_id = n.event_id
         RETURNING e.program_id, e.processor_event_id, e.kind, e.state, e.reason, e.received_at, n.state_before
         )
         SELECT d.processor_event_id AS "processor_event_id!", d.kind AS "kind!", d.state AS "state!", d.reason,
                d.received_at AS "received_at!", p.id AS "wanting_program?"
         FROM disposed d LEFT JOIN programs p
           ON p.id = d.program_id AND d.state IN ('review', 'stuck') AND d.state_before NOT IN ('review', 'stuck')
              AND p.wanted_events & $6 <> 0"#,
        event_id.get(),
        columns.state,
        columns.reason,
        columns.sale_pending,
        columns.payment_pending,
        OutboundEventType::ProcessorEventNeedsReview.bit(),
    );
    expect_rows("processor_events", 1, u64::from(disposed.is_some()))?;
    Ok(disposed.and_then(|row| {
        Some(ProcessorEventNeedsReview {
            program_id: row.wanting_program?,
            processor_event_id: row.processor_event_id,
            kind: row.kind,
            state: row.state,
            reason: row.reason,
            received_at: row.received_at,
        })
    }))
}

/// When events arrived. Unknown events are absent.
pub async fn received_at(
    connection: &mut PgConnection,
    events: &[EventId],
) -> StorageResult<HashMap<EventId, DateTime<Utc>>> {
    if events.is_empty() {
        return Ok(HashMap::new());
    }
    let ids: Vec<Uuid> = events.iter().map(|event_id| event_id.get()).collect();
    let rows = fetch_all!(
        connection,
        "SELECT event_id, received_at FROM processor_events WHERE event_id = ANY($1)",
        &ids,
    );
    Ok(rows
        .into_iter()
        .map(|row| (EventId::new(row.event_id), row.received_at))
        .collect())
}

/// Marks an event whose record is in `dead_letters`, so that the relay skips it. Returns the event when its
/// program wants an outbound event about it.
pub async fn dead_letter(
    connection: &mut PgConnection,
    event_id: EventId,
) -> StorageResult<Option<ProcessorEventNeedsReview>> {
    Ok(fetch_optional!(
        connection,
        ProcessorEventNeedsReview,
        r#"WITH stuck AS (
               UPDATE processor_events SET state = 'stuck', reason = 'dead_letter', relay_after = NULL
               WHERE event_id = $1 AND state IN ('open', 'parked')
               RETURNING program_id, processor_event_id, kind, state, reason, received_at
           )
           SELECT s.program_id AS "program_id!", s.processor_event_id, s.kind, s.state, s.reason, s.received_at
           FROM stuck s JOIN programs p ON p.id = s.program_id AND p.wanted_events & $2 <> 0"#,
        event_id.get(),
        OutboundEventType::ProcessorEventNeedsReview.bit(),
    ))
}

/// Deletes finished events from before `horizon`, of which the processor sends no more copies. Bounded.
pub async fn forget(pool: &PgPool, horizon: DateTime<Utc>, limit: i64) -> StorageResult<u64> {
    forget!(
        pool,
        "processor_events",
        "event_id",
        "state IN ('done', 'ignored') AND received_at < $1 ORDER BY received_at",
        horizon,
        limit
    )
}
