//! Undoes a sale whose payment was recorded earlier as another sale.
//!
//! Rows are only added: the later sale stays, fully reversed and marked, and its refunds are applied to the
//! original. Counters and the customer no longer include it, and the customer's later sales are decided
//! again. The result is the same as if the duplicate had been recognised in time.
//!
//! Locks: the caller's claims → customers → sales, commissions and balances ([`settle`]) → later sales with
//! their commissions and balances. Two batches may deadlock on these. Then the database ends one of them, and
//! it is retried.

use std::collections::HashMap;

use domain::earnings::refund::{RefundKey, RefundRequest};
use domain::ids::{CustomerId, EventId, SaleId};
use domain::money::AmountCents;
use domain::text::{RefundReason, TransactionId};
use domain::tracking::customer::CustomerStatus;
use messages::refund::RefundRecord;
use runtime::clock::Clock;
use sqlx::PgConnection;
use storage::money::duplicate_sales::{self, Duplicate, Recorded, ReportedRefund};
use storage::money::ledger;
use storage::reads::refund_rollups;
use storage::reads::rollups::Deltas;
use storage::tracking::customers::{self, Customer};
use storage::{StorageError, StorageResult};

use super::super::StepContext;
use super::super::refund::settle;
use crate::outbound::OutboundEvents;
use crate::reassessment::{OutOfOrder, by_id, reassess};

/// Undoes these sales. `names` are all names of their payments.
pub async fn undo(
    connection: &mut PgConnection,
    context: &StepContext,
    duplicates: &[Duplicate],
    names: &[&str],
    events: &mut OutboundEvents<'_>,
) -> StorageResult<()> {
    let clock = &context.clock;
    let ids: Vec<i64> = duplicates
        .iter()
        .map(|duplicate| duplicate.sale_id.get())
        .collect();
    let originals: HashMap<SaleId, SaleId> = duplicates
        .iter()
        .map(|duplicate| (duplicate.sale_id, duplicate.duplicate_of))
        .collect();
    let undone = duplicate_sales::find(connection, &ids).await?;
    let customer_ids: Vec<i64> = undone.iter().map(|sale| sale.customer_id.get()).collect();
    let customers = customers::lock(connection, &customer_ids).await?;
    let mut refunds = Vec::new();
    for sale in &undone {
        if let Some(original) = originals.get(&sale.sale_id) {
            refunds.push((sale.sale_id, whole_refund(sale, *original, clock)?));
        }
    }
    for refund in duplicate_sales::reported_refunds(connection, &ids).await? {
        let of = undone.iter().find(|sale| sale.sale_id == refund.sale_id);
        if let (Some(original), Some(sale)) = (originals.get(&refund.sale_id), of) {
            refunds.push((*original, carried_over(&refund, sale, clock)?));
        }
    }
    let to_settle: Vec<(SaleId, &RefundRecord)> = refunds
        .iter()
        .map(|(sale_id, refund)| (*sale_id, refund))
        .collect();
    settle(connection, &to_settle, clock, events).await?;
    refund_rollups::forget_sales(connection, &ids).await?;
    duplicate_sales::mark(connection, duplicates, names).await?;
    let mut deltas = Deltas::default();
    for sale in &undone {
        deltas.no_sale(sale);
    }
    for commission in duplicate_sales::commissions(connection, &ids).await? {
        deltas.no_commission(commission);
    }
    let customers = forget_purchases(connection, customers, &undone, &mut deltas).await?;
    deltas.append(connection).await?;
    let mut out_of_order = OutOfOrder::default();
    out_of_order.extend(undone.iter().map(|sale| (sale.customer_id, sale.sold_at)));
    let entries = reassess(connection, context, &customers, &out_of_order, events).await?;
    ledger::post(connection, &entries).await
}

fn whole_refund(sale: &Recorded, original: SaleId, clock: &Clock) -> StorageResult<RefundRecord> {
    let reason = format!("the payment is sale {original} already");
    Ok(RefundRecord {
        event_id: EventId::new(clock.mint()),
        refunded_at: clock.now(),
        program_id: sale.program_id,
        transaction_id: transaction_id(sale)?,
        request: RefundRequest::ProcessorCumulative {
            key: RefundKey::processor(&format!("duplicate of sale {original}")),
            amount: sale.amount,
        },
        refund_reason: RefundReason::parse(&reason).ok(),
    })
}

/// Keeps the refund's key: a refund that was reported under both names counts once.
fn carried_over(refund: &ReportedRefund, sale: &Recorded, clock: &Clock) -> StorageResult<RefundRecord> {
    let corrupt = |column| StorageError::corrupt("refunds", column, sale.sale_id.get());
    Ok(RefundRecord {
        event_id: EventId::new(clock.mint()),
        refunded_at: refund.refunded_at,
        program_id: sale.program_id,
        transaction_id: transaction_id(sale)?,
        request: RefundRequest::Delta {
            key: RefundKey::parse(&refund.refund_key).ok_or_else(|| corrupt("refund_key"))?,
            amount: refund.requested_cents.and_then(AmountCents::new),
        },
        refund_reason: refund
            .refund_reason
            .as_deref()
            .and_then(|reason| RefundReason::parse(reason).ok()),
    })
}

fn transaction_id(sale: &Recorded) -> StorageResult<TransactionId> {
    TransactionId::parse(&sale.transaction_id)
        .map_err(|_| StorageError::corrupt("sale_events", "processor_event_id", sale.sale_id.get()))
}

/// Moves each customer's first purchase to the first sale that is no duplicate. Without such a sale, the
/// customer has not bought. Returns the changed customers.
async fn forget_purchases(
    connection: &mut PgConnection,
    customers: Vec<Customer>,
    undone: &[Recorded],
    deltas: &mut Deltas,
) -> StorageResult<HashMap<CustomerId, Customer>> {
    let mut customers = by_id(customers);
    let mut changed = Vec::new();
    for customer in customers.values_mut() {
        let Some(known) = customer.first_purchase else {
            continue;
        };
        let was_first = undone
            .iter()
            .any(|sale| sale.customer_id == customer.customer_id && sale.sold_at <= known.at);
        if !was_first {
            continue;
        }
        let first =
            duplicate_sales::first_remaining(connection, customer.program_id, customer.customer_id, known.at)
                .await?;
        deltas.no_conversion(customer.program_id, known);
        match first {
            Some(first) => deltas.conversion(customer.program_id, first),
            None => customer.status = CustomerStatus::without_sale(customer.signup.is_some()),
        }
        customer.first_purchase = first;
        changed.push(&*customer);
    }
    customers::save(connection, &changed).await?;
    Ok(customers)
}
