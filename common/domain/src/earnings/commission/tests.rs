use chrono::TimeZone;
use proptest::prelude::*;

use super::*;

fn day(month: u32, day: u32) -> DateTime<Utc> {
    Utc.with_ymd_and_hms(2026, month, day, 8, 30, 0).unwrap()
}

fn policy(id: i64, product_id: Option<&str>, effective_from: DateTime<Utc>) -> Policy {
    Policy {
        id: PolicyId::new(id),
        product_id: product_id.map(str::to_owned),
        effective_from,
        commission_type: CommissionType::CpsLifetime,
        rate: Rate::Percentage(BasisPoints::new(1_000).unwrap()),
    }
}

fn paying(commission_type: CommissionType) -> Policy {
    Policy {
        commission_type,
        ..policy(1, None, day(1, 1))
    }
}

fn judged(policy: &Policy, history: PaymentHistory, at: DateTime<Utc>) -> Due {
    due(Some(policy), Cents::new(1_005), Currency::default(), &history, at)
}

fn nothing(due: Due) -> Option<NothingDue> {
    match due {
        Due::Nothing(reason) => Some(reason),
        Due::Amount { .. } => None,
    }
}

fn customer_since(first: DateTime<Utc>) -> PaymentHistory {
    PaymentHistory {
        customer_first_payment_at: Some(first),
        ..PaymentHistory::default()
    }
}

#[test]
fn a_products_policy_precedes_the_default_and_newer_policies_precede_older() {
    let policies = [
        policy(1, None, day(1, 1)),
        policy(2, None, day(3, 1)),
        policy(3, Some("book"), day(2, 1)),
        policy(4, Some("book"), day(9, 1)),
    ];
    let in_force = |product, at| policy_in_force(&policies, product, at).map(|policy| policy.id.get());
    assert_eq!(in_force(None, day(2, 1)), Some(1));
    assert_eq!(in_force(None, day(3, 1)), Some(2));
    assert_eq!(in_force(Some("book"), day(1, 15)), Some(1));
    assert_eq!(in_force(Some("book"), day(5, 1)), Some(3));
    assert_eq!(in_force(Some("pen"), day(5, 1)), Some(2));
    assert_eq!(policy_in_force(&policies[1..2], None, day(1, 1)), None);
}

#[test]
fn half_a_cent_is_rounded_away_from_zero() {
    let policy = paying(CommissionType::CpsLifetime);
    let (amount, currency) = (Cents::new(101), Currency::default());
    let due = judged(&policy, PaymentHistory::default(), day(5, 1));
    assert_eq!(due, Due::Amount { amount, currency });
}

#[test]
fn a_fixed_commission_has_a_currency_of_its_own() {
    let (amount, currency) = (Cents::new(500), Currency::parse("EUR").unwrap());
    let fixed = Policy {
        rate: Rate::Fixed { amount, currency },
        ..policy(1, None, day(1, 1))
    };
    let due = judged(&fixed, PaymentHistory::default(), day(5, 1));
    assert_eq!(due, Due::Amount { amount, currency });
}

#[test]
fn one_time_pays_on_the_first_payment_only() {
    let policy = paying(CommissionType::CpsOneTime);
    assert_eq!(
        nothing(judged(&policy, PaymentHistory::default(), day(5, 1))),
        None
    );
    let second = judged(&policy, customer_since(day(4, 1)), day(5, 1));
    assert_eq!(nothing(second), Some(NothingDue::OneTimeAlreadyPaid));
}

#[test]
fn recurring_pays_up_to_n_months_after_the_first_payment_to_the_millisecond() {
    let policy = paying(CommissionType::CpsRecurring { months: 3 });
    let end = day(4, 10);
    let history = customer_since(day(1, 10));
    assert_eq!(nothing(judged(&policy, history, end)), None);
    let late = end + TimeDelta::milliseconds(1);
    assert_eq!(
        nothing(judged(&policy, history, late)),
        Some(NothingDue::RecurringPeriodOver)
    );
}

#[test]
fn a_month_without_that_day_ends_on_its_last() {
    let policy = paying(CommissionType::CpsRecurring { months: 1 });
    let history = customer_since(day(1, 31));
    assert_eq!(nothing(judged(&policy, history, day(2, 28))), None);
    assert!(nothing(judged(&policy, history, day(3, 1))).is_some());
}

#[test]
fn a_subscription_has_its_own_clock() {
    let policy = paying(CommissionType::CpsRecurring { months: 1 });
    let history = PaymentHistory {
        names_subscription: true,
        ..customer_since(day(1, 1))
    };
    assert_eq!(
        nothing(judged(&policy, history, day(6, 1))),
        None,
        "its first payment"
    );
    let renewal = PaymentHistory {
        subscription_first_payment_at: Some(day(6, 1)),
        ..history
    };
    assert_eq!(nothing(judged(&policy, renewal, day(7, 1))), None);
    assert!(nothing(judged(&policy, renewal, day(7, 2))).is_some());
}

#[test]
fn without_a_policy_nothing_is_due() {
    let history = PaymentHistory::default();
    let due = due(None, Cents::new(1), Currency::default(), &history, day(1, 1));
    assert_eq!(nothing(due), Some(NothingDue::NoPolicy));
}

#[test]
fn types_and_durations_must_agree() {
    let twelve = CommissionType::CpsRecurring { months: 12 };
    for (text, months, parsed) in [
        ("cps_recurring", Some(12), Some(twelve)),
        ("cps_one_time", Some(0), Some(CommissionType::CpsOneTime)),
        ("cps_recurring", None, None),
        ("cps_recurring", Some(0), None),
        ("cps_lifetime", Some(3), None),
        ("cps_one_time", Some(1), None),
        ("cpc", None, None),
    ] {
        let kind = CommissionType::from_parts(text, months);
        assert_eq!(kind, parsed, "{text} {months:?}");
    }
}

#[test]
fn approval_waits_for_the_hold_period() {
    let held_until = HoldPeriod::default().until(day(1, 1));
    assert_eq!(held_until, day(1, 16));
    let early = CommissionStatus::Pending.approve(held_until, held_until - TimeDelta::milliseconds(1));
    assert_eq!(early, Err(TransitionError::Held { held_until }));
    assert_eq!(
        CommissionStatus::Pending.approve(held_until, held_until),
        Ok(CommissionStatus::Approved)
    );
    assert_eq!(HoldPeriod::new(32), None);
}

proptest! {
    #[test]
    fn reversed_is_terminal_and_refunds_never_lead_back(refunds in proptest::collection::vec(any::<bool>(), 1..8)) {
        let mut status = CommissionStatus::Paid;
        for fully in refunds {
            if let Ok(next) = status.on_refund(fully) {
                prop_assert_ne!(status, CommissionStatus::Reversed);
                prop_assert!(matches!(next, CommissionStatus::Refunded | CommissionStatus::Reversed));
                status = next;
            } else {
                prop_assert_eq!(status, CommissionStatus::Reversed);
            }
        }
        if status == CommissionStatus::Reversed {
            prop_assert!(status.pay().is_err());
            prop_assert!(status.approve(day(1, 1), day(2, 1)).is_err());
        }
    }
}
