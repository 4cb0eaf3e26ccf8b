//! How accruals, reversals and payouts move a partner's balance.
//!
//! A movement is one entry between two accounts: the program's spending and the partner's balance. So the
//! books always balance. Entries never change; an opposite entry corrects a mistake.

use crate::money::Cents;

crate::text_enum! {
    pub enum EntryKind {
        Accrual = "accrual",
        Reversal = "reversal",
        Payout = "payout",
        /// The part of an earlier deduction that the balance could not cover. A payout deducts it once it has
        /// settled the debt.
        Settlement = "settlement",
        /// A change by hand, up or down.
        Adjustment = "adjustment",
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    pub kind: EntryKind,
    /// Positive to the partner, negative back to the program. A partner's entries add up to the balance.
    pub amount: Cents,
    /// The requested amount, without a sign: |amount| + shortfall.
    pub requested: Cents,
    /// The part that did not move: in a reversal, the part below zero; in a payout, the settled debt.
    pub shortfall: Cents,
}

/// The result of a deduction from a balance, by a refund or a payout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deducted {
    pub requested: Cents,
    pub applied: Cents,
    pub shortfall: Cents,
}

/// Deducts from a balance, to zero at most. If the commission was paid out, the balance may become negative,
/// because the partner holds the money.
pub fn deduct(balance: Cents, requested: Cents, paid_out: bool) -> Deducted {
    let applied = if paid_out {
        requested
    } else {
        requested.min(balance.max(Cents::ZERO))
    };
    Deducted {
        requested,
        applied,
        shortfall: requested.saturating_sub(applied),
    }
}

/// The partner has earned a commission.
pub fn accrual(amount: Cents) -> Entry {
    given(EntryKind::Accrual, amount)
}

/// A refund has taken from a commission.
pub fn reversal(deducted: &Deducted) -> Entry {
    taken(EntryKind::Reversal, deducted)
}

/// The partner was paid. [`payout`](crate::earnings::payout) decides how much of the payment moves the balance.
pub fn payout(paid: &Deducted) -> Entry {
    taken(EntryKind::Payout, paid)
}

/// Lowers a balance to the amount that can still be paid.
pub fn settlement(settled: Cents) -> Entry {
    Entry {
        kind: EntryKind::Settlement,
        amount: settled.saturating_neg(),
        requested: settled,
        shortfall: Cents::ZERO,
    }
}

pub fn raised(by: Cents) -> Entry {
    given(EntryKind::Adjustment, by)
}

pub fn lowered(deducted: &Deducted) -> Entry {
    taken(EntryKind::Adjustment, deducted)
}

fn given(kind: EntryKind, amount: Cents) -> Entry {
    Entry {
        kind,
        amount,
        requested: amount,
        shortfall: Cents::ZERO,
    }
}

fn taken(kind: EntryKind, deducted: &Deducted) -> Entry {
    Entry {
        kind,
        amount: deducted.applied.saturating_neg(),
        requested: deducted.requested,
        shortfall: deducted.shortfall,
    }
}

#[cfg(test)]
mod tests;
