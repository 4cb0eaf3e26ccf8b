//! Outbound events of the refunds of a batch.

use std::collections::{BTreeSet, HashMap};

use chrono::{DateTime, Utc};
use domain::earnings::refund::{Deduction, SaleRefunds};
use domain::ids::{CommissionId, SaleId};
use domain::money::Cents;
use domain::text::RefundReason;
use messages::outbound_event::OutboundEvent;
use messages::outbound_event::commission::{CommissionEvent, CommissionReversed};
use messages::outbound_event::refund::SaleRefunded;
use messages::refund::RefundRecord;
use sqlx::PgConnection;
use storage::outbound::outbound_commissions::{self, OutboundCommission};
use storage::outbound::outbound_sales::{self, OutboundSale};
use storage::{StorageError, StorageResult};

use crate::outbound::OutboundEvents;

/// The events in their order: each refund before its deductions.
#[derive(Debug, Default)]
pub struct OutboundRefunds {
    refunds: Vec<OutboundRefund>,
}

#[derive(Debug)]
struct OutboundRefund {
    sale_id: SaleId,
    refunded_at: DateTime<Utc>,
    reason: Option<String>,
    happened: Happened,
}

#[derive(Debug)]
enum Happened {
    Refunded {
        refunded: Cents,
        total: Cents,
    },
    Reversed {
        deduction: Deduction,
        /// Total deduction of this commission so far.
        deducted: Cents,
    },
}

impl OutboundRefunds {
    pub fn refund(
        &mut self,
        (sale_id, sale): (SaleId, &SaleRefunds),
        record: &RefundRecord,
        reason: Option<&RefundReason>,
        refunded: Cents,
    ) {
        let total = sale.effective();
        self.refunds.push(OutboundRefund {
            sale_id,
            refunded_at: record.refunded_at,
            reason: reason.map(RefundReason::to_string),
            happened: Happened::Refunded { refunded, total },
        });
    }

    /// Adds the deductions of a refund from the sale's commissions, after it was applied.
    pub fn reversals(
        &mut self,
        (sale_id, sale): (SaleId, &SaleRefunds),
        record: &RefundRecord,
        reason: Option<&RefundReason>,
        deductions: &[Deduction],
    ) {
        let taken = deductions.iter().filter(|one| one.requested > Cents::ZERO);
        self.refunds.extend(taken.map(|deduction| {
            let of_sale = sale.commissions().iter();
            let mut commission = of_sale.filter(|commission| commission.id == deduction.commission_id);
            OutboundRefund {
                sale_id,
                refunded_at: record.refunded_at,
                reason: reason.map(RefundReason::to_string),
                happened: Happened::Reversed {
                    deduction: *deduction,
                    deducted: commission
                        .next()
                        .map_or(deduction.requested, |commission| commission.deducted),
                },
            }
        }));
    }

    /// Reads the other facts of these sales and commissions, and adds the events.
    pub async fn add_events(
        self,
        connection: &mut PgConnection,
        events: &mut OutboundEvents<'_>,
    ) -> StorageResult<()> {
        let (mut sales, mut commissions) = (BTreeSet::new(), Vec::new());
        for refund in &self.refunds {
            match &refund.happened {
                Happened::Refunded { .. } => {
                    sales.insert(refund.sale_id.get());
                }
                Happened::Reversed { deduction, .. } => commissions.push(deduction.commission_id.get()),
            }
        }
        let sales: Vec<i64> = sales.into_iter().collect();
        let sales = outbound_sales::find(connection, &sales).await?;
        let commissions: HashMap<CommissionId, OutboundCommission> =
            outbound_commissions::find(connection, &commissions)
                .await?
                .into_iter()
                .map(|found| (CommissionId::new(found.commission.commission_id), found))
                .collect();
        for refund in self.refunds {
            refund.add_events(&sales, &commissions, events)?;
        }
        Ok(())
    }
}

impl OutboundRefund {
    fn add_events(
        self,
        sales: &HashMap<SaleId, OutboundSale>,
        commissions: &HashMap<CommissionId, OutboundCommission>,
        events: &mut OutboundEvents<'_>,
    ) -> StorageResult<()> {
        let (customer_id, event) = match self.happened {
            Happened::Refunded { refunded, total } => {
                let sale = sales
                    .get(&self.sale_id)
                    .ok_or_else(|| StorageError::corrupt("sale_events", "id", self.sale_id.get()))?;
                let refunded = SaleRefunded {
                    program_id: sale.program_id,
                    sale_id: self.sale_id.get(),
                    transaction_id: sale.transaction_id.clone(),
                    customer_key: sale.customer_key.clone(),
                    click_id: sale.click_id.clone(),
                    refunded_cents: refunded.get(),
                    total_refunded_cents: total.get(),
                    amount_cents: sale.amount_cents,
                    currency: sale.currency.clone(),
                    refund_reason: self.reason,
                };
                (sale.customer_id, OutboundEvent::SaleRefunded(refunded))
            }
            Happened::Reversed { deduction, deducted } => {
                let id = deduction.commission_id;
                let found = commissions
                    .get(&id)
                    .ok_or_else(|| StorageError::corrupt("commissions", "id", id.get()))?;
                let reversed = CommissionReversed {
                    commission: CommissionEvent {
                        deducted_cents: deducted.get(),
                        status: deduction.status_after.as_str().to_owned(),
                        ..found.commission.clone()
                    },
                    reversed_cents: deduction.requested.get(),
                    reason: self.reason,
                };
                (found.customer_id, OutboundEvent::CommissionReversed(reversed))
            }
        };
        events.add(customer_id, self.refunded_at, &event)
    }
}
