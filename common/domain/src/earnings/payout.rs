//! The payable part of a commission, and the amount a payout moves.
//!
//! A partner may owe: a refund after a payout takes back what they were paid. Debts are settled first, so a payout moves
//! what it pays less what is owed. What is owed is what was taken from commissions after they had been paid, less what
//! payouts have held back for it. The balance cannot say it: held commissions raise it, and refunds of unpaid
//! commissions take it to zero at most.
//!
//! ```text
//! debt    = Σ taken from paid commissions − Σ held back
//! applied = payable − min(payable, debt)
//! ```
//!
//! A commission counts as paid in full either way: with money, or with debt it settled (the entry's shortfall). Once it is
//! paid, the balance may be more than what is left of unpaid commissions, by what clamping kept of earlier refunds. That
//! part is taken then, as a settlement, so that the balance is never more than what can still be paid.
//!
//! At any moment, money received = what is left of the paid commissions + debt.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use crate::earnings::commission::{CommissionStatus, TransitionError};
use crate::earnings::ledger::Deducted;
use crate::ids::PartnerProgramId;
use crate::money::Cents;

/// A commission as far as paying it goes.
#[derive(Debug, Clone, Copy)]
pub struct CommissionState {
    pub amount: Cents,
    /// Deducted by refunds so far.
    pub deducted: Cents,
    pub status: CommissionStatus,
    pub hold_until: DateTime<Utc>,
    /// Its program wants it approved by hand; the end of the hold period does not do it.
    pub needs_approval: bool,
    /// By the hold period's end or by the advertiser's word; a refund does not take it back.
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
    /// Refunded in part before its hold period is over.
    #[error("on hold")]
    OnHold,
    /// Refunded in part, and not approved by hand as its program wants it.
    #[error("needs approval")]
    NeedsApproval,
    #[error("reversed")]
    Reversed,
    #[error("nothing left")]
    NothingLeft,
}

impl CommissionState {
    /// The rest after refunds.
    pub const fn left(&self) -> Cents {
        self.amount.saturating_sub(self.deducted)
    }

    /// By the advertiser's word, before the hold period is over: what is pending, and what a refund has left of it.
    pub fn approve_early(&self) -> Result<CommissionStatus, TransitionError> {
        match self.status {
            CommissionStatus::Refunded if !self.approved && !self.paid_out && self.left() > Cents::ZERO => {
                Ok(CommissionStatus::Refunded)
            }
            status => status.approve_early(),
        }
    }

    /// Whether it can be held for longer: what is neither approved, paid nor taken back.
    pub fn hold(&self) -> Result<(), TransitionError> {
        let held = TransitionError::NotFrom {
            from: self.status,
            attempted: "held",
        };
        self.approve_early().map(|_| ()).map_err(|_| held)
    }

    /// The part payable now. An approved commission of zero is paid like any other, to end its lifecycle.
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

/// Pays a partner who owes.
pub fn pay(payable: Cents, debt: Cents) -> Deducted {
    let shortfall = payable.min(debt);
    Deducted {
        requested: payable,
        applied: payable.saturating_sub(shortfall),
        shortfall,
    }
}

/// Where a membership is in one currency, as its payouts see it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Account {
    pub balance: Cents,
    /// The rest of its unpaid commissions.
    pub unpaid: Cents,
    pub debt: Cents,
}

/// The effect of paying a commission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Paid {
    pub deducted: Deducted,
    /// Also deducted from the balance: the shortfall of an earlier refund.
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

/// One commission of a batch.
#[derive(Debug, Clone, Copy)]
pub struct Payable {
    pub partner_program_id: PartnerProgramId,
    pub amount: Cents,
}

/// Pays a batch of one currency; one answer for each, in its order. Each payment settles what those before it have left of
/// a debt.
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
