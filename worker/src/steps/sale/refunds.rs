//! Applies refunds and reversals that arrived before their sale, in the sale's own transaction.

use std::collections::HashMap;
use std::sync::Arc;

use domain::ids::{EventId, SaleId};
use messages::refund::{RefundOutcome, RefundRecord};
use messages::sale::SaleRecord;
use runtime::clock::Clock;
use sqlx::PgConnection;
use storage::money::refunds::{self, ParkedRefund};
use storage::{StorageError, StorageResult};

use super::payment_match::Payments;
use crate::outbound::OutboundEvents;
use crate::steps::payment::reverse;
use crate::steps::refund::{Outcomes, remember_refusals, settle};

#[derive(Default)]
pub struct ParkedRefunds {
    pub outcomes: Outcomes,
    /// The reply inbox that waits for each outcome, if any.
    pub waiting: Vec<(EventId, Option<Arc<str>>)>,
}

/// Settles the parked refunds of these sales, and refuses those of refused sales.
pub async fn apply_parked(
    connection: &mut PgConnection,
    sale_ids: &HashMap<&str, SaleId>,
    refused: &[&str],
    clock: &Clock,
    events: &mut OutboundEvents<'_>,
) -> StorageResult<ParkedRefunds> {
    let transaction_ids: Vec<&str> = sale_ids.keys().chain(refused).copied().collect();
    let parked = refunds::take_parked(connection, &transaction_ids).await?;
    if parked.is_empty() {
        return Ok(ParkedRefunds::default());
    }
    let decoded = parked
        .iter()
        .map(decode)
        .collect::<StorageResult<Vec<RefundRecord>>>()?;
    let (mut to_settle, mut not_found) = (Vec::new(), Vec::new());
    for (record, parked) in decoded.iter().zip(&parked) {
        match sale_ids.get(parked.transaction_id.as_str()) {
            Some(sale_id) => to_settle.push((*sale_id, record)),
            None => not_found.push(record.event_id),
        }
    }
    let mut outcomes = settle(connection, &to_settle, clock, events).await?;
    remember_refusals(connection, &not_found).await?;
    outcomes.extend(
        not_found
            .into_iter()
            .map(|event_id| (event_id, RefundOutcome::SaleNotFound)),
    );
    let waiting = parked
        .into_iter()
        .map(|refund| (refund.event_id, refund.reply_to.map(Arc::from)))
        .collect();
    Ok(ParkedRefunds { outcomes, waiting })
}

fn decode(parked: &ParkedRefund) -> StorageResult<RefundRecord> {
    serde_json::from_str(&parked.payload)
        .map_err(|_| StorageError::corrupt("parked_refunds", "payload", parked.event_id.get()))
}

/// Counts reversals that the processor reported before these sales were recorded. Returns how many.
pub async fn apply_reversals(
    connection: &mut PgConnection,
    new: &[(&SaleRecord, SaleId)],
    payments: &Payments,
    clock: &Clock,
    events: &mut OutboundEvents<'_>,
) -> StorageResult<usize> {
    let paid: Vec<_> = new
        .iter()
        .filter_map(|(record, sale_id)| Some((payments.payment(record)?.clone(), *sale_id)))
        .collect();
    reverse(connection, &paid, clock, events).await
}
