use proptest::prelude::*;

use super::*;

const SALE: std::ops::RangeInclusive<i64> = 1..=AmountCents::MAX.get();

/// A sale with up to four commissions, each at most as large as the sale.
fn any_sale() -> impl Strategy<Value = SaleRefunds> {
    prop_oneof![1i64..300, SALE].prop_flat_map(|cents| {
        prop::collection::vec(0..=cents, 1..5).prop_map(move |commissions| sale(cents, &commissions))
    })
}

/// A sale and reports on both channels; ids and references repeat, amounts may exceed the sale.
fn any_history() -> impl Strategy<Value = (SaleRefunds, Vec<RefundRequest>)> {
    any_sale().prop_flat_map(|sale| {
        let cents = 1..=sale.amount().get().saturating_mul(2).min(*SALE.end());
        let report = prop_oneof![
            4 => ("[a-f]", cents.clone()).prop_map(|(id, cents)| delta(&id, cents)),
            2 => cents.clone().prop_map(|cents| unnamed(Some(cents))),
            1 => Just(unnamed(None)),
            4 => ("[a-f]", cents).prop_map(|(reference, cents)| cumulative(&reference, cents)),
        ];
        (Just(sale), prop::collection::vec(report, 0..12))
    })
}

/// A sale and named deltas that sum to exactly its amount, in any order.
fn any_full_refund() -> impl Strategy<Value = (SaleRefunds, Vec<RefundRequest>)> {
    any_sale().prop_flat_map(|sale| {
        let total = sale.amount().get();
        let cuts = prop::collection::btree_set(0..total, 0..10);
        let refunds = cuts.prop_map(move |cuts| {
            let mut bounds = Vec::from_iter(cuts);
            bounds.extend([0, total]);
            bounds.sort_unstable();
            bounds.dedup();
            let sizes = bounds.windows(2).map(|pair| pair[1] - pair[0]);
            sizes
                .enumerate()
                .map(|(at, cents)| delta(&at.to_string(), cents))
                .collect::<Vec<_>>()
        });
        (Just(sale), refunds.prop_shuffle())
    })
}

fn deducted(refunds: &SaleRefunds) -> Vec<i64> {
    refunds
        .commissions()
        .iter()
        .map(|commission| commission.deducted.get())
        .collect()
}

fn requested(decision: &RefundDecision) -> i64 {
    match decision.effect {
        RefundEffect::Applied { total, .. } => total.get(),
        RefundEffect::Skipped { .. } | RefundEffect::NoCommission => 0,
    }
}

fn assert_sound(refunds: &SaleRefunds) {
    let (sale, effective) = (refunds.amount().get(), refunds.effective());
    assert!(Cents::ZERO <= effective && effective.get() <= sale);
    assert!(refunds.api_refunded().get() <= sale && refunds.processor_refunded().get() <= sale);
    for commission in refunds.commissions() {
        assert_eq!(
            commission.deducted,
            proportion(commission.amount, effective.get(), sale)
        );
        assert!(Cents::ZERO <= commission.deducted && commission.deducted <= commission.amount);
        assert_eq!(commission.status == Reversed, effective.get() == sale);
        assert_eq!(
            commission.status == Refunded,
            Cents::ZERO < effective && effective.get() < sale
        );
    }
}

proptest! {
    #[test]
    fn refunds_that_sum_to_the_sale_deduct_the_whole_commission(
        (mut refunds, requests) in any_full_refund(),
    ) {
        let earned: Vec<_> = refunds.commissions().iter().map(|commission| commission.amount.get()).collect();
        let mut total = 0_i128;
        for request in &requests {
            prop_assert!(refunds.effective().get() < refunds.amount().get());
            total += i128::from(requested(&refunds.apply(request)));
            assert_sound(&refunds);
        }
        prop_assert_eq!(deducted(&refunds), earned.clone());
        prop_assert_eq!(total, earned.iter().map(|cents| i128::from(*cents)).sum::<i128>());
    }

    #[test]
    fn every_history_is_sound_and_only_grows((mut refunds, requests) in any_history()) {
        for request in &requests {
            let before = refunds.clone();
            let decision = refunds.apply(request);
            assert_sound(&refunds);
            prop_assert!(refunds.effective() >= before.effective());
            prop_assert!(refunds.api_refunded() >= before.api_refunded());
            prop_assert!(refunds.processor_refunded() >= before.processor_refunded());
            let growth: i64 = deducted(&refunds).iter().zip(deducted(&before)).map(|(after, before)| after - before).sum();
            prop_assert_eq!(growth, requested(&decision));
            prop_assert_eq!(before.effective().checked_add(decision.effective_delta), Some(refunds.effective()));
            if let RefundEffect::Applied { status, .. } = decision.effect {
                prop_assert_eq!(status == Reversed, refunds.effective() == refunds.amount().into());
            }
        }
    }

    #[test]
    fn repeating_any_report_changes_nothing((mut refunds, requests) in any_history()) {
        for at in 0..requests.len() {
            refunds.apply(&requests[at]);
            let settled = refunds.clone();
            // Also repeats: a cumulative total below a reported one, and a delta with a known key.
            for repeated in &requests[..=at] {
                let decision = refunds.apply(repeated);
                prop_assert!(!decision.recorded);
                prop_assert!(matches!(decision.effect, RefundEffect::Skipped { .. }), "{decision:?}");
                prop_assert_eq!(&refunds, &settled);
            }
        }
    }

    #[test]
    fn the_order_of_reports_does_not_change_the_outcome(
        (refunds, requests) in any_history(),
        seed in any::<prop::sample::Index>(),
    ) {
        // One report for each key: if two amounts share a key, the first to arrive counts.
        let mut distinct: Vec<RefundRequest> = Vec::new();
        for request in requests {
            if distinct.iter().all(|known| known.key() != request.key()) {
                distinct.push(request);
            }
        }
        let (mut forward, mut rotated) = (refunds.clone(), refunds);
        for request in &distinct {
            forward.apply(request);
        }
        if !distinct.is_empty() {
            let middle = seed.index(distinct.len());
            distinct.rotate_left(middle);
            distinct.reverse();
        }
        for request in &distinct {
            rotated.apply(request);
        }
        prop_assert_eq!(forward.effective(), rotated.effective());
        prop_assert_eq!(forward.commissions(), rotated.commissions());
    }

    #[test]
    fn the_same_refunds_on_both_channels_count_once(
        (refunds, requests) in any_full_refund(),
        on_both in any::<u16>(),
        processor_first in any::<bool>(),
    ) {
        let mut api_only = refunds.clone();
        let mut both = refunds;
        let mut refunded = 0;
        for (at, request) in requests.iter().enumerate() {
            let RefundRequest::Delta { amount: Some(cents), .. } = request else { panic!("named deltas only") };
            refunded += cents.get();
            let report = cumulative(&at.to_string(), refunded);
            api_only.apply(request);
            if processor_first {
                both.apply(&report);
            }
            both.apply(request);
            if on_both & (1 << at) != 0 {
                both.apply(&report);
            }
            prop_assert_eq!(both.effective(), api_only.effective());
            prop_assert_eq!(both.commissions(), api_only.commissions());
        }
    }

    #[test]
    fn a_stored_state_continues_where_it_stopped(
        (refunds, requests) in any_history(),
        stop in any::<prop::sample::Index>(),
    ) {
        let mut kept = refunds.clone();
        let mut restored = refunds;
        let stop = stop.index(requests.len() + 1);
        for (at, request) in requests.iter().enumerate() {
            if at == stop {
                restored = SaleRefunds::new(
                    restored.amount,
                    restored.api_refunded(),
                    restored.processor_refunded(),
                    restored.keys.clone(),
                    restored.commissions().iter().rev().copied().collect(),
                );
            }
            prop_assert_eq!(restored.apply(request), kept.apply(request));
        }
        prop_assert_eq!(restored, kept);
    }

    #[test]
    fn without_commissions_the_recorded_amounts_add_up((sale, requests) in any_history()) {
        let mut refunds = SaleRefunds::none(sale.amount(), Vec::new());
        let mut total = 0;
        for request in &requests {
            let decision = refunds.apply(request);
            prop_assert_eq!(decision.effect, RefundEffect::NoCommission);
            total += decision.effective_delta.get();
            let repeated = refunds.apply(request);
            prop_assert_eq!((repeated.effect, repeated.effective_delta), (RefundEffect::NoCommission, Cents::ZERO));
        }
        prop_assert_eq!(total, refunds.effective().get());
    }
}
