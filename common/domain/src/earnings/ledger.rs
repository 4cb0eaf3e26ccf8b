//! How accruals, reversals and payouts move a partner's balance.
//!
//! One row, two accounts: each movement is an entry that goes from what the program has spent to what the partner is owed, or
//! back. So none can be out of balance. Nothing is changed afterwards; a mistake is corrected by the opposite movement.

use crate::money::Cents;

crate::text_enum! {
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum EntryKind {
        Accrual = "accrual",
        Reversal = "reversal",
        Payout = "payout",
        /// The shortfall of a clamped deduction, taken once a payout has settled the debt.
        Settlement = "settlement",
        /// By hand, up or down.
        Adjustment = "adjustment",
    }
}

/// A movement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    pub kind: EntryKind,
    /// Signed: to the partner, or back to the program. The sum is the partner's balance.
    pub amount: Cents,
    /// The requested amount, without sign: |amount| + shortfall.
    pub requested: Cents,
    /// The part not moved: of a reversal the part below zero, of a payout the debt it settled.
    pub shortfall: Cents,
}

/// The result of a deduction from a balance, by a refund or a payout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deducted {
    pub requested: Cents,
    pub applied: Cents,
    pub shortfall: Cents,
}

/// Deducts from a balance: never below zero, unless the commission had been paid out. Then the partner holds the
/// money, and the balance says so.
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

/// The partner has been paid; how much of it moves, [`payout`](crate::payout) decides.
pub fn payout(paid: &Deducted) -> Entry {
    taken(EntryKind::Payout, paid)
}

/// A balance is lowered to what can still be paid of it.
pub fn settlement(settled: Cents) -> Entry {
    Entry {
        kind: EntryKind::Settlement,
        amount: settled.saturating_neg(),
        requested: settled,
        shortfall: Cents::ZERO,
    }
}

/// Something was added to a commission by hand.
pub fn raised(by: Cents) -> Entry {
    given(EntryKind::Adjustment, by)
}

/// Something was taken from a commission by hand.
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
