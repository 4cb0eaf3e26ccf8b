//! How refunds reverse a sale's commissions: each cent once, in any order, despite repeats and two channels.
//!
//! Refunds of one sale arrive on two independent channels. The refund endpoint reports **deltas**: the amount
//! of one refund. The payment processor reports **cumulative** totals: the sum of all refunds so far. Most
//! refunds arrive on both channels, so the totals of the channels are never added:
//!
//! ```text
//! effective = min(sale, max(Σ deltas, greatest cumulative))
//! ```
//!
//! [`SaleRefunds::apply`] has three phases. *Check*: does the sale have anything left to refund, and is this
//! request new? *Record*: raise the total of the request's channel. *Deduct*: from each commission C of a
//! sale S, take `proportion(C, effective, S)` less the earlier deductions. The targets depend on the
//! effective total alone. So the deductions add up to exactly C when the sale is refunded in full, and
//! rounding errors never accumulate.
//!
//! Bounds: both totals stay within 0..=S and deductions within 0..=C. All three only grow. Ordering: refunds
//! may come in any order, but two refunds of one sale must not run concurrently. The caller locks the sale,
//! then its commissions by id, then the balances.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::earnings::commission::CommissionStatus;
use crate::ids::CommissionId;
use crate::money::{AmountCents, Cents, proportion};

mod key;

pub use key::{MalformedRefundKey, RefundKey};

#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefundRequest {
    /// From the refund endpoint: the amount of this refund. `None` means the rest of the sale.
    Delta {
        key: RefundKey,
        amount: Option<AmountCents>,
    },
    /// From the processor: the total refunded so far.
    ProcessorCumulative { key: RefundKey, amount: AmountCents },
}

impl RefundRequest {
    pub const fn key(&self) -> &RefundKey {
        match self {
            Self::Delta { key, .. } | Self::ProcessorCumulative { key, .. } => key,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RefundableCommission {
    pub id: CommissionId,
    /// The amount before any deduction.
    pub amount: Cents,
    /// Sum of the deductions requested so far, before the balance limits them.
    pub deducted: Cents,
    pub status: CommissionStatus,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SaleRefunds {
    amount: AmountCents,
    api_refunded: Cents,
    processor_refunded: Cents,
    keys: BTreeSet<String>,
    commissions: Vec<RefundableCommission>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefundDecision {
    /// The report is the first with its key, so a refund is stored.
    pub recorded: bool,
    /// Growth of the effective total.
    pub effective_delta: Cents,
    pub effect: RefundEffect,
    /// One for each commission, by ascending id; an amount may be zero. Empty unless the refund is applied.
    pub deductions: Vec<Deduction>,
}

/// The effect of a refund on the sale's commissions. `commission_id` names the last commission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefundEffect {
    Applied {
        /// `Reversed` once the sale is refunded in full, `Refunded` before that.
        status: CommissionStatus,
        /// Sum of the requested deductions, before the balance limits them.
        total: Cents,
        commission_id: CommissionId,
    },
    Skipped {
        reason: SkipReason,
        commission_id: CommissionId,
    },
    /// The sale earned no commission; the refund is recorded all the same.
    NoCommission,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Deduction {
    pub commission_id: CommissionId,
    pub requested: Cents,
    pub status_after: CommissionStatus,
}

crate::text_enum! {
    /// Why a refund changed nothing.
    #[derive(Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum SkipReason {
        /// The sale has nothing left to refund.
        AlreadyReversed = "already reversed",
        /// A repeat, or a refund that the other channel has already reported.
        AlreadyProcessed = "already processed",
    }
}

impl SaleRefunds {
    /// The stored state. `api_refunded` is the sum of the recorded deltas. `processor_refunded` is the
    /// greatest cumulative total. `keys` holds the canonical texts of the recorded refunds.
    pub fn new(
        amount: AmountCents,
        api_refunded: Cents,
        processor_refunded: Cents,
        keys: impl IntoIterator<Item = String>,
        mut commissions: Vec<RefundableCommission>,
    ) -> Self {
        commissions.sort_unstable_by_key(|commission| commission.id);
        Self {
            amount,
            api_refunded,
            processor_refunded,
            keys: keys.into_iter().collect(),
            commissions,
        }
    }

    pub fn none(amount: AmountCents, commissions: Vec<RefundableCommission>) -> Self {
        Self::new(amount, Cents::ZERO, Cents::ZERO, [], commissions)
    }

    pub const fn amount(&self) -> AmountCents {
        self.amount
    }

    pub const fn api_refunded(&self) -> Cents {
        self.api_refunded
    }

    pub const fn processor_refunded(&self) -> Cents {
        self.processor_refunded
    }

    /// The commissions, by ascending id.
    pub fn commissions(&self) -> &[RefundableCommission] {
        &self.commissions
    }

    /// The refunded part of the sale, within 0..=sale amount.
    pub fn effective(&self) -> Cents {
        self.api_refunded
            .max(self.processor_refunded)
            .min(self.amount.into())
    }

    /// Applies one report and returns all its effects. A repeated report changes nothing.
    pub fn apply(&mut self, request: &RefundRequest) -> RefundDecision {
        let was_wholly_refunded = self.is_wholly_refunded();
        let before = self.effective();
        let last = self.commissions.last().map(|commission| commission.id);
        let recorded = (last.is_none() || !was_wholly_refunded) && self.record_if_new(request);
        let effective_delta = self.effective().saturating_sub(before);
        let (effect, deductions) = match last {
            None => (RefundEffect::NoCommission, Vec::new()),
            Some(commission_id) if effective_delta == Cents::ZERO => {
                let reason = if was_wholly_refunded {
                    SkipReason::AlreadyReversed
                } else {
                    SkipReason::AlreadyProcessed
                };
                (
                    RefundEffect::Skipped {
                        reason,
                        commission_id,
                    },
                    Vec::new(),
                )
            }
            Some(commission_id) => self.deduct(commission_id),
        };
        RefundDecision {
            recorded,
            effective_delta,
            effect,
            deductions,
        }
    }

    fn is_wholly_refunded(&self) -> bool {
        self.effective() == Cents::from(self.amount)
    }

    /// Records the report unless it is a repeat. Returns whether it was new.
    fn record_if_new(&mut self, request: &RefundRequest) -> bool {
        if self.is_repeat(request) {
            return false;
        }
        self.record_amount(request);
        self.keys.insert(request.key().as_str().to_owned())
    }

    /// A delta is a repeat if its key is known. A cumulative total is a repeat if it does not exceed the
    /// greatest one: its reference may be a charge, which reports growing totals under the same key.
    fn is_repeat(&self, request: &RefundRequest) -> bool {
        match request {
            RefundRequest::Delta { key, .. } => self.keys.contains(key.as_str()),
            RefundRequest::ProcessorCumulative { amount, .. } => {
                Cents::from(*amount) <= self.processor_refunded
            }
        }
    }

    fn record_amount(&mut self, request: &RefundRequest) {
        let sale = Cents::from(self.amount);
        match request {
            RefundRequest::Delta {
                amount: Some(amount), ..
            } => {
                self.api_refunded = self.api_refunded.saturating_add((*amount).into()).min(sale);
            }
            // The whole sale, not the rest beyond the processor's total: the channels are not added, so this
            // channel's total alone must cover the sale.
            RefundRequest::Delta { amount: None, .. } => self.api_refunded = sale,
            RefundRequest::ProcessorCumulative { amount, .. } => {
                self.processor_refunded = Cents::from(*amount).min(sale);
            }
        }
    }

    fn deduct(&mut self, commission_id: CommissionId) -> (RefundEffect, Vec<Deduction>) {
        let (sale, effective, fully) = (
            self.amount.get(),
            self.effective().get(),
            self.is_wholly_refunded(),
        );
        let deductions: Vec<_> = self
            .commissions
            .iter_mut()
            .map(|commission| commission.reduce_to(proportion(commission.amount, effective, sale), fully))
            .collect();
        let applied = RefundEffect::Applied {
            status: if fully {
                CommissionStatus::Reversed
            } else {
                CommissionStatus::Refunded
            },
            total: deductions.iter().fold(Cents::ZERO, |total, deduction| {
                total.saturating_add(deduction.requested)
            }),
            commission_id,
        };
        (applied, deductions)
    }
}

impl RefundableCommission {
    /// Raises the deducted amount to `target`, never lowers it: an inconsistent row pays nothing back.
    fn reduce_to(&mut self, target: Cents, fully: bool) -> Deduction {
        let requested = target.saturating_sub(self.deducted).max(Cents::ZERO);
        self.deducted = self.deducted.saturating_add(requested);
        self.status = self.status.on_refund(fully).unwrap_or(self.status);
        Deduction {
            commission_id: self.id,
            requested,
            status_after: self.status,
        }
    }
}

#[cfg(test)]
mod tests;
