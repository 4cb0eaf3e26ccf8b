use proptest::prelude::*;

use super::*;
use crate::earnings::payout::pay;

#[derive(Debug, Clone)]
enum Movement {
    Earn(i64),
    TakeBack { amount: i64, paid_out: bool },
}

fn movements() -> impl Strategy<Value = Vec<Movement>> {
    let movement = prop_oneof![
        (0..10_000i64).prop_map(Movement::Earn),
        (0..10_000i64, any::<bool>()).prop_map(|(amount, paid_out)| Movement::TakeBack { amount, paid_out }),
    ];
    proptest::collection::vec(movement, 0..40)
}

#[test]
fn an_unpaid_deduction_stops_at_zero_and_a_paid_out_one_is_made_in_full() {
    for (balance, paid_out, applied, shortfall) in
        [(30, false, 30, 70), (-5, false, 0, 100), (30, true, 100, 0)]
    {
        let deducted = deduct(Cents::new(balance), Cents::new(100), paid_out);
        let amounts = (deducted.applied.get(), deducted.shortfall.get());
        assert_eq!(amounts, (applied, shortfall), "{balance}");
    }
}

proptest! {
    #[test]
    fn every_movement_says_what_was_requested_and_the_balance_is_their_sum(movements in movements()) {
        let mut balance = Cents::ZERO;
        let mut entries = Vec::new();
        let mut paid_out_taken = false;
        for movement in movements {
            let entry = match movement {
                Movement::Earn(amount) => {
                    balance = balance.saturating_add(Cents::new(amount));
                    let accrued = accrual(Cents::new(amount));
                    prop_assert_eq!(accrued.amount.get(), amount);
                    accrued
                }
                Movement::TakeBack { amount, paid_out } => {
                    let deducted = deduct(balance, Cents::new(amount), paid_out);
                    balance = balance.saturating_sub(deducted.applied);
                    paid_out_taken |= paid_out;
                    let reversed = reversal(&deducted);
                    prop_assert_eq!(reversed.requested.get(), amount);
                    prop_assert!(reversed.amount <= Cents::ZERO);
                    reversed
                }
            };
            prop_assert_eq!(entry.requested.get(), entry.amount.get().abs() + entry.shortfall.get());
            entries.push(entry);
            prop_assert!(balance >= Cents::ZERO || paid_out_taken);
        }
        let sum: i64 = entries.iter().map(|entry| entry.amount.get()).sum();
        prop_assert_eq!(sum, balance.get());
    }

    #[test]
    fn a_payout_is_the_opposite_of_an_accrual(amount in 0..10_000i64) {
        let paid = payout(&pay(Cents::new(amount), Cents::ZERO));
        prop_assert_eq!(accrual(Cents::new(amount)).amount.saturating_add(paid.amount), Cents::ZERO);
    }
}
