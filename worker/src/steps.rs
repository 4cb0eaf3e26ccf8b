//! One step per file: records in, rows and outcomes out, one transaction per batch.

pub mod click;
pub mod lead;
pub mod notification;
pub mod payment;
pub mod refund;
pub mod sale;
pub mod test_chain;
pub mod test_event;
pub mod transaction;

use std::sync::Arc;

use bus::backlog::Backlog;
use domain::tracking::click_id::ClickIdCodec;
use domain::tracking::signal::SignalRules;
use runtime::clock::Clock;
use serde::Serialize;
use sqlx::PgPool;
use storage::{StorageError, StorageResult};
use tokio::sync::Notify;

use crate::late_leads::LateLeads;
use crate::lead_rates::LeadRates;

#[derive(Debug, Clone)]
pub struct StepContext {
    pub pool: PgPool,
    pub codec: Arc<ClickIdCodec>,
    pub clicks: Backlog,
    pub leads: Arc<LateLeads>,
    pub clock: Clock,
    pub signal_rules: Arc<SignalRules>,
    pub lead_rates: Arc<LeadRates>,
    /// Wakes the relay after a commit that added rows to the outbox.
    pub outbox_filled: Arc<Notify>,
}

pub fn json(value: &impl Serialize) -> StorageResult<String> {
    serde_json::to_string(value).map_err(encode_failed)
}

/// Our own types always encode. Otherwise the record is a dead letter, and nothing is half written.
fn encode_failed(error: serde_json::Error) -> StorageError {
    StorageError::Database(sqlx::Error::Encode(error.into()))
}
