//! Results of the two parts of an event: its sale and its payment.

use std::collections::BTreeMap;
use std::time::Duration;

use sqlx::PgConnection;
use uuid::Uuid;

use super::waits::Reason;
use crate::error::StorageResult;
use domain::ids::EventId;
use domain::programs::outbound_event::OutboundEventType;
use messages::outbound_event::processor_event::ProcessorEventNeedsReview;

domain::text_enum! {
    /// The part of an event that was handled.
    pub enum Part {
        Sale = "sale",
        Payment = "payment",
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    Done(Option<Reason>),
    /// The event waits. The relay retries it after `retry`. If `retry` is `None`, only the arrival of
    /// `waits_for` or of the payment's sale wakes it.
    Parked {
        reason: Reason,
        waits_for: Option<String>,
        /// Replaces `retry` if the event did not wait for this before, or was woken since. The awaited row
        /// may have been stored during the lookup, when there was no waiting event to wake.
        look_again: Option<Duration>,
        retry: Option<Duration>,
    },
    Stuck(Reason),
}

#[derive(Default)]
struct Columns<'a> {
    state: &'static str,
    reason: Option<Reason>,
    waits_for: Option<&'a str>,
    look_again: Option<Duration>,
    retry: Option<Duration>,
}

impl<'a> From<&'a Ending> for Columns<'a> {
    fn from(ending: &'a Ending) -> Self {
        let none = Self::default();
        match ending {
            Ending::Done(reason) => Self {
                state: "done",
                reason: *reason,
                ..none
            },
            Ending::Stuck(reason) => Self {
                state: "stuck",
                reason: Some(*reason),
                ..none
            },
            Ending::Parked {
                reason,
                waits_for,
                look_again,
                retry,
            } => Self {
                state: "parked",
                reason: Some(*reason),
                waits_for: waits_for.as_deref(),
                look_again: *look_again,
                retry: *retry,
            },
        }
    }
}

/// Records results of parts of events. An event is done when neither part is pending. Its payload is deleted
/// then.
///
/// A part that is not pending is left as it is, so a redelivery changes nothing. A stuck part stays pending,
/// so that a replay knows what is left. Returns the newly stuck events that their programs want to hear of.
pub async fn end(
    connection: &mut PgConnection,
    part: Part,
    endings: &[(EventId, Ending)],
) -> StorageResult<Vec<ProcessorEventNeedsReview>> {
    if endings.is_empty() {
        return Ok(Vec::new());
    }
    // The last result of an event counts. Rows are locked in ascending order.
    let last: BTreeMap<EventId, Columns<'_>> = endings
        .iter()
        .map(|(id, ending)| (*id, Columns::from(ending)))
        .collect();
    columns!((event_id, ending) in last =>
        events: Uuid = event_id.get(),
        states: &str = ending.state,
        reasons: Option<&str> = ending.reason.map(Reason::as_str),
        waits: Option<&str> = ending.waits_for,
        looks: Option<f64> = ending.look_again.map(|pause| pause.as_secs_f64()),
        pauses: Option<f64> = ending.retry.map(|pause| pause.as_secs_f64()),
    );
    fetch_all!(
        &mut *connection,
        "SELECT event_id FROM processor_events WHERE event_id = ANY($1) ORDER BY event_id FOR UPDATE",
        &events,
    );
    Ok(fetch_all!(
        connection,
        ProcessorEventNeedsReview,
        r#"WITH ended AS (
           SELECT e.event_id, e.state AS state_before, n.state AS ending, n.reason, n.waits_for,
                  CASE WHEN e.waits_for IS DISTINCT FROM n.waits_for THEN coalesce(n.look, n.pause) ELSE n.pause END AS pause,
                  e.state <> 'open' AS waited,
                  n.state = 'done' AND NOT CASE $1 WHEN 'sale' THEN e.payment_pending ELSE e.sale_pending END AS all_done
           FROM UNNEST($2::uuid[], $3::text[], $4::text[], $5::text[], $6::float8[], $7::float8[])
                AS n (event_id, state, reason, waits_for, look, pause)
           JOIN processor_events e ON e.event_id = n.event_id
           WHERE CASE $1 WHEN 'sale' THEN e.sale_pending ELSE e.payment_pending END
         ), updated AS (
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
         FROM ended n WHERE e.event_id = n.event_id
         RETURNING e.program_id, e.processor_event_id, e.kind, e.state, e.reason, e.received_at, n.state_before
         )
         SELECT u.program_id AS "program_id!", u.processor_event_id, u.kind, u.state, u.reason, u.received_at
         FROM updated u JOIN programs p ON p.id = u.program_id
         WHERE u.state = 'stuck' AND u.state_before <> 'stuck' AND p.wanted_events & $8 <> 0"#,
        part.as_str(),
        &events,
        &states as &[&str],
        &reasons as &[Option<&str>],
        &waits as &[Option<&str>],
        &looks as &[Option<f64>],
        &pauses as &[Option<f64>],
        OutboundEventType::ProcessorEventNeedsReview.bit(),
    ))
}
