//! Shared by all steps: one transaction per batch, replies after its commit, dead letters.

use std::collections::{HashMap, HashSet};
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use bus::consume::{DeadLetter, Delivered, Processed, Step, StepError, Verdict};
use bus::reply::Reply;
use domain::ids::EventId;
use messages::click::ClickRecord;
use messages::lead::LeadRecord;
use messages::notification::NotificationRecord;
use messages::payment::PaymentRecord;
use messages::refund::RefundRecord;
use messages::sale::SaleRecord;
use messages::subject::Subject;
use messages::test_chain::TestChainRecord;
use messages::test_event::TestEventRecord;
use runtime::clock::Clock;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::to_raw_value;
use sqlx::{PgConnection, PgTransaction};
use storage::operations::dead_letters;
use storage::processor::processor_events;
use storage::tracking::claims;
use storage::{Retryable, StorageError, StorageResult};

use super::{StepContext, encode_failed};
use crate::outbound::OutboundEvents;

pub trait OfEvent {
    fn event_id(&self) -> EventId;
}

macro_rules! of_event {
    ($($record:ty),+ $(,)?) => {$(
        impl OfEvent for $record {
            fn event_id(&self) -> EventId {
                self.event_id
            }
        }
    )+};
}

of_event!(
    ClickRecord,
    LeadRecord,
    SaleRecord,
    RefundRecord,
    PaymentRecord,
    TestEventRecord,
    TestChainRecord,
    NotificationRecord,
);

/// A step that processes a batch in one transaction; [`InTransaction`] runs it.
pub trait TransactionalStep: Send + Sync + 'static {
    type Record: OfEvent + DeserializeOwned + Clone + Send + Sync + 'static;
    /// Read before the transaction begins.
    type Prepared: Default + Send;
    type Outcome: Serialize + Send;
    const SUBJECT: Subject;
    const PACE: Duration = Duration::ZERO;
    /// Whether records hold claims. The relay ignores the claim of a dead letter.
    const HOLDS_CLAIMS: bool = true;

    fn prepare(
        &self,
        _batch: &[Delivered<Self::Record>],
    ) -> impl Future<Output = Result<Self::Prepared, StepError>> + Send {
        std::future::ready(Ok(Self::Prepared::default()))
    }

    /// Must be idempotent: any record may have been processed before.
    fn process(
        &self,
        connection: &mut PgConnection,
        batch: &[Delivered<Self::Record>],
        prepared: Self::Prepared,
    ) -> impl Future<Output = StorageResult<BatchResult<Self::Outcome>>> + Send;

    /// Removes data that must not be stored in a dead letter.
    fn redact(letter: DeadLetter) -> DeadLetter {
        letter
    }
}

pub struct BatchResult<O> {
    /// Outcomes for the reply inboxes.
    pub outcomes: HashMap<EventId, O>,
    /// Events to offer again.
    pub later: HashSet<EventId>,
    /// Replies to callers of records in other batches.
    pub replies: Vec<Reply>,
    pub outbox_filled: bool,
}

impl<O> BatchResult<O> {
    pub fn of(outcomes: HashMap<EventId, O>) -> Self {
        Self {
            outcomes,
            later: HashSet::new(),
            replies: Vec::new(),
            outbox_filled: false,
        }
    }
}

#[derive(Debug)]
pub struct InTransaction<S> {
    pub context: StepContext,
    pub step: S,
}

impl<S: TransactionalStep> Step for InTransaction<S> {
    type Record = S::Record;
    const SUBJECT: Subject = S::SUBJECT;
    const PACE: Duration = S::PACE;

    async fn run(&self, batch: &[Delivered<S::Record>]) -> Result<Processed, StepError> {
        let prepared = self.step.prepare(batch).await?;
        let mut transaction = self.context.begin().await?;
        let mut result = self
            .step
            .process(&mut transaction, batch, prepared)
            .await
            .map_err(storage_failed)?;
        let events = || batch.iter().map(|delivered| delivered.record.event_id());
        let waiting = events().zip(batch.iter().map(|delivered| delivered.reply_to.as_ref()));
        let mut replies = replies(waiting, &result.outcomes).map_err(storage_failed)?;
        replies.append(&mut result.replies);
        commit(transaction).await?;
        if result.outbox_filled {
            self.context.outbox_filled.notify_one();
        }
        let verdict = |event_id| {
            if result.later.contains(&event_id) {
                Verdict::Later
            } else {
                Verdict::Done
            }
        };
        Ok(Processed {
            verdicts: events().map(verdict).collect(),
            replies,
        })
    }

    /// Stores a record that no retry can settle, and ends its processor's event.
    async fn dead_letter(&self, letter: DeadLetter) -> Result<(), StepError> {
        let letter = S::redact(letter);
        let mut transaction = self.context.begin().await?;
        let stored = store(&mut transaction, &letter, S::HOLDS_CLAIMS, &self.context.clock).await;
        stored.map_err(storage_failed)?;
        commit(transaction).await
    }
}

async fn store(
    connection: &mut PgConnection,
    letter: &DeadLetter,
    holds_claim: bool,
    clock: &Clock,
) -> StorageResult<()> {
    let event_id = letter.event_id.map(EventId::new);
    if let Some(event_id) = event_id.filter(|_| holds_claim) {
        claims::mark_dead(connection, event_id).await?;
    }
    let new = dead_letters::NewDeadLetter {
        subject: &letter.subject,
        event_id: letter.event_id,
        program_id: messages::program_of(&letter.payload),
        payload: &letter.payload,
        reason: &letter.reason,
        deliveries: letter.deliveries,
    };
    dead_letters::insert(connection, &new).await?;
    if let Some(event_id) = event_id {
        let for_review = processor_events::dead_letter(connection, event_id).await?;
        let mut events = OutboundEvents::new(clock);
        events.add_for_review(for_review.into_iter().collect())?;
        events.write(connection).await?;
    }
    Ok(())
}

impl StepContext {
    pub async fn begin(&self) -> Result<PgTransaction<'static>, StepError> {
        self.pool.begin().await.map_err(storage_failed)
    }
}

pub async fn commit(transaction: PgTransaction<'static>) -> Result<(), StepError> {
    transaction.commit().await.map_err(storage_failed)
}

/// Converts an error for the consumer. Storage knows whether a retry helps; the consumer needs only the kind.
pub fn storage_failed(error: impl Into<StorageError>) -> StepError {
    let error: StorageError = error.into();
    match error.retryable() {
        Retryable::AfterOutage => StepError::Transient(error.into()),
        Retryable::AfterConflict => StepError::Blocked(error.into()),
        Retryable::Never => StepError::Permanent(error.into()),
    }
}

/// Replies for the events that have an outcome and a reply inbox.
pub fn replies<'a, O: Serialize>(
    waiting: impl Iterator<Item = (EventId, Option<&'a Arc<str>>)>,
    outcomes: &HashMap<EventId, O>,
) -> StorageResult<Vec<Reply>> {
    waiting
        .filter_map(|(event_id, reply_to)| Some((event_id, reply_to?, outcomes.get(&event_id)?)))
        .map(|(event_id, reply_to, outcome)| {
            Ok(Reply {
                reply_to: Arc::clone(reply_to),
                event_id: event_id.get(),
                outcome: to_raw_value(outcome).map_err(encode_failed)?,
            })
        })
        .collect()
}

pub fn records<R>(batch: &[Delivered<R>]) -> Vec<&R> {
    batch.iter().map(|delivered| &delivered.record).collect()
}
