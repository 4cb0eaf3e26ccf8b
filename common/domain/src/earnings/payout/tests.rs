use chrono::TimeDelta;
use proptest::prelude::*;

use super::*;
use crate::earnings::ledger::deduct;

fn state(status: CommissionStatus) -> CommissionState {
    CommissionState {
        amount: Cents::new(1000),
        deducted: Cents::ZERO,
        status,
        hold_until: DateTime::UNIX_EPOCH,
        needs_approval: false,
        approved: false,
        paid_out: false,
    }
}

#[test]
fn what_waits_can_be_held_and_nothing_else() {
    state(CommissionStatus::Pending).hold().unwrap();
    let refunded = CommissionState {
        deducted: Cents::new(300),
        ..state(CommissionStatus::Refunded)
    };
    refunded.hold().unwrap();
    let approved = CommissionState {
        approved: true,
        ..refunded
    };
    for decided in [
        approved,
        state(CommissionStatus::Approved),
        state(CommissionStatus::Paid),
        state(CommissionStatus::Reversed),
    ] {
        let error = decided.hold().unwrap_err().to_string();
        assert_eq!(
            error,
            format!("{} commissions cannot be held", decided.status.as_str())
        );
    }
}

#[test]
fn what_is_approved_is_payable_and_what_a_refund_has_left_of_it() {
    let now = DateTime::UNIX_EPOCH;
    let refunded = CommissionState {
        deducted: Cents::new(300),
        ..state(CommissionStatus::Refunded)
    };
    let held = CommissionState {
        hold_until: now + TimeDelta::milliseconds(1),
        ..refunded
    };
    let needs_approval = CommissionState {
        needs_approval: true,
        ..refunded
    };
    let approved_before = CommissionState {
        approved: true,
        needs_approval: true,
        ..held
    };
    let emptied = CommissionState {
        deducted: Cents::new(1000),
        ..refunded
    };
    let paid = CommissionState {
        paid_out: true,
        ..refunded
    };
    for (state, payable) in [
        (state(CommissionStatus::Approved), Ok(Cents::new(1000))),
        (refunded, Ok(Cents::new(700))),
        (held, Err(NotPayable::OnHold)),
        (needs_approval, Err(NotPayable::NeedsApproval)),
        (approved_before, Ok(Cents::new(700))),
        (emptied, Err(NotPayable::NothingLeft)),
        (paid, Err(NotPayable::AlreadyPaid)),
        (state(CommissionStatus::Pending), Err(NotPayable::Pending)),
        (state(CommissionStatus::Reversed), Err(NotPayable::Reversed)),
    ] {
        assert_eq!(state.payable(now), payable, "{state:?}");
    }
}

#[test]
fn a_debt_is_settled_first_and_by_held_commissions_only_once_they_are_paid() {
    // 20.00 were paid and then reversed; 15.00 are approved and 15.00 are held.
    let account = Account {
        balance: Cents::new(1000),
        unpaid: Cents::new(3000),
        debt: Cents::new(2000),
    };
    assert_eq!(paid(account, [1500, 1500]), [(0, 1500, 0), (1000, 500, 0)]);
}

#[test]
fn a_settled_debt_leaves_no_more_on_the_balance_than_can_be_paid() {
    // 20.00 were paid and then reversed. Another 20.00 were reversed at a zero balance, and are still owed.
    let account = Account {
        balance: Cents::new(2000),
        unpaid: Cents::new(2000),
        debt: Cents::new(2000),
    };
    assert_eq!(paid(account, [2000]), [(0, 2000, 2000)]);
}

/// The applied, held-back and settled amounts of each payment.
fn paid<const N: usize>(account: Account, amounts: [i64; N]) -> Vec<(i64, i64, i64)> {
    let partner_program_id = PartnerProgramId::new(1);
    let batch = amounts.map(|amount| Payable {
        partner_program_id,
        amount: Cents::new(amount),
    });
    pay_all(&batch, BTreeMap::from([(partner_program_id, account)]))
        .into_iter()
        .map(|paid| {
            let amounts = [paid.deducted.applied, paid.deducted.shortfall, paid.settled];
            amounts.map(Cents::get).into()
        })
        .collect()
}

#[derive(Debug, Clone)]
enum Event {
    Earn(i64),
    Refund { which: usize, percent: i64 },
    Pay { which: usize },
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let event = prop_oneof![
        (0..10_000i64).prop_map(Event::Earn),
        (any::<usize>(), 0..=100i64).prop_map(|(which, percent)| Event::Refund { which, percent }),
        any::<usize>().prop_map(|which| Event::Pay { which }),
    ];
    proptest::collection::vec(event, 0..60)
}

proptest! {
    /// Money received equals the rest of the paid commissions plus the debt. A payout that moves money leaves
    /// no debt.
    #[test]
    fn money_received_is_earned_or_owed(events in events()) {
        let mut commissions: Vec<CommissionState> = Vec::new();
        let (mut balance, mut received, mut owed) = (Cents::ZERO, Cents::ZERO, Cents::ZERO);
        let left = |commissions: &[CommissionState], paid_out| {
            commissions
                .iter()
                .filter(|commission| commission.paid_out == paid_out)
                .fold(Cents::ZERO, |sum, commission| sum.saturating_add(commission.left()))
        };
        for event in events {
            let count = commissions.len();
            match event {
                Event::Earn(amount) => {
                    balance = balance.saturating_add(Cents::new(amount));
                    commissions.push(CommissionState { amount: Cents::new(amount), ..state(CommissionStatus::Approved) });
                }
                Event::Refund { which, percent } if count > 0 => {
                    let commission = &mut commissions[which % count];
                    let requested = Cents::new(commission.left().get() * percent / 100);
                    let deducted = deduct(balance, requested, commission.paid_out);
                    commission.deducted = commission.deducted.saturating_add(requested);
                    balance = balance.saturating_sub(deducted.applied);
                    if commission.paid_out {
                        owed = owed.saturating_add(requested);
                    }
                }
                Event::Pay { which } if count > 0 => {
                    let mut account = Account { balance, unpaid: left(&commissions, false), debt: owed };
                    let commission = &mut commissions[which % count];
                    if let Ok(payable) = commission.payable(DateTime::UNIX_EPOCH) {
                        let Deducted { requested, applied, shortfall } = account.pay(payable).deducted;
                        prop_assert_eq!(requested, applied.saturating_add(shortfall));
                        prop_assert!(account.balance >= balance.min(Cents::ZERO));
                        prop_assert!(applied == Cents::ZERO || account.debt == Cents::ZERO);
                        (balance, owed) = (account.balance, account.debt);
                        received = received.saturating_add(applied);
                        commission.paid_out = true;
                    }
                }
                Event::Refund { .. } | Event::Pay { .. } => {}
            }
            let unpaid = left(&commissions, false);
            prop_assert!(balance <= unpaid, "more is owed to the partner than was earned");
            prop_assert_eq!(received, left(&commissions, true).saturating_add(owed));
        }
    }
}
