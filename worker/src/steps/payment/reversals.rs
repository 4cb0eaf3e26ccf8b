//! Applies the reversals that processors report to the sales of their payments.

use std::collections::HashMap;

use domain::earnings::refund::{RefundKey, RefundRequest};
use domain::ids::{EventId, SaleId};
use domain::processors::payment::{ReversalKind, RunningTotal};
use domain::text::{RefundReason, TransactionId};
use messages::refund::RefundRecord;
use runtime::clock::Clock;
use sqlx::PgConnection;
use storage::processor::processor_events::{self, Ending, Part, Reason};
use storage::processor::processor_refs::Reference;
use storage::processor::processor_reversals::{self, Reversal};
use storage::{StorageError, StorageResult};

use super::super::refund::settle;
use crate::outbound::OutboundEvents;

/// Applies every new reversal of these payments to their sales, and ends the events of all reversals. Returns
/// how many were new. The caller holds the claims of the sales.
///
/// Each reversal reports the running total, so only the last one is applied.
pub async fn reverse(
    connection: &mut PgConnection,
    payments: &[(Reference, SaleId)],
    clock: &Clock,
    events: &mut OutboundEvents<'_>,
) -> StorageResult<usize> {
    let reversals = processor_reversals::of_payments(connection, payments).await?;
    if reversals.is_empty() {
        return Ok(0);
    }
    let mut totals: HashMap<SaleId, RunningTotal> = HashMap::new();
    for counted in reversals.iter().filter(|reversal| reversal.counted) {
        add_to_total(&mut totals, counted);
    }
    let (mut refunds, mut counted, mut endings) = (Vec::new(), Vec::new(), Vec::new());
    for reversal in &reversals {
        if reversal.currency != reversal.sale_currency {
            endings.push((reversal.event_id, Ending::Stuck(Reason::CurrencyDiffers)));
            continue;
        }
        endings.push((reversal.event_id, Ending::Done(None)));
        if !reversal.counted {
            counted.push((reversal.event_id, reversal.sale_id));
            refunds.push((reversal.sale_id, refund(reversal, &mut totals, clock)?));
        }
    }
    let to_settle: Vec<(SaleId, &RefundRecord)> = refunds
        .iter()
        .map(|(sale_id, refund)| (*sale_id, refund))
        .collect();
    settle(connection, &to_settle, clock, events).await?;
    processor_reversals::count(connection, &counted).await?;
    let for_review = processor_events::end(connection, Part::Payment, &endings).await?;
    events.add_for_review(for_review)?;
    Ok(refunds.len())
}

fn add_to_total(
    totals: &mut HashMap<SaleId, RunningTotal>,
    reversal: &Reversal,
) -> domain::money::AmountCents {
    totals
        .entry(reversal.sale_id)
        .or_default()
        .record(reversal.kind, &reversal.source, reversal.amount)
}

fn refund(
    reversal: &Reversal,
    totals: &mut HashMap<SaleId, RunningTotal>,
    clock: &Clock,
) -> StorageResult<RefundRecord> {
    let reason = match reversal.kind {
        ReversalKind::Refund => None,
        ReversalKind::Dispute => RefundReason::parse("disputed").ok(),
    };
    Ok(RefundRecord {
        event_id: if reversal.moved {
            EventId::new(clock.mint())
        } else {
            reversal.event_id
        },
        refunded_at: reversal.occurred_at,
        program_id: reversal.program_id,
        transaction_id: TransactionId::parse(&reversal.transaction_id).map_err(|_| {
            StorageError::corrupt("sale_events", "processor_event_id", reversal.sale_id.get())
        })?,
        request: RefundRequest::ProcessorCumulative {
            key: RefundKey::processor(&reversal.event_id.to_string()),
            amount: add_to_total(totals, reversal),
        },
        refund_reason: reason,
    })
}
