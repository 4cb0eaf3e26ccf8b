//! One step a file: records in, rows and outcomes out, one transaction a batch.

pub mod click;
pub mod lead;
pub mod notification;
pub mod payment;
pub mod refund;
pub mod sale;
pub mod test_chain;
pub mod test_event;

use std::sync::Arc;

use bus::backlog::Backlog;
use bus::consume::{DeadLetter, StepError};
use bus::reply::Reply;
use domain::click_id::ClickIdCodec;
use domain::ids::EventId;
use domain::signal::SignalRules;
use runtime::clock::Clock;
use serde::Serialize;
use serde_json::value::to_raw_value;
use sqlx::{PgConnection, PgPool};
use storage::{Prospect, StorageError, StorageResult, claims, dead_letters, processor_events};
use tokio::sync::Notify;

use crate::lead_rates::LeadRates;

/// What every step works with.
#[derive(Debug, Clone)]
pub struct StepContext {
    pub pool: PgPool,
    pub codec: Arc<ClickIdCodec>,
    pub clicks: Backlog,
    pub clock: Clock,
    pub signal_rules: Arc<SignalRules>,
    pub lead_rates: Arc<LeadRates>,
    /// Wakes the relay when a commit has put something into the outbox.
    pub outbox_filled: Arc<Notify>,
}

impl StepContext {
    /// Keeps a record no retry will fix. Its claim, if it has one, leaves the relay's sight with it; so does the processor's
    /// event it was made of.
    pub async fn dead_letter(&self, letter: &DeadLetter) -> Result<(), StepError> {
        let mut transaction = self.pool.begin().await.map_err(storage_failed)?;
        if let Some(event_id) = letter.event_id {
            claims::mark_dead(&mut transaction, EventId::new(event_id))
                .await
                .map_err(storage_failed)?;
        }
        keep(&mut transaction, letter).await.map_err(storage_failed)?;
        transaction.commit().await.map_err(storage_failed)
    }

    /// The same for what is told of a payment: the claim of the same event is its sale's, and none of its business.
    pub async fn dead_letter_payment(&self, letter: &DeadLetter) -> Result<(), StepError> {
        let mut transaction = self.pool.begin().await.map_err(storage_failed)?;
        keep(&mut transaction, letter).await.map_err(storage_failed)?;
        transaction.commit().await.map_err(storage_failed)
    }
}

async fn keep(connection: &mut PgConnection, letter: &DeadLetter) -> StorageResult<()> {
    let new = dead_letters::NewDeadLetter {
        subject: &letter.subject,
        event_id: letter.event_id,
        program_id: messages::program_of(&letter.payload),
        payload: &letter.payload,
        reason: &letter.reason,
        deliveries: letter.deliveries,
    };
    dead_letters::bury(connection, &new).await?;
    if let Some(event_id) = letter.event_id {
        processor_events::bury(connection, EventId::new(event_id)).await?;
    }
    Ok(())
}

/// Retry or fail is the storage layer's knowledge; the loop only needs the verdict.
fn storage_failed(error: impl Into<StorageError>) -> StepError {
    let error: StorageError = error.into();
    match error.prospect() {
        Prospect::WhenBack => StepError::Transient(error.into()),
        Prospect::WhenFree => StepError::Blocked(error.into()),
        Prospect::Never => StepError::Permanent(error.into()),
    }
}

/// A reply for whoever waits for this event; nobody waits without a `reply_to`.
fn reply(
    reply_to: Option<&Arc<str>>,
    event_id: EventId,
    outcome: &impl Serialize,
) -> Result<Option<Reply>, StepError> {
    let Some(reply_to) = reply_to else {
        return Ok(None);
    };
    let outcome = to_raw_value(outcome).map_err(|error| StepError::Permanent(error.into()))?;
    Ok(Some(Reply {
        reply_to: Arc::clone(reply_to),
        event_id: event_id.get(),
        outcome,
    }))
}
