//! Applies refunds to recorded sales: commissions, balances, ledger entries, notifications.
//!
//! Phases:
//!
//! 1. *open*: lock sales, commissions and balances, each in ascending order, and read earlier refunds;
//! 2. *apply*: refund by refund, in the order of their events, in memory;
//! 3. *close*: write, one statement per table.
//!
//! The sums of the sale's day do not change: a refund counts on its own day.

use std::collections::{BTreeMap, HashMap, HashSet};

use domain::earnings::ledger::{self, deduct};
use domain::earnings::refund::{self, RefundEffect, RefundRequest, RefundableCommission, SaleRefunds};
use domain::ids::{CommissionId, EventId, PartnerProgramId, SaleId};
use domain::money::{AmountCents, Cents};
use domain::programs::outbound_event::OutboundEventType;
use domain::text::RefundReason;
use messages::notification::NotificationRecord;
use messages::refund::{RefundOutcome, RefundRecord};
use runtime::clock::Clock;
use sqlx::PgConnection;
use storage::money::commissions::{self, LockedCommission, RefundedCommission};
use storage::money::ledger::{NewEntry, lock_balances, post};
use storage::money::refunds::{self, NewRefund};
use storage::reads::cohorts::Counted;
use storage::reads::refund_rollups::RefundDeltas;
use storage::tracking::sales::{self, LockedSale, RefundedSale};
use storage::{StorageError, StorageResult};

use super::outbound::OutboundRefunds;
use crate::outbound::OutboundEvents;
use crate::postings;
use crate::steps::json;

pub type Outcomes = HashMap<EventId, RefundOutcome>;

/// Applies refunds to recorded sales, in the order of their events, and writes all resulting rows.
pub async fn settle(
    connection: &mut PgConnection,
    refunds: &[(SaleId, &RefundRecord)],
    clock: &Clock,
    events: &mut OutboundEvents<'_>,
) -> StorageResult<Outcomes> {
    if refunds.is_empty() {
        return Ok(Outcomes::new());
    }
    let mut batch = RefundBatch::open(connection, refunds).await?;
    for (sale_id, record) in refunds {
        batch.apply(*sale_id, record, clock)?;
    }
    batch.close(connection, events).await
}

/// The sales of a batch, with commissions and balances, while refunds are applied; and the rows to write.
struct RefundBatch<'a> {
    sales: BTreeMap<SaleId, SaleRefunds>,
    locked: HashMap<SaleId, LockedSale>,
    commissions: HashMap<CommissionId, LockedCommission>,
    reasons: HashMap<CommissionId, &'a str>,
    outbound: OutboundRefunds,
    balances: BTreeMap<(PartnerProgramId, String), Cents>,
    recorded: Vec<NewRefund>,
    entries: Vec<NewEntry>,
    deltas: RefundDeltas,
    notifications: Vec<NotificationRecord>,
    outcomes: Outcomes,
}

impl<'a> RefundBatch<'a> {
    async fn open(connection: &mut PgConnection, refunds: &[(SaleId, &RefundRecord)]) -> StorageResult<Self> {
        let ids: Vec<i64> = refunds
            .iter()
            .map(|(sale_id, _)| sale_id.get())
            .collect::<HashSet<_>>()
            .into_iter()
            .collect();
        let sales = sales::lock(connection, &ids).await?;
        let commissions = commissions::lock_of_sales(connection, &ids).await?;
        let keys = refunds::keys_of_sales(connection, &ids).await?;
        let memberships: Vec<i64> = commissions
            .iter()
            .map(|commission| commission.partner_program_id.get())
            .collect();
        let balances = lock_balances(connection, &memberships).await?;
        let refunds = sales
            .iter()
            .map(|sale| {
                let of_sale = commissions
                    .iter()
                    .filter(|commission| commission.sale_id == sale.sale_id);
                let used = keys.iter().filter(|used| used.sale_id == sale.sale_id);
                let refunds = SaleRefunds::new(
                    AmountCents::new(sale.amount_cents).ok_or_else(|| {
                        StorageError::corrupt("sale_events", "amount_cents", sale.sale_id.get())
                    })?,
                    Cents::new(sale.api_refunded_cents),
                    Cents::new(sale.processor_refunded_cents),
                    used.map(|used| used.refund_key.clone()),
                    of_sale.map(refundable).collect(),
                );
                Ok((sale.sale_id, refunds))
            })
            .collect::<StorageResult<_>>()?;
        Ok(Self {
            sales: refunds,
            locked: sales.into_iter().map(|sale| (sale.sale_id, sale)).collect(),
            commissions: commissions
                .into_iter()
                .map(|commission| (commission.commission_id, commission))
                .collect(),
            reasons: HashMap::new(),
            outbound: OutboundRefunds::default(),
            balances,
            recorded: Vec::new(),
            entries: Vec::new(),
            deltas: RefundDeltas::default(),
            notifications: Vec::new(),
            outcomes: Outcomes::new(),
        })
    }

    fn apply(&mut self, sale_id: SaleId, record: &'a RefundRecord, clock: &Clock) -> StorageResult<()> {
        let (Some(sale), Some(locked)) = (self.sales.get_mut(&sale_id), self.locked.get(&sale_id)) else {
            return Err(StorageError::corrupt(
                "transaction_claims",
                "sale_id",
                &record.transaction_id,
            ));
        };
        let decision = sale.apply(&record.request);
        // The reason may name the customer, so it is dropped for an erased one.
        let reason = record.refund_reason.as_ref().filter(|_| !locked.of_erased);
        let wanted = locked.wanted_events;
        let counted = Counted {
            program_id: record.program_id,
            customer_id: locked.customer_id,
            referral_link_id: locked.referral_link_id,
            day: record.refunded_at.date_naive(),
            currency: locked.currency,
        };
        self.deltas.refund(counted, decision.effective_delta);
        if wanted.contains(OutboundEventType::SaleRefunded) && decision.effective_delta > Cents::ZERO {
            self.outbound
                .refund((sale_id, sale), record, reason, decision.effective_delta);
        }
        if wanted.contains(OutboundEventType::CommissionReversed) {
            self.outbound
                .reversals((sale_id, sale), record, reason, &decision.deductions);
        }
        for deduction in &decision.deductions {
            self.deduct(record, reason, deduction, clock);
        }
        let outcome = outcome(decision.effect);
        if decision.recorded {
            self.recorded.push(new_refund(
                sale_id,
                record,
                reason,
                decision.effective_delta,
                &outcome,
            )?);
        }
        self.outcomes.insert(record.event_id, outcome);
        Ok(())
    }

    fn deduct(
        &mut self,
        record: &RefundRecord,
        reason: Option<&'a RefundReason>,
        deduction: &refund::Deduction,
        clock: &Clock,
    ) {
        let Some(commission) = self.commissions.get(&deduction.commission_id) else {
            return;
        };
        if let Some(reason) = reason {
            self.reasons.insert(commission.commission_id, reason.as_str());
        }
        let counted = Counted {
            day: record.refunded_at.date_naive(),
            ..commission.counted()
        };
        self.deltas.deduction(counted, deduction.requested);
        let account = (
            commission.partner_program_id,
            commission.currency.as_str().to_owned(),
        );
        let balance = self.balances.entry(account).or_insert(Cents::ZERO);
        let deducted = deduct(*balance, deduction.requested, commission.paid_out);
        *balance = balance.saturating_sub(deducted.applied);
        self.entries.push(postings::of_stored(
            commission,
            record.event_id,
            ledger::reversal(&deducted),
        ));
        self.notifications.extend(postings::deduction_notifications(
            commission,
            deduction.status_after,
            deduction.requested,
            reason.map(RefundReason::to_string),
            clock,
        ));
    }

    async fn close(
        self,
        connection: &mut PgConnection,
        events: &mut OutboundEvents<'_>,
    ) -> StorageResult<Outcomes> {
        let mut totals = Vec::with_capacity(self.sales.len());
        let mut refunded = Vec::new();
        for (sale_id, sale) in &self.sales {
            totals.push(RefundedSale {
                sale_id: *sale_id,
                api_refunded_cents: sale.api_refunded().get(),
                processor_refunded_cents: sale.processor_refunded().get(),
            });
            refunded.extend(sale.commissions().iter().map(|commission| RefundedCommission {
                commission_id: commission.id,
                deducted: commission.deducted,
                status: commission.status,
                refund_reason: self.reasons.get(&commission.id).copied(),
            }));
        }
        sales::save_refunded(connection, &totals).await?;
        commissions::save_refunded(connection, &refunded).await?;
        refunds::insert(connection, &self.recorded).await?;
        self.deltas.append(connection).await?;
        post(connection, &self.entries).await?;
        postings::notify(connection, &self.notifications).await?;
        self.outbound.add_events(connection, events).await?;
        Ok(self.outcomes)
    }
}

fn refundable(commission: &LockedCommission) -> RefundableCommission {
    RefundableCommission {
        id: commission.commission_id,
        amount: commission.amount,
        deducted: commission.deducted,
        status: commission.status,
    }
}

fn outcome(effect: RefundEffect) -> RefundOutcome {
    match effect {
        RefundEffect::Applied {
            status,
            total,
            commission_id,
        } => RefundOutcome::Applied {
            status,
            deducted: total,
            commission_id,
        },
        RefundEffect::Skipped {
            reason,
            commission_id,
        } => RefundOutcome::Skipped {
            reason,
            commission_id: Some(commission_id),
        },
        RefundEffect::NoCommission => RefundOutcome::NoCommission,
    }
}

fn new_refund(
    sale_id: SaleId,
    record: &RefundRecord,
    reason: Option<&RefundReason>,
    effective_delta: Cents,
    outcome: &RefundOutcome,
) -> StorageResult<NewRefund> {
    let (channel, requested) = match &record.request {
        RefundRequest::Delta { amount, .. } => ("api", amount.map(AmountCents::get)),
        RefundRequest::ProcessorCumulative { amount, .. } => ("processor", Some(amount.get())),
    };
    let deducted = match outcome {
        RefundOutcome::Applied { deducted, .. } => *deducted,
        _ => Cents::ZERO,
    };
    Ok(NewRefund {
        event_id: record.event_id,
        sale_id,
        program_id: record.program_id,
        channel,
        refund_key: record.request.key().as_str().to_owned(),
        requested_cents: requested,
        effective_cents: effective_delta.get(),
        deducted_cents: deducted.get(),
        refund_reason: reason.map(RefundReason::to_string),
        refunded_at: record.refunded_at,
        outcome: json(outcome)?,
    })
}
