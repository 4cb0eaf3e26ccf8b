//! Retries unfinished events: those whose process died or whose publish failed, and parked ones that are due
//! again.
//!
//! An event is translated again from its stored payload, with the ids it got on arrival, so that later steps
//! recognise the records as repeats. Taking an event schedules its next attempt, five seconds to six hours
//! later, in case this round fails. Several consumers share the work (`FOR UPDATE SKIP LOCKED`).

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;
use domain::ids::{EventId, ProgramId};
use domain::processors::processor::ProcessorId;
use runtime::clock::Clock;
use runtime::lifecycle::Lifecycle;
use runtime::metrics::RELAYED;
use runtime::retry::{RetryPolicy, delays};
use sqlx::{PgConnection, PgPool};
use storage::StorageResult;
use storage::processor::processor_connections;
use storage::processor::processor_events::{self, Disposition, DueEvent};

use crate::claim::claim;
use crate::records::{Records, Streams};
use crate::review;
use crate::stripe::event::Event;
use crate::stripe::metadata::MetadataKeys;
use crate::stripe::recipients::{Share, own_share};
use crate::stripe::translate::{Untranslated, translate};

/// Events are due five seconds after they arrived. A short interval keeps the delay near that.
const EVERY: Duration = Duration::from_secs(1);
const BATCH: i64 = 64;
/// First pause between two attempts of one event; it doubles each time.
const EVENT_PAUSE: Duration = Duration::from_secs(5);
/// Backoff after a failed round, with jitter, so that several consumers do not retry at the same moment.
const FAILED: RetryPolicy = RetryPolicy::until_shutdown(EVERY, Duration::from_secs(30));
/// A claim of this age without a recorded sale will not settle by itself.
const GIVEN_UP_AFTER: TimeDelta = TimeDelta::days(3);

#[derive(Debug)]
pub struct Relay {
    pub pool: PgPool,
    pub streams: Streams,
    pub keys: Arc<MetadataKeys>,
    pub clock: Clock,
}

impl Relay {
    /// Runs until shutdown.
    pub async fn run(self, lifecycle: Lifecycle) {
        let mut failed = delays(&FAILED);
        let mut pause = EVERY;
        while let Some(()) = lifecycle
            .soft()
            .run_until_cancelled(tokio::time::sleep(pause))
            .await
        {
            pause = match self.round().await {
                Ok(()) => {
                    failed = delays(&FAILED);
                    EVERY
                }
                Err(error) => {
                    tracing::warn!(%error, "relay of processor events failed");
                    failed.next().unwrap_or(EVERY)
                }
            };
        }
    }

    async fn round(&self) -> StorageResult<()> {
        loop {
            let due = processor_events::take_due(&self.pool, BATCH, EVENT_PAUSE).await?;
            let taken = due.len();
            if taken > 0 {
                self.take_up(due).await?;
                RELAYED.with(["processor_events"]).inc_by(taken as u64);
                tracing::info!(events = taken, "relayed processor events");
            }
            if taken < usize::try_from(BATCH).unwrap_or(usize::MAX) {
                return Ok(());
            }
        }
    }

    async fn take_up(&self, mut due: Vec<DueEvent>) -> StorageResult<()> {
        due.sort_by_key(|event| event.event_id);
        let given_up_before = self.clock.now() - GIVEN_UP_AFTER;
        let late: HashSet<EventId> = due
            .iter()
            .filter(|event| event.received_at < given_up_before)
            .map(|event| event.event_id)
            .collect();
        let mut transaction = self.pool.begin().await?;
        let programs = Programs::of(&mut transaction, &due).await?;
        let (mut records, mut dispositions) = (Vec::new(), Vec::new());
        for event in &due {
            let (made, disposition) = self.translate(event, &programs);
            records.push(made);
            dispositions.extend(disposition.map(|disposition| (event.event_id, disposition)));
        }
        let mut for_review = Vec::new();
        let outgoing = claim(
            &mut transaction,
            records,
            |event_id| late.contains(&event_id),
            &mut for_review,
        )
        .await?;
        for (event_id, disposition) in &dispositions {
            for_review.extend(processor_events::dispose(&mut transaction, *event_id, disposition).await?);
        }
        review::add_events(&mut transaction, &self.clock, for_review).await?;
        transaction.commit().await?;
        self.streams.publish(&outgoing).await;
        Ok(())
    }

    /// Returns the records that are still to be published, and the event's new disposition if it changed.
    fn translate(&self, due: &DueEvent, programs: &Programs) -> (Records, Option<Disposition>) {
        let stuck = |reason: &str| {
            let stuck = Disposition::Stuck(reason.to_owned());
            (Records::default(), Some(stuck))
        };
        let unreadable = || stuck("its stored payload cannot be read");
        if due.by_platform && !programs.receiving.contains(&due.program_id) {
            return stuck("its program's connection receives no events of the platform");
        }
        let account_id = programs.accounts.get(&due.program_id);
        let Ok(event) = Event::parse(due.payload.as_bytes()) else {
            return unreadable();
        };
        let translated =
            translate(&event, &self.keys).unwrap_or(Err(Untranslated::Ignored("of a type nobody knows")));
        let Share {
            disposition,
            sale,
            payment,
            occurred_at,
            ..
        } = own_share(translated, event.account.as_ref(), due.program_id, account_id);
        let is_as_before = matches!(disposition, Disposition::Open { sale, payment }
            if (sale || !due.sale_pending) && (payment || !due.payment_pending));
        let sale = sale.filter(|_| due.sale_pending);
        let payment = payment.filter(|_| due.payment_pending);
        let occurred_at = occurred_at.unwrap_or(event.created);
        match Records::new(due.event_id, due.program_id, occurred_at, sale, payment) {
            Ok(records) => (records, (!is_as_before).then_some(disposition)),
            Err(_) => unreadable(),
        }
    }
}

/// The connections of the events' programs.
struct Programs {
    accounts: HashMap<ProgramId, ProcessorId>,
    /// Programs that receive the events of the platform's connected accounts.
    receiving: HashSet<ProgramId>,
}

impl Programs {
    async fn of(connection: &mut PgConnection, due: &[DueEvent]) -> StorageResult<Self> {
        let programs: BTreeSet<ProgramId> = due.iter().map(|event| event.program_id).collect();
        let programs: Vec<ProgramId> = programs.into_iter().collect();
        let found = processor_connections::find_all(connection, &programs).await?;
        let accounts = found
            .into_iter()
            .map(|(program_id, connection)| Ok((program_id, connection?.account_id)))
            .collect::<StorageResult<_>>()?;
        let receiving = processor_connections::receiving(connection, &programs).await?;
        Ok(Self { accounts, receiving })
    }
}
