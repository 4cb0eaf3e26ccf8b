//! What of a commission can be paid out, and how much of it a payout moves.
//!
//! A partner may owe: a refund after a payout takes back what they were paid. Debts are settled first, so a payout moves
//! what it pays less what is owed. What is owed is what the balance lacks of everything that was earned and not yet paid,
//! held commissions included: those never advance a debt, because a refund may still undo them.
//!
//! ```text
//! debt    = max(unpaid − balance, 0)
//! applied = payable − min(payable, debt)
//! ```
//!
//! A commission counts as paid in full either way: with money, or with debt it settled (the entry's shortfall).

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use super::commission::CommissionStatus;
use super::ids::PartnerProgramId;
use super::ledger::Deducted;
use super::money::Cents;

/// A commission as far as paying it goes.
#[derive(Debug, Clone, Copy)]
pub struct CommissionState {
    pub amount: Cents,
    /// What refunds have taken so far.
    pub deducted: Cents,
    pub status: CommissionStatus,
    pub hold_until: DateTime<Utc>,
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
    #[error("reversed")]
    Reversed,
    #[error("nothing left")]
    NothingLeft,
}

impl CommissionState {
    /// What refunds have left of it.
    pub const fn left(&self) -> Cents {
        self.amount.saturating_sub(self.deducted)
    }

    /// What can be paid of it now. An approved commission of nothing is paid like any other, so that its life ends.
    pub fn payable(&self, now: DateTime<Utc>) -> Result<Cents, NotPayable> {
        if self.paid_out {
            return Err(NotPayable::AlreadyPaid);
        }
        match self.status {
            CommissionStatus::Pending => Err(NotPayable::Pending),
            CommissionStatus::Reversed => Err(NotPayable::Reversed),
            CommissionStatus::Refunded if self.left() <= Cents::ZERO => Err(NotPayable::NothingLeft),
            CommissionStatus::Refunded if !self.approved && now < self.hold_until => Err(NotPayable::OnHold),
            CommissionStatus::Approved | CommissionStatus::Refunded => Ok(self.left()),
            CommissionStatus::Paid => Err(NotPayable::AlreadyPaid),
        }
    }
}

/// What a membership owes. `unpaid` is what is left of all its commissions that are not paid.
pub fn debt(balance: Cents, unpaid: Cents) -> Cents {
    unpaid.saturating_sub(balance).max(Cents::ZERO)
}

/// Pays to somebody who owes.
pub fn pay(payable: Cents, debt: Cents) -> Deducted {
    let shortfall = payable.min(debt);
    Deducted {
        requested: payable,
        applied: payable.saturating_sub(shortfall),
        shortfall,
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
pub fn pay_all(batch: &[Payable], mut debts: BTreeMap<PartnerProgramId, Cents>) -> Vec<Deducted> {
    batch
        .iter()
        .map(|payable| {
            let debt = debts.entry(payable.partner_program_id).or_default();
            let paid = pay(payable.amount, *debt);
            *debt = debt.saturating_sub(paid.shortfall);
            paid
        })
        .collect()
}

#[cfg(test)]
mod tests;
