//! How accruals, reversals and payouts move a partner's balance.
//!
//! Double entry: each movement is a pair that sums to zero, what the partner is owed against what the program has
//! spent. Nothing is changed afterwards; a mistake is corrected by the opposite pair.

use crate::money::Cents;

crate::text_enum! {
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Account {
        /// Owed to the partner; its sum is the balance.
        Partner = "partner",
        /// Spent by the program on commissions.
        Program = "program",
    }
}

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

/// One side of a movement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    pub account: Account,
    pub kind: EntryKind,
    /// Signed; what moves the account.
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
pub fn accrual(amount: Cents) -> [Entry; 2] {
    pair(EntryKind::Accrual, amount, amount, Cents::ZERO)
}

/// A refund has taken from a commission.
pub fn reversal(deducted: &Deducted) -> [Entry; 2] {
    taken(EntryKind::Reversal, deducted)
}

/// The partner has been paid; how much of it moves, [`payout`](crate::payout) decides.
pub fn payout(paid: &Deducted) -> [Entry; 2] {
    taken(EntryKind::Payout, paid)
}

/// A balance is lowered to what can still be paid of it.
pub fn settlement(settled: Cents) -> [Entry; 2] {
    pair(
        EntryKind::Settlement,
        settled.saturating_neg(),
        settled,
        Cents::ZERO,
    )
}

/// Something was added to a commission by hand.
pub fn raised(by: Cents) -> [Entry; 2] {
    pair(EntryKind::Adjustment, by, by, Cents::ZERO)
}

/// Something was taken from a commission by hand.
pub fn lowered(deducted: &Deducted) -> [Entry; 2] {
    taken(EntryKind::Adjustment, deducted)
}

fn taken(kind: EntryKind, deducted: &Deducted) -> [Entry; 2] {
    pair(
        kind,
        deducted.applied.saturating_neg(),
        deducted.requested,
        deducted.shortfall,
    )
}

fn pair(kind: EntryKind, to_partner: Cents, requested: Cents, shortfall: Cents) -> [Entry; 2] {
    let entry = |account, amount| Entry {
        account,
        kind,
        amount,
        requested,
        shortfall,
    };
    [
        entry(Account::Partner, to_partner),
        entry(Account::Program, to_partner.saturating_neg()),
    ]
}

#[cfg(test)]
mod tests;
