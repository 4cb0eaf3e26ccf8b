//! Refunds: what each takes from a sale's commissions, exactly once, in whatever order and by whatever channel.
//!
//! Two channels report the same money. The API sends deltas, a payment processor sends a running total. They are
//! kept apart and never added: effective = min(S, max(Σ deltas, running total)), with S the sale's amount.
//!
//! From the effective refund R follows what each commission of amount C must have lost: `proportion(C, R, S)`. A
//! refund deducts the difference to what was deducted before. So the sum depends on R alone, not on the way to it,
//! and is exactly C when R = S.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::commission::CommissionStatus;
use super::ids::CommissionId;
use super::money::{AmountCents, Cents, proportion};

/// The idempotency key of one refund within its sale.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RefundKey(String);

impl RefundKey {
    /// Of an API refund: the caller's `refund_id`, or else the amount, so that a repeat of the same amount counts
    /// as a retry. `amount: None` asks for the rest of the sale.
    pub fn for_delta(refund_id: Option<&str>, amount: Option<AmountCents>) -> Self {
        Self(match (refund_id, amount) {
            (Some(refund_id), _) => format!("id:{refund_id}"),
            (None, Some(amount)) => format!("amount:{}", amount.get()),
            (None, None) => "rest".to_owned(),
        })
    }

    /// Of a processor's report, by its reference.
    pub fn for_processor(reference: &str) -> Self {
        Self(format!("processor:{reference}"))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A refund as reported.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefundRequest {
    /// This refund's own amount; `None` is the rest of the sale.
    Delta {
        key: RefundKey,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        amount: Option<AmountCents>,
    },
    /// The total refunded so far, as the processor sees it.
    ProcessorCumulative { key: RefundKey, amount: AmountCents },
}

impl RefundRequest {
    pub const fn key(&self) -> &RefundKey {
        match self {
            Self::Delta { key, .. } | Self::ProcessorCumulative { key, .. } => key,
        }
    }
}

/// A commission of the sale.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefundableCommission {
    pub id: CommissionId,
    pub amount: Cents,
    /// By earlier refunds, before any clamping of the balance.
    pub deducted: Cents,
    pub status: CommissionStatus,
    pub paid_out: bool,
}

/// Why a refund changes nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SkipReason {
    AlreadyReversed,
    AlreadyProcessed,
}

impl SkipReason {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::AlreadyReversed => "already reversed",
            Self::AlreadyProcessed => "already processed",
        }
    }
}

/// What one refund takes from one commission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deduction {
    pub commission_id: CommissionId,
    pub requested: Cents,
    pub status_after: CommissionStatus,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RefundDecision {
    Skipped(SkipReason),
    /// The sale never earned anything; its refunds are recorded all the same.
    NoCommission,
    Applied {
        /// `refunded` or `reversed`.
        status: CommissionStatus,
        deductions: Vec<Deduction>,
        /// Sum of the deductions.
        total: Cents,
    },
}

/// The refunds of one sale so far, and its commissions in ascending order of id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SaleRefunds {
    amount: AmountCents,
    api_refunded: Cents,
    processor_refunded: Cents,
    keys: BTreeSet<String>,
    commissions: Vec<RefundableCommission>,
}

impl SaleRefunds {
    pub fn new(
        amount: AmountCents,
        api_refunded: Cents,
        processor_refunded: Cents,
        keys: impl IntoIterator<Item = String>,
        commissions: Vec<RefundableCommission>,
    ) -> Self {
        Self {
            amount,
            api_refunded,
            processor_refunded,
            keys: keys.into_iter().collect(),
            commissions,
        }
    }

    pub const fn amount(&self) -> AmountCents {
        self.amount
    }

    /// Sum of the API's deltas, at most the sale's amount.
    pub const fn api_refunded(&self) -> Cents {
        self.api_refunded
    }

    /// The processor's greatest running total, at most the sale's amount.
    pub const fn processor_refunded(&self) -> Cents {
        self.processor_refunded
    }

    pub fn commissions(&self) -> &[RefundableCommission] {
        &self.commissions
    }

    pub fn has_key(&self, key: &RefundKey) -> bool {
        self.keys.contains(key.as_str())
    }

    /// What counts as refunded.
    pub fn effective(&self) -> Cents {
        self.api_refunded
            .max(self.processor_refunded)
            .min(self.amount.into())
    }

    /// Applies one refund. A key that was used before changes nothing, nor does anything after a full refund.
    pub fn apply(&mut self, request: &RefundRequest) -> RefundDecision {
        let full = Cents::from(self.amount);
        if self.effective() == full && !self.commissions.is_empty() {
            return RefundDecision::Skipped(SkipReason::AlreadyReversed);
        }
        if self.has_key(request.key()) {
            return self.repeated();
        }
        let before = self.effective();
        self.keys.insert(request.key().as_str().to_owned());
        match request {
            RefundRequest::Delta { amount, .. } => {
                let rest = full.saturating_sub(before);
                let asked = amount.map_or(rest, Cents::from);
                // The rest is counted from the effective refund: afterwards the sale is refunded in full.
                let base = if amount.is_none() {
                    before
                } else {
                    self.api_refunded
                };
                self.api_refunded = base.saturating_add(asked).min(full);
            }
            RefundRequest::ProcessorCumulative { amount, .. } => {
                self.processor_refunded = self.processor_refunded.max(Cents::from(*amount).min(full));
            }
        }
        if self.commissions.is_empty() {
            return RefundDecision::NoCommission;
        }
        if self.effective() == before {
            // The other channel has reported this money already.
            return RefundDecision::Skipped(SkipReason::AlreadyProcessed);
        }
        self.deduct()
    }

    fn repeated(&self) -> RefundDecision {
        if self.commissions.is_empty() {
            RefundDecision::NoCommission
        } else {
            RefundDecision::Skipped(SkipReason::AlreadyProcessed)
        }
    }

    fn deduct(&mut self) -> RefundDecision {
        let refunded = self.effective();
        let (sale, fully) = (self.amount.get(), refunded == Cents::from(self.amount));
        let status = if fully {
            CommissionStatus::Reversed
        } else {
            CommissionStatus::Refunded
        };
        let mut deductions = Vec::with_capacity(self.commissions.len());
        for commission in &mut self.commissions {
            let target = proportion(commission.amount, refunded.get(), sale);
            let requested = target.saturating_sub(commission.deducted);
            commission.deducted = target;
            commission.status = commission.status.on_refund(fully).unwrap_or(commission.status);
            deductions.push(Deduction {
                commission_id: commission.id,
                requested,
                status_after: commission.status,
            });
        }
        let total = deductions.iter().fold(Cents::ZERO, |sum, deduction| {
            sum.saturating_add(deduction.requested)
        });
        RefundDecision::Applied {
            status,
            deductions,
            total,
        }
    }
}

#[cfg(test)]
mod tests;
