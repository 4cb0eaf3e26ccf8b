//! How refunds reverse a sale's commissions: each cent once, in any order, over repeats and both channels.
//!
//! Refunds of one sale arrive on two channels that know nothing of each other. The refund endpoint reports
//! **deltas**: this refund's amount. The payment processor reports **cumulative** totals: all that was
//! refunded so far. The same refund usually arrives on both, so the channels are never added:
//!
//! ```text
//! effective = min(sale, max(Σ deltas, greatest cumulative))
//! ```
//!
//! [`SaleRefunds::apply`] has three phases. *Judge*: is there anything left to refund, and is this request
//! new? *Record*: move its channel's total. *Deduct*: from each commission C of a sale S, take
//! `proportion(C, effective, S)` less what was deducted before. Targets depend on the total alone, so the
//! deductions add up to C exactly when the sale is wholly refunded, and rounding never accumulates.
//!
//! Bounds: both totals stay within 0..=S, deductions within 0..=C, and all three only grow.
//! Ordering: none is needed between refunds, but two for one sale must not run at once; the caller locks the
//! sale, then its commissions by id, then the balances.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::earnings::commission::CommissionStatus;
use crate::ids::CommissionId;
use crate::money::{AmountCents, Cents, proportion};

mod key;

pub use key::{MalformedRefundKey, RefundKey};

/// One report of a refund.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefundRequest {
    /// From the refund endpoint: this refund alone. `None` is the rest of the sale.
    Delta {
        key: RefundKey,
        amount: Option<AmountCents>,
    },
    /// From the processor: everything refunded so far.
    ProcessorCumulative { key: RefundKey, amount: AmountCents },
}

impl RefundRequest {
    pub const fn key(&self) -> &RefundKey {
        match self {
            Self::Delta { key, .. } | Self::ProcessorCumulative { key, .. } => key,
        }
    }
}

/// A commission of the sale, as far as refunds care.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RefundableCommission {
    pub id: CommissionId,
    /// The amount before any deduction.
    pub amount: Cents,
    /// Σ of deductions requested so far, before the clamp of the balance.
    pub deducted: Cents,
    pub status: CommissionStatus,
}

/// Everything known about the refunds of one sale.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SaleRefunds {
    amount: AmountCents,
    api_refunded: Cents,
    processor_refunded: Cents,
    keys: BTreeSet<String>,
    commissions: Vec<RefundableCommission>,
}

/// Everything that follows from one report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefundDecision {
    /// The first report under its key: a refund is stored.
    pub recorded: bool,
    /// By how much the effective total grew.
    pub effective_delta: Cents,
    pub effect: RefundEffect,
    /// One for each commission, ascending by id; the amount may be zero. None unless the refund is applied.
    pub deductions: Vec<Deduction>,
}

/// The effect of a refund on the sale's commissions. The `commission_id` is the last one's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefundEffect {
    Applied {
        /// `Reversed` once the sale is wholly refunded, `Refunded` before.
        status: CommissionStatus,
        /// Σ requested, before the clamp of the balance.
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

/// The deduction from one commission.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Deduction {
    pub commission_id: CommissionId,
    pub requested: Cents,
    pub status_after: CommissionStatus,
}

crate::text_enum! {
    /// Why a refund changed nothing.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum SkipReason {
        /// Nothing of the sale is left to refund.
        AlreadyReversed = "already reversed",
        /// A repeat, or what the other channel had reported before.
        AlreadyProcessed = "already processed",
    }
}

impl SaleRefunds {
    /// The stored state. `api_refunded` is the sum of deltas as they were recorded, `processor_refunded` the
    /// greatest cumulative total, `keys` the canonical texts of the refunds recorded.
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

    /// A sale nothing of which was refunded yet.
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

    /// Ascending by id.
    pub fn commissions(&self) -> &[RefundableCommission] {
        &self.commissions
    }

    /// The refunded part of the sale, in 0..=sale amount.
    pub fn effective(&self) -> Cents {
        self.api_refunded
            .max(self.processor_refunded)
            .min(self.amount.into())
    }

    /// Applies one report, and returns all that follows from it. Repeating a report changes nothing.
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

    /// Whether the report's key is new.
    fn record_if_new(&mut self, request: &RefundRequest) -> bool {
        if self.is_repeat(request) {
            return false;
        }
        self.record_amount(request);
        self.keys.insert(request.key().as_str().to_owned())
    }

    /// A delta is known by its key. A cumulative total is known by not exceeding the greatest one: its
    /// reference may be a charge, which reports growing totals under one name.
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
            // Not the rest beyond the processor's total: the channels are not added, so this one alone must
            // say it all.
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
    /// Raises what was deducted to `target`; never lowers it, so that a row out of step pays nothing back.
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
