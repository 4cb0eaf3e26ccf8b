use super::CommissionStatus::{Paid, Pending, Refunded, Reversed};
use super::SkipReason::{AlreadyProcessed, AlreadyReversed};
use super::*;

mod properties;

fn amount(cents: i64) -> AmountCents {
    AmountCents::new(cents).unwrap()
}

fn commission(id: i64, cents: i64) -> RefundableCommission {
    RefundableCommission {
        id: CommissionId::new(id),
        amount: Cents::new(cents),
        deducted: Cents::ZERO,
        status: Pending,
    }
}

fn sale(cents: i64, commissions: &[i64]) -> SaleRefunds {
    let commissions = (1..)
        .zip(commissions)
        .map(|(id, cents)| commission(id, *cents))
        .collect();
    SaleRefunds::none(amount(cents), commissions)
}

fn delta(refund_id: &str, cents: i64) -> RefundRequest {
    let amount = Some(amount(cents));
    RefundRequest::Delta {
        key: RefundKey::for_delta(Some(refund_id), amount),
        amount,
    }
}

fn unnamed(cents: Option<i64>) -> RefundRequest {
    let amount = cents.map(amount);
    RefundRequest::Delta {
        key: RefundKey::for_delta(None, amount),
        amount,
    }
}

fn cumulative(reference: &str, cents: i64) -> RefundRequest {
    RefundRequest::ProcessorCumulative {
        key: RefundKey::processor(reference),
        amount: amount(cents),
    }
}

/// What a refund changed: the status, the growth of the effective total, and the total deduction; or the
/// reason for which it deducted nothing.
type Outcome = Result<(CommissionStatus, i64, i64), SkipReason>;

fn outcome(decision: &RefundDecision) -> Outcome {
    let (growth, deductions) = (decision.effective_delta, &decision.deductions);
    match decision.effect {
        RefundEffect::Applied { status, total, .. } => {
            let requested = deductions.iter().map(|deduction| deduction.requested.get());
            assert_eq!(requested.sum::<i64>(), total.get());
            // A rejected commission stays reversed, and the refund deducts nothing from it.
            assert!(deductions.iter().all(|deduction| {
                deduction.status_after == status
                    || deduction.status_after == Reversed && deduction.requested == Cents::ZERO
            }));
            Ok((status, growth.get(), total.get()))
        }
        RefundEffect::Skipped { reason, .. } => {
            assert_eq!((growth, deductions.len()), (Cents::ZERO, 0));
            Err(reason)
        }
        RefundEffect::NoCommission => panic!("no commission: {decision:?}"),
    }
}

/// Applies requests one after the other, each with what it must change.
#[track_caller]
fn apply_each<const N: usize>(refunds: &mut SaleRefunds, requests: [(RefundRequest, Outcome); N]) {
    for (request, expected) in requests {
        assert_eq!(outcome(&refunds.apply(&request)), expected, "{request:?}");
    }
}

#[test]
fn partial_refunds_deduct_their_share_until_the_sale_is_reversed() {
    let requests = [
        (delta("a", 3_000), Ok((Refunded, 3_000, 600))),
        (delta("b", 7_000), Ok((Reversed, 7_000, 1_400))),
        (delta("c", 1), Err(AlreadyReversed)),
        (delta("a", 3_000), Err(AlreadyReversed)),
    ];
    apply_each(&mut sale(10_000, &[2_000]), requests);
}

#[test]
fn a_refund_of_the_rest_reverses_whatever_is_left() {
    let requests = [
        (delta("a", 2_500), Ok((Refunded, 2_500, 500))),
        (unnamed(None), Ok((Reversed, 7_500, 1_500))),
        (unnamed(None), Err(AlreadyReversed)),
    ];
    apply_each(&mut sale(10_000, &[2_000]), requests);
}

#[test]
fn the_rest_is_counted_from_what_the_processor_reported() {
    let mut refunds = sale(10_000, &[2_000]);
    refunds.apply(&cumulative("evt_1", 6_000));
    apply_each(&mut refunds, [(unnamed(None), Ok((Reversed, 4_000, 800)))]);
    assert_eq!(refunds.effective(), Cents::new(10_000));
}

#[test]
fn an_amount_beyond_the_sale_is_capped() {
    let mut refunds = sale(10_000, &[2_000]);
    let requests = [
        (delta("a", 6_000), Ok((Refunded, 6_000, 1_200))),
        (delta("b", 6_000), Ok((Reversed, 4_000, 800))),
    ];
    apply_each(&mut refunds, requests);
    assert_eq!(refunds.api_refunded(), Cents::new(10_000));

    let mut refunds = sale(10_000, &[2_000]);
    let requests = [(cumulative("evt_1", 12_000), Ok((Reversed, 10_000, 2_000)))];
    apply_each(&mut refunds, requests);
    assert_eq!(refunds.processor_refunded(), Cents::new(10_000));
}

#[test]
fn without_an_id_the_same_amount_is_a_retry_and_another_amount_is_not() {
    let requests = [
        (unnamed(Some(1_000)), Ok((Refunded, 1_000, 200))),
        (unnamed(Some(1_000)), Err(AlreadyProcessed)),
        (unnamed(Some(1_001)), Ok((Refunded, 1_001, 200))),
        (delta("a", 1_000), Ok((Refunded, 1_000, 200))),
    ];
    apply_each(&mut sale(10_000, &[2_000]), requests);
}

#[test]
fn one_refund_reported_on_both_channels_is_deducted_once() {
    let mut refunds = sale(10_000, &[2_000]);
    refunds.apply(&delta("a", 4_000));
    let reported_again = refunds.apply(&cumulative("evt_1", 4_000));
    assert_eq!(outcome(&reported_again), Err(AlreadyProcessed));
    assert!(reported_again.recorded);
    let requests = [
        (cumulative("evt_2", 5_000), Ok((Refunded, 1_000, 200))),
        (delta("b", 1_000), Err(AlreadyProcessed)),
    ];
    apply_each(&mut refunds, requests);
    assert_eq!(refunds.api_refunded(), Cents::new(5_000));
    assert_eq!(refunds.effective(), Cents::new(5_000));
}

#[test]
fn a_growing_total_counts_under_one_reference_and_a_late_smaller_one_does_not() {
    let requests = [
        (cumulative("ch_1", 3_000), Ok((Refunded, 3_000, 600))),
        (cumulative("ch_1", 5_000), Ok((Refunded, 2_000, 400))),
        (cumulative("ch_1", 5_000), Err(AlreadyProcessed)),
        (cumulative("evt_0", 1_000), Err(AlreadyProcessed)),
    ];
    apply_each(&mut sale(10_000, &[2_000]), requests);
}

#[test]
fn a_sale_without_commission_records_its_refunds() {
    let mut refunds = sale(10_000, &[]);
    let decided = |recorded, cents| RefundDecision {
        recorded,
        effective_delta: Cents::new(cents),
        effect: RefundEffect::NoCommission,
        deductions: Vec::new(),
    };
    assert_eq!(refunds.apply(&delta("a", 4_000)), decided(true, 4_000));
    assert_eq!(refunds.apply(&delta("a", 4_000)), decided(false, 0));
    assert_eq!(refunds.apply(&unnamed(None)), decided(true, 6_000));
    assert_eq!(refunds.apply(&delta("b", 1)), decided(true, 0));
    assert_eq!(refunds.effective(), Cents::new(10_000));
}

#[test]
fn several_commissions_are_reduced_each_by_its_share_in_order_of_id() {
    let commissions = vec![commission(9, 334), commission(3, 333), commission(5, 333)];
    let mut refunds = SaleRefunds::none(amount(1_001), commissions);
    let requested: Vec<_> = refunds
        .apply(&delta("a", 500))
        .deductions
        .iter()
        .map(|deduction| (deduction.commission_id.get(), deduction.requested.get()))
        .collect();
    assert_eq!(requested, [(3, 166), (5, 166), (9, 167)]);
    apply_each(&mut refunds, [(unnamed(None), Ok((Reversed, 501, 1_000 - 499)))]);
}

#[test]
fn a_paid_commission_is_refunded() {
    let paid = RefundableCommission {
        status: Paid,
        ..commission(1, 2_000)
    };
    let mut refunds = SaleRefunds::none(amount(10_000), vec![paid]);
    let expected = Deduction {
        commission_id: CommissionId::new(1),
        requested: Cents::ZERO,
        status_after: Refunded,
    };
    assert_eq!(refunds.apply(&delta("a", 1)).deductions, [expected]);
}

#[test]
fn a_commission_of_nothing_is_reversed_without_a_deduction() {
    apply_each(
        &mut sale(10_000, &[0]),
        [(unnamed(None), Ok((Reversed, 10_000, 0)))],
    );
}

#[test]
fn a_row_deducted_too_much_is_not_paid_back() {
    let ahead = RefundableCommission {
        deducted: Cents::new(1_500),
        ..commission(1, 2_000)
    };
    let mut refunds = SaleRefunds::none(amount(10_000), vec![ahead]);
    let requests = [
        (delta("a", 1_000), Ok((Refunded, 1_000, 0))),
        (unnamed(None), Ok((Reversed, 9_000, 500))),
    ];
    apply_each(&mut refunds, requests);
}

#[test]
fn a_refund_of_a_sale_whose_commission_was_rejected_is_recorded_and_takes_nothing() {
    let rejected = RefundableCommission {
        status: Reversed,
        deducted: Cents::new(500),
        ..commission(1, 500)
    };
    let mut refunds = SaleRefunds::none(amount(10_000), vec![rejected]);
    let decision = refunds.apply(&delta("a", 1_000));
    let expected = RefundEffect::Applied {
        status: Refunded,
        total: Cents::ZERO,
        commission_id: CommissionId::new(1),
    };
    assert_eq!(decision.effect, expected);
    assert_eq!((decision.recorded, decision.effective_delta.get()), (true, 1_000));
    assert_eq!(refunds.commissions(), [rejected]);
}

#[test]
fn the_largest_sale_is_refunded_without_overflow() {
    let max = AmountCents::MAX.get();
    let mut refunds = sale(max, &[i64::MAX, max]);
    refunds.apply(&delta("a", max - 1));
    refunds.apply(&delta("b", max));
    let deducted: Vec<_> = refunds
        .commissions()
        .iter()
        .map(|commission| commission.deducted.get())
        .collect();
    assert_eq!(deducted, [i64::MAX, max]);
}

#[test]
fn requests_travel_as_json() {
    for request in [delta("a", 5), unnamed(None), cumulative("evt_1", 7)] {
        let json = serde_json::to_string(&request).unwrap();
        assert_eq!(serde_json::from_str::<RefundRequest>(&json).unwrap(), request);
    }
}
