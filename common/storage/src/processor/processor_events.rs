//! `processor_events`: the inbox of what payment processors report, and what became of each event.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

use chrono::{DateTime, Utc};
use sqlx::{PgConnection, PgPool};
use uuid::Uuid;

use crate::StorageResult;
use crate::error::expect_rows;
use domain::ids::{EventId, ProgramId};
use domain::processor::ProcessorId;
use domain::text::TransactionId;

/// An event that just arrived, its signature verified.
#[derive(Debug, Clone)]
pub struct NewProcessorEvent {
    pub event_id: EventId,
    /// `None`: no program is bound to its account.
    pub program_id: Option<ProgramId>,
    pub processor_event_id: ProcessorId,
    pub kind: String,
    pub account_id: Option<ProcessorId>,
    /// It came by the platform's endpoint, and not by its program's own.
    pub by_platform: bool,
    pub occurred_at: DateTime<Utc>,
    pub received_at: DateTime<Utc>,
    pub payload: String,
    pub disposition: Disposition,
    /// The name of its sale, of which another event may say more: the relay takes it up after [`SESSION_FOLLOWS`], or as soon as
    /// that other one is a sale.
    pub awaits_session: Option<TransactionId>,
}

/// Within this the session or invoice of a payment intent is reported.
const SESSION_FOLLOWS: Duration = Duration::from_mins(5);
/// After this the relay takes up an event that nobody finished.
const RELAYED_AFTER: Duration = Duration::from_secs(5);

/// What is to become of an event, as far as its translation tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Disposition {
    /// On its way: it has a sale, something to tell of a payment, or both.
    Open {
        sale: bool,
        payment: bool,
    },
    /// Not of interest, and why.
    Ignored(&'static str),
    Review(&'static str),
    /// Cannot be translated, and why.
    Stuck(String),
}

/// Why an event waits, or why nothing came of its sale. The code stored in `processor_events.reason`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// Another report of the same payment was recorded.
    Duplicate,
    /// The processor's customer is bound to another of ours.
    ProcessorCustomerDiffers,
    /// Another report of the same transaction_id is being decided.
    Claimed,
    /// Its session or invoice may be reported yet, and says more of the sale.
    AwaitsSession,
    CustomerNotFound,
    NoAttribution,
    NoRelationship,
    ProgramArchived,
    WindowExpired,
    /// Paid before the customer's first click.
    BeforeFirstClick,
    /// The partner it would credit is not approved in the program, or no longer.
    PartnerNotApproved,
    /// A refund or dispute of a payment that is no sale so far.
    SaleMissing,
    /// Of another currency than its sale.
    CurrencyDiffers,
}

impl Reason {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Duplicate => "duplicate",
            Self::ProcessorCustomerDiffers => "processor_customer_differs",
            Self::Claimed => "claimed",
            Self::AwaitsSession => "awaits_session",
            Self::CustomerNotFound => "customer_not_found",
            Self::NoAttribution => "no_attribution",
            Self::NoRelationship => "no_relationship",
            Self::ProgramArchived => "program_archived",
            Self::WindowExpired => "window_expired",
            Self::BeforeFirstClick => "before_first_click",
            Self::PartnerNotApproved => "partner_not_approved",
            Self::SaleMissing => "sale_missing",
            Self::CurrencyDiffers => "currency_differs",
        }
    }
}

/// What payments wait for that would credit a partner who is not approved, or no longer.
pub const PARTNER_APPROVED: &str = "partner_approved";

/// What the payments of a customer_key wait for that no customer has.
pub fn waits_for_key(customer_key: &str) -> String {
    format!("customer_key:{customer_key}")
}

/// What the payments of a processor's customer wait for whom nothing names.
pub fn waits_for_processor_customer(processor_customer: &ProcessorId) -> String {
    format!("processor_customer:{processor_customer}")
}

/// What payments wait for of which a session or an invoice may say more.
pub fn waits_for_sale(transaction_id: &TransactionId) -> String {
    // The query of `receive` takes the name from behind the colon.
    format!("sale:{transaction_id}")
}

/// Which half of an event was handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    Sale,
    Payment,
}

impl Part {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Sale => "sale",
            Self::Payment => "payment",
        }
    }
}

/// How a half of an event ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    Done(Option<Reason>),
    /// Waits; taken up again by the relay after its pause, or (None) only when `waits_for` or its payment's sale comes.
    Parked {
        reason: Reason,
        waits_for: Option<String>,
        /// Instead, where it did not wait for this before, or was woken since: what it waits for may have come while it was
        /// looked for, and have woken nothing.
        look_again: Option<Duration>,
        retry: Option<Duration>,
    },
    Stuck(Reason),
}

/// A disposition, as its columns say it.
struct Fate<'a> {
    state: &'static str,
    reason: Option<&'a str>,
    sale_pending: bool,
    payment_pending: bool,
}

impl<'a> From<&'a Disposition> for Fate<'a> {
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

/// Stores what is new and tells, event by event, whether it was. Repeated ids, in the batch too, are not.
///
/// May be repeated when it is not known whether it committed: a row that this very event holds already counts as new.
pub async fn receive(
    connection: &mut PgConnection,
    events: &[NewProcessorEvent],
) -> StorageResult<Vec<bool>> {
    let mut first_of_id: Vec<&NewProcessorEvent> = events.iter().collect();
    // A stable sort keeps arrival order within one id, and ascending ids avoid deadlocks between batches.
    first_of_id.sort_by(|a, b| inbox_key(a).cmp(&inbox_key(b)));
    first_of_id.dedup_by(|later, earlier| inbox_key(later) == inbox_key(earlier));
    let fates: Vec<Fate<'_>> = first_of_id.iter().map(|event| fate(event)).collect();
    let pauses: Vec<f64> = first_of_id
        .iter()
        .map(|event| pause(event).as_secs_f64())
        .collect();
    let ids: Vec<Uuid> = first_of_id.iter().map(|event| event.event_id.get()).collect();
    let programs: Vec<Option<i64>> = first_of_id
        .iter()
        .map(|event| event.program_id.map(ProgramId::get))
        .collect();
    let processor_ids: Vec<&str> = first_of_id
        .iter()
        .map(|event| event.processor_event_id.as_str())
        .collect();
    let kinds: Vec<&str> = first_of_id.iter().map(|event| event.kind.as_str()).collect();
    let accounts: Vec<Option<&str>> = first_of_id
        .iter()
        .map(|event| event.account_id.as_ref().map(ProcessorId::as_str))
        .collect();
    let occurred: Vec<DateTime<Utc>> = first_of_id.iter().map(|event| event.occurred_at).collect();
    let received: Vec<DateTime<Utc>> = first_of_id.iter().map(|event| event.received_at).collect();
    let states: Vec<&str> = fates.iter().map(|fate| fate.state).collect();
    let reasons: Vec<Option<&str>> = fates.iter().map(|fate| fate.reason).collect();
    let sales: Vec<bool> = fates.iter().map(|fate| fate.sale_pending).collect();
    let payments: Vec<bool> = fates.iter().map(|fate| fate.payment_pending).collect();
    let waits: Vec<Option<String>> = first_of_id
        .iter()
        .map(|event| event.awaits_session.as_ref().map(waits_for_sale))
        .collect();
    let payloads: Vec<&str> = first_of_id.iter().map(|event| event.payload.as_str()).collect();
    let by_platform: Vec<bool> = first_of_id.iter().map(|event| event.by_platform).collect();
    let new = sqlx::query_scalar!(
        "INSERT INTO processor_events (event_id, program_id, processor_event_id, kind, account_id, occurred_at,
             received_at, state, reason, sale_pending, payment_pending, relay_after, payload, by_platform,
             waits_for)
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
         RETURNING event_id",
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
    )
    .fetch_all(&mut *connection)
    .await?;
    let mut new: HashSet<Uuid> = new.into_iter().collect();
    if new.len() < ids.len() {
        let held = sqlx::query_scalar!(
            "SELECT event_id FROM processor_events WHERE event_id = ANY($1)",
            &ids
        )
        .fetch_all(connection)
        .await?;
        new.extend(held);
    }
    Ok(events
        .iter()
        .map(|event| new.contains(&event.event_id.get()))
        .collect())
}

fn fate(event: &NewProcessorEvent) -> Fate<'_> {
    let fate = Fate::from(&event.disposition);
    if event.awaits_session.is_some() && fate.sale_pending {
        Fate {
            state: "parked",
            reason: Some(Reason::AwaitsSession.as_str()),
            ..fate
        }
    } else {
        fate
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

/// An event the relay takes up again.
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

/// Takes events that are due, oldest first, and pushes their next turn back (doubling up to six hours). Those another relay
/// holds are skipped.
pub async fn take_due(pool: &PgPool, limit: i64, pause: Duration) -> StorageResult<Vec<DueEvent>> {
    let rows = sqlx::query!(
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
    )
    .fetch_all(pool)
    .await?;
    Ok(rows
        .into_iter()
        .map(|row| DueEvent {
            event_id: EventId::new(row.event_id),
            program_id: ProgramId::new(row.program_id),
            received_at: row.received_at,
            by_platform: row.by_platform,
            sale_pending: row.sale_pending,
            payment_pending: row.payment_pending,
            payload: row.payload,
        })
        .collect())
}

/// Says how halves of events ended. An event is done when neither half is pending any more; its payload goes then.
///
/// A half that is not pending is left alone: what a second delivery comes to changes nothing. A stuck half stays pending,
/// so that a replay knows what is left to do.
pub async fn end(
    connection: &mut PgConnection,
    part: Part,
    endings: &[(EventId, Ending)],
) -> StorageResult<()> {
    if endings.is_empty() {
        return Ok(());
    }
    // Of two endings of one event the last one counts; rows are locked in ascending order.
    let last: BTreeMap<EventId, &Ending> = endings.iter().map(|(id, ending)| (*id, ending)).collect();
    let (mut events, mut states, mut reasons) = (Vec::new(), Vec::new(), Vec::new());
    let (mut waits, mut looks, mut pauses) = (Vec::new(), Vec::new(), Vec::new());
    for (event_id, ending) in last {
        events.push(event_id.get());
        let (state, reason, waits_for, look, pause) = match ending {
            Ending::Done(reason) => ("done", *reason, None, None, None),
            Ending::Parked {
                reason,
                waits_for,
                look_again,
                retry,
            } => (
                "parked",
                Some(*reason),
                waits_for.as_deref(),
                look_again.map(|pause| pause.as_secs_f64()),
                retry.map(|pause| pause.as_secs_f64()),
            ),
            Ending::Stuck(reason) => ("stuck", Some(*reason), None, None, None),
        };
        states.push(state);
        reasons.push(reason.map(Reason::as_str));
        waits.push(waits_for);
        looks.push(look);
        pauses.push(pause);
    }
    sqlx::query!(
        "SELECT event_id FROM processor_events WHERE event_id = ANY($1) ORDER BY event_id FOR UPDATE",
        &events,
    )
    .fetch_all(&mut *connection)
    .await?;
    sqlx::query!(
        "WITH ended AS (
           SELECT e.event_id, n.state AS ending, n.reason, n.waits_for,
                  CASE WHEN e.waits_for IS DISTINCT FROM n.waits_for THEN coalesce(n.look, n.pause) ELSE n.pause END AS pause,
                  e.state <> 'open' AS waited,
                  n.state = 'done' AND NOT CASE $1 WHEN 'sale' THEN e.payment_pending ELSE e.sale_pending END AS all_done
           FROM UNNEST($2::uuid[], $3::text[], $4::text[], $5::text[], $6::float8[], $7::float8[])
                AS n (event_id, state, reason, waits_for, look, pause)
           JOIN processor_events e ON e.event_id = n.event_id
           WHERE CASE $1 WHEN 'sale' THEN e.sale_pending ELSE e.payment_pending END
         )
         UPDATE processor_events e
         SET sale_pending = e.sale_pending AND NOT ($1 = 'sale' AND n.ending = 'done'),
             payment_pending = e.payment_pending AND NOT ($1 = 'payment' AND n.ending = 'done'),
             state = CASE WHEN n.all_done THEN 'done' WHEN n.ending = 'done' THEN e.state ELSE n.ending END,
             -- The reason of a wait goes with the wait; why nothing came of the other half stays.
             reason = CASE WHEN n.reason IS NOT NULL THEN n.reason
                           WHEN n.all_done AND n.waited THEN NULL ELSE e.reason END,
             waits_for = CASE WHEN n.ending = 'done' AND NOT n.all_done THEN e.waits_for ELSE n.waits_for END,
             relay_after = CASE WHEN n.all_done OR n.ending = 'stuck' THEN NULL
                                WHEN n.ending = 'done' THEN e.relay_after
                                ELSE now() + make_interval(secs => n.pause) END,
             payload = CASE WHEN n.all_done THEN NULL ELSE e.payload END
         FROM ended n WHERE e.event_id = n.event_id",
        part.as_str(),
        &events,
        &states as &[&str],
        &reasons as &[Option<&str>],
        &waits as &[Option<&str>],
        &looks as &[Option<f64>],
        &pauses as &[Option<f64>],
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// What a translation made anew came to: the event cannot be translated still, or concerns nobody now. A half that was
/// handled before stays so.
pub async fn dispose(
    connection: &mut PgConnection,
    event_id: EventId,
    disposition: &Disposition,
) -> StorageResult<()> {
    let fate = Fate::from(disposition);
    let disposed = sqlx::query!(
        "UPDATE processor_events e
         SET sale_pending = n.sale, payment_pending = n.payment,
             state = n.state,
             reason = $3,
             waits_for = CASE WHEN n.state = 'open' THEN e.waits_for END,
             relay_after = CASE WHEN n.state = 'open' THEN e.relay_after END,
             payload = CASE WHEN n.state IN ('done', 'ignored') THEN NULL ELSE e.payload END
         FROM (SELECT o.event_id, o.sale_pending AND $4 AS sale, o.payment_pending AND $5 AS payment,
                      CASE WHEN $2 <> 'open' THEN $2
                           WHEN (o.sale_pending AND $4) OR (o.payment_pending AND $5) THEN 'open'
                           ELSE 'done' END AS state
               FROM processor_events o WHERE o.event_id = $1 FOR UPDATE) n
         WHERE e.event_id = n.event_id",
        event_id.get(),
        fate.state,
        fate.reason,
        fate.sale_pending,
        fate.payment_pending,
    )
    .execute(connection)
    .await?;
    expect_rows("processor_events", 1, disposed.rows_affected())
}

/// Lets the relay take up what waited for `waits_for` (of a program). Should it have to wait again, that is a wait of its own.
pub async fn wake(connection: &mut PgConnection, waited_for: &[(ProgramId, String)]) -> StorageResult<()> {
    if waited_for.is_empty() {
        return Ok(());
    }
    let programs: Vec<i64> = waited_for
        .iter()
        .map(|(program_id, _)| program_id.get())
        .collect();
    let waits: Vec<&str> = waited_for
        .iter()
        .map(|(_, waits_for)| waits_for.as_str())
        .collect();
    sqlx::query!(
        "WITH waiting AS (
           SELECT e.event_id FROM processor_events e
           JOIN UNNEST($1::bigint[], $2::text[]) AS w (program_id, waits_for)
             ON e.program_id = w.program_id AND e.waits_for = w.waits_for
           WHERE e.waits_for IS NOT NULL AND e.state = 'parked'
           ORDER BY e.event_id
           FOR UPDATE OF e
         )
         UPDATE processor_events e SET relay_after = now(), relays = 0, waits_for = NULL
         FROM waiting WHERE e.event_id = waiting.event_id",
        &programs,
        &waits as &[&str],
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// When events arrived. An event that is not there is not in the answer.
pub async fn received_at(
    connection: &mut PgConnection,
    events: &[EventId],
) -> StorageResult<HashMap<EventId, DateTime<Utc>>> {
    if events.is_empty() {
        return Ok(HashMap::new());
    }
    let ids: Vec<Uuid> = events.iter().map(|event_id| event_id.get()).collect();
    let rows = sqlx::query!(
        "SELECT event_id, received_at FROM processor_events WHERE event_id = ANY($1)",
        &ids,
    )
    .fetch_all(connection)
    .await?;
    Ok(rows
        .into_iter()
        .map(|row| (EventId::new(row.event_id), row.received_at))
        .collect())
}

/// What was made of it no retry could settle: the relay leaves it alone, its record is in `dead_letters`.
pub async fn bury(connection: &mut PgConnection, event_id: EventId) -> StorageResult<()> {
    sqlx::query!(
        "UPDATE processor_events SET state = 'stuck', reason = 'dead_letter', relay_after = NULL
         WHERE event_id = $1 AND state IN ('open', 'parked')",
        event_id.get(),
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Gives up what has waited since before `horizon`, except payments for partners who are not approved: those wait for a person. Bounded per
/// call.
pub async fn give_up_parked(pool: &PgPool, horizon: DateTime<Utc>, limit: i64) -> StorageResult<u64> {
    let given_up = sqlx::query!(
        "UPDATE processor_events
         SET state = 'ignored', sale_pending = false, payment_pending = false, waits_for = NULL, relay_after = NULL,
             payload = NULL
         WHERE event_id IN (
             SELECT event_id FROM processor_events WHERE state = 'parked' AND received_at < $1 AND reason IS DISTINCT FROM 'partner_not_approved'
             ORDER BY received_at LIMIT $2 FOR UPDATE SKIP LOCKED)",
        horizon,
        limit,
    )
    .execute(pool)
    .await?;
    Ok(given_up.rows_affected())
}

/// Forgets what was finished and arrived before `horizon`: no copy of it comes any more. Bounded per call.
pub async fn forget(pool: &PgPool, horizon: DateTime<Utc>, limit: i64) -> StorageResult<u64> {
    let forgotten = sqlx::query!(
        "DELETE FROM processor_events WHERE event_id IN (
             SELECT event_id FROM processor_events WHERE state IN ('done', 'ignored') AND received_at < $1
             ORDER BY received_at LIMIT $2 FOR UPDATE SKIP LOCKED)",
        horizon,
        limit,
    )
    .execute(pool)
    .await?;
    Ok(forgotten.rows_affected())
}
