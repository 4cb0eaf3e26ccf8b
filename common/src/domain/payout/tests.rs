use chrono::TimeDelta;
use proptest::prelude::*;

use super::*;
use crate::domain::ledger::deduct;

fn state(status: CommissionStatus) -> CommissionState {
    CommissionState {
        amount: Cents::new(1000),
        deducted: Cents::ZERO,
        status,
        hold_until: DateTime::UNIX_EPOCH,
        approved: false,
        paid_out: false,
    }
}

#[test]
fn what_is_approved_is_payable_and_what_a_refund_has_left_of_it() {
    let now = DateTime::UNIX_EPOCH;
    assert_eq!(
        state(CommissionStatus::Approved).payable(now),
        Ok(Cents::new(1000))
    );
    let refunded = CommissionState {
        deducted: Cents::new(300),
        ..state(CommissionStatus::Refunded)
    };
    assert_eq!(refunded.payable(now), Ok(Cents::new(700)));
    let held = CommissionState {
        hold_until: now + TimeDelta::milliseconds(1),
        ..refunded
    };
    assert_eq!(held.payable(now), Err(NotPayable::OnHold));
    let approved_before = CommissionState {
        approved: true,
        ..held
    };
    assert_eq!(approved_before.payable(now), Ok(Cents::new(700)));
    let emptied = CommissionState {
        deducted: Cents::new(1000),
        ..refunded
    };
    assert_eq!(emptied.payable(now), Err(NotPayable::NothingLeft));
    let paid = CommissionState {
        paid_out: true,
        ..refunded
    };
    assert_eq!(paid.payable(now), Err(NotPayable::AlreadyPaid));
    assert_eq!(
        state(CommissionStatus::Pending).payable(now),
        Err(NotPayable::Pending)
    );
    assert_eq!(
        state(CommissionStatus::Reversed).payable(now),
        Err(NotPayable::Reversed)
    );
}

#[test]
fn a_debt_is_settled_first_and_by_held_commissions_only_once_they_are_paid() {
    // 20.00 were paid and reversed; 15.00 are approved, 15.00 held.
    let debt = debt(Cents::new(1000), Cents::new(3000));
    assert_eq!(debt, Cents::new(2000));
    let payable = Payable {
        partner_program_id: PartnerProgramId::new(1),
        amount: Cents::new(1500),
    };
    let debts = BTreeMap::from([(PartnerProgramId::new(1), debt)]);
    let paid: Vec<_> = pay_all(&[payable; 2], debts)
        .into_iter()
        .map(|paid| (paid.applied.get(), paid.shortfall.get()))
        .collect();
    assert_eq!(paid, [(0, 1500), (1000, 500)]);
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
    /// What was received is what was earned by the commissions paid, what is still owed back, and what clamping forgave.
    #[test]
    fn money_received_is_earned_owed_or_forgiven(events in events()) {
        let mut commissions: Vec<CommissionState> = Vec::new();
        let (mut balance, mut received, mut forgiven) = (Cents::ZERO, Cents::ZERO, Cents::ZERO);
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
                    forgiven = forgiven.saturating_add(deducted.shortfall);
                }
                Event::Pay { which } if count > 0 => {
                    let debt = debt(balance, left(&commissions, false));
                    let commission = &mut commissions[which % count];
                    if let Ok(payable) = commission.payable(DateTime::UNIX_EPOCH) {
                        let before = balance;
                        let paid = pay(payable, debt);
                        prop_assert_eq!(paid.requested, paid.applied.saturating_add(paid.shortfall));
                        balance = balance.saturating_sub(paid.applied);
                        received = received.saturating_add(paid.applied);
                        prop_assert!(balance >= Cents::ZERO || balance == before);
                        commission.paid_out = true;
                    }
                }
                Event::Refund { .. } | Event::Pay { .. } => {}
            }
            let unpaid = left(&commissions, false);
            prop_assert!(balance <= unpaid, "more is owed to the partner than was earned");
            let accounted = left(&commissions, true).saturating_add(debt(balance, unpaid)).saturating_add(forgiven);
            prop_assert_eq!(received, accounted);
        }
    }
}
