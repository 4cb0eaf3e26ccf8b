//! The payable part of a commission, and the amount a payout moves.
//!
//! A partner may have a debt, because a refund after a payout takes back paid money. A payout settles the
//! debt first, so it moves the payable amount less the debt. The debt is the sum of deductions from paid
//! commissions, less the sum that payouts held back. It cannot be read from the balance: commissions
//! on hold raise the balance, and refunds of unpaid commissions cannot lower it below zero.
//!
//! ```text
//! debt    = Σ taken from paid commissions − Σ held back
//! applied = payable − min(payable, debt)
//! ```
//!
//! A payout pays a commission in full: with money, or by settling debt (the entry's shortfall). After the
//! payout, the balance may exceed what is left of the unpaid commissions, because earlier refunds stopped at
//! zero. A settlement entry then deducts the excess. So the balance never exceeds what can still be paid.
//!
//! At any moment: money received = what is left of the paid commissions + debt.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use crate::earnings::commission::{CommissionStatus, TransitionError};
use crate::earnings::ledger::Deducted;
use crate::ids::PartnerProgramId;
use crate::money::Cents;

#[derive(Debug, Clone, Copy)]
pub struct CommissionState {
    pub amount: Cents,
    /// Deducted by refunds so far.
    pub deducted: Cents,
    pub status: CommissionStatus,
    pub hold_until: DateTime<Utc>,
    /// The program requires approval by hand. The end of the hold period does not approve the commission.
    pub needs_approval: bool,
    /// Approved by the end of the hold period or by the advertiser. A refund does not undo the approval.
    pub approved: bool,
    pub paid_out: bool,
}

/// Why a commission cannot be paid. Displayed to the advertiser.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotPayable {
    #[error("already paid")]
    AlreadyPaid,
    #[error("pending")]
    Pending,
    /// The commission was refunded in part, and its hold period is not over.
    #[error("on hold")]
    OnHold,
    /// The commission was refunded in part, and its program requires approval by hand.
    #[error("needs approval")]
    NeedsApproval,
    #[error("reversed")]
    Reversed,
    #[error("nothing left")]
    NothingLeft,
}

impl CommissionState {
    pub const fn left(&self) -> Cents {
        self.amount.saturating_sub(self.deducted)
    }

    /// Approval by the advertiser before the end of the hold period. It applies to pending commissions and to
    /// the rest of refunded ones.
    pub fn approve_early(&self) -> Result<CommissionStatus, TransitionError> {
        match self.status {
            CommissionStatus::Refunded if !self.approved && !self.paid_out && self.left() > Cents::ZERO => {
                Ok(CommissionStatus::Refunded)
            }
            status => status.approve_early(),
        }
    }

    /// Whether the hold period can be extended: the commission must not be approved, paid or taken back.
    pub fn hold(&self) -> Result<(), TransitionError> {
        let held = TransitionError::NotFrom {
            from: self.status,
            attempted: "held",
        };
        self.approve_early().map(|_| ()).map_err(|_| held)
    }

    /// The amount payable now. An approved commission of zero is payable too, so that its lifecycle ends.
    pub fn payable(&self, now: DateTime<Utc>) -> Result<Cents, NotPayable> {
        if self.paid_out {
            return Err(NotPayable::AlreadyPaid);
        }
        match self.status {
            CommissionStatus::Pending => Err(NotPayable::Pending),
            CommissionStatus::Reversed => Err(NotPayable::Reversed),
            CommissionStatus::Refunded if self.left() <= Cents::ZERO => Err(NotPayable::NothingLeft),
            CommissionStatus::Refunded if !self.approved && now < self.hold_until => Err(NotPayable::OnHold),
            CommissionStatus::Refunded if !self.approved && self.needs_approval => {
                Err(NotPayable::NeedsApproval)
            }
            CommissionStatus::Approved | CommissionStatus::Refunded => Ok(self.left()),
            CommissionStatus::Paid => Err(NotPayable::AlreadyPaid),
        }
    }
}

/// Pays a partner. The debt is settled first.
pub fn pay(payable: Cents, debt: Cents) -> Deducted {
    let shortfall = payable.min(debt);
    Deducted {
        requested: payable,
        applied: payable.saturating_sub(shortfall),
        shortfall,
    }
}

/// The amounts of one membership in one currency that its payouts depend on.
#[derive(Debug, Clone, Copy, Default)]
pub struct Account {
    pub balance: Cents,
    /// The rest of its unpaid commissions.
    pub unpaid: Cents,
    pub debt: Cents,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Paid {
    pub deducted: Deducted,
    /// A further deduction from the balance: the shortfall of an earlier refund.
    pub settled: Cents,
}

impl Account {
    pub fn pay(&mut self, payable: Cents) -> Paid {
        let deducted = pay(payable, self.debt);
        self.balance = self.balance.saturating_sub(deducted.applied);
        self.unpaid = self.unpaid.saturating_sub(payable);
        self.debt = self.debt.saturating_sub(deducted.shortfall);
        let settled = self.balance.saturating_sub(self.unpaid).max(Cents::ZERO);
        self.balance = self.balance.saturating_sub(settled);
        Paid { deducted, settled }
    }
}

#[derive(Debug, Clone, Copy)]
pub struct Payable {
    pub partner_program_id: PartnerProgramId,
    pub amount: Cents,
}

/// Pays a batch of one currency, in its order. Each payment settles the debt left by those before it.
pub fn pay_all(batch: &[Payable], mut accounts: BTreeMap<PartnerProgramId, Account>) -> Vec<Paid> {
    batch
        .iter()
        .map(|payable| {
            let account = accounts.entry(payable.partner_program_id).or_default();
            account.pay(payable.amount)
        })
        .collect()
}

#[cfg(test)]
mod tests;
