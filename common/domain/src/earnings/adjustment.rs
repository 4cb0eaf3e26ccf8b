//! Commissions changed by hand: rejected, or adjusted by an amount.
//!
//! A reduction of an unpaid commission is deducted from the balance like a refund, to zero at most. The
//! partner owes back a reduction of a paid commission, as with a refund of one. A paid commission cannot
//! grow: the addition would never be paid. A later refund takes its share of the changed commission.

use crate::earnings::commission::CommissionStatus;
use crate::earnings::ledger::{self, Entry, deduct};
use crate::earnings::payout::CommissionState;
use crate::money::{AmountCents, Cents};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// Takes everything that is left.
    Reject,
    /// A negative amount reduces the commission.
    By(Cents),
}

/// Why a commission cannot be changed. Displayed to the advertiser.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotAdjustable {
    #[error("reversed")]
    Reversed,
    #[error("already paid")]
    AlreadyPaid,
    #[error("less than that is left")]
    LessIsLeft,
    #[error("more than a commission can be")]
    TooMuch,
}

/// A commission after a change, and the resulting ledger entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Adjusted {
    /// Growth of the commission; negative if it shrank.
    pub by: Cents,
    pub status: CommissionStatus,
    pub entry: Entry,
}

impl Adjusted {
    /// Change of the partner's balance.
    pub const fn moved(&self) -> Cents {
        self.entry.amount
    }
}

/// Changes a commission. `balance` is its partner's.
pub fn adjust(state: &CommissionState, change: Change, balance: Cents) -> Result<Adjusted, NotAdjustable> {
    if state.status == CommissionStatus::Reversed {
        return Err(NotAdjustable::Reversed);
    }
    let (by, status) = match change {
        Change::Reject => (state.left().saturating_neg(), CommissionStatus::Reversed),
        Change::By(cents) => (cents, state.status),
    };
    let entry = if by > Cents::ZERO {
        raise(state, by)?
    } else {
        lower(state, by.saturating_neg(), balance)?
    };
    Ok(Adjusted { by, status, entry })
}

fn raise(state: &CommissionState, by: Cents) -> Result<Entry, NotAdjustable> {
    if state.paid_out {
        return Err(NotAdjustable::AlreadyPaid);
    }
    if state.amount.saturating_add(by) > Cents::from(AmountCents::MAX) {
        return Err(NotAdjustable::TooMuch);
    }
    Ok(ledger::raised(by))
}

fn lower(state: &CommissionState, by: Cents, balance: Cents) -> Result<Entry, NotAdjustable> {
    if by > state.left() {
        return Err(NotAdjustable::LessIsLeft);
    }
    Ok(ledger::lowered(&deduct(balance, by, state.paid_out)))
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;
    use proptest::prelude::*;

    use super::*;

    fn state(amount: i64, deducted: i64, paid_out: bool) -> CommissionState {
        CommissionState {
            amount: Cents::new(amount),
            deducted: Cents::new(deducted),
            status: if paid_out {
                CommissionStatus::Paid
            } else {
                CommissionStatus::Pending
            },
            hold_until: DateTime::UNIX_EPOCH,
            needs_approval: false,
            approved: paid_out,
            paid_out,
        }
    }

    #[test]
    fn a_rejection_takes_what_is_left_and_what_was_paid_is_owed_back() {
        let unpaid = adjust(&state(1000, 300, false), Change::Reject, Cents::new(500)).unwrap();
        assert_eq!((unpaid.by, unpaid.moved()), (Cents::new(-700), Cents::new(-500)));
        assert_eq!(unpaid.status, CommissionStatus::Reversed);
        let paid = adjust(&state(1000, 300, true), Change::Reject, Cents::ZERO).unwrap();
        assert_eq!(paid.moved(), Cents::new(-700));
        let reversed = CommissionState {
            status: CommissionStatus::Reversed,
            ..state(1000, 1000, false)
        };
        assert_eq!(
            adjust(&reversed, Change::Reject, Cents::ZERO),
            Err(NotAdjustable::Reversed)
        );
    }

    #[test]
    fn nothing_is_added_to_what_is_paid_and_no_more_taken_than_is_left() {
        for (state, by, refusal) in [
            (state(1000, 0, true), 1, NotAdjustable::AlreadyPaid),
            (state(1000, 300, false), -701, NotAdjustable::LessIsLeft),
            (
                state(1000, 0, false),
                AmountCents::MAX.get(),
                NotAdjustable::TooMuch,
            ),
        ] {
            let change = Change::By(Cents::new(by));
            assert_eq!(adjust(&state, change, Cents::ZERO), Err(refusal));
        }
    }

    proptest! {
        #[test]
        fn a_change_leaves_nothing_below_zero_and_its_entry_says_what_was_requested(
            amount in 0..10_000i64, taken in 0..=100i64, by in -10_000..10_000i64, balance in 0..20_000i64, paid in any::<bool>()
        ) {
            let state = state(amount, amount * taken / 100, paid);
            if let Ok(adjusted) = adjust(&state, Change::By(Cents::new(by)), Cents::new(balance)) {
                prop_assert!(state.left().saturating_add(adjusted.by) >= Cents::ZERO);
                let entry = adjusted.entry;
                prop_assert_eq!(entry.requested.get(), entry.amount.get().abs() + entry.shortfall.get());
                prop_assert!(entry.amount == Cents::ZERO || entry.amount.get().signum() == by.signum());
                prop_assert!(paid || balance + adjusted.moved().get() >= 0);
                prop_assert_eq!(entry.requested, Cents::new(by.abs()));
            }
        }
    }
}
