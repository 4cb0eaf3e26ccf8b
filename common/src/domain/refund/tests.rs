use proptest::prelude::*;

use super::*;

fn sale(amount: i64, commissions: &[i64]) -> SaleRefunds {
    let commissions = commissions
        .iter()
        .zip(1..)
        .map(|(amount, id)| RefundableCommission {
            id: CommissionId::new(id),
            amount: Cents::new(*amount),
            deducted: Cents::ZERO,
            status: CommissionStatus::Pending,
            paid_out: false,
        })
        .collect();
    SaleRefunds::new(
        AmountCents::new(amount).unwrap(),
        Cents::ZERO,
        Cents::ZERO,
        [],
        commissions,
    )
}

fn delta(refund_id: Option<&str>, amount: Option<i64>) -> RefundRequest {
    let amount = amount.map(|cents| AmountCents::new(cents).unwrap());
    RefundRequest::Delta {
        key: RefundKey::for_delta(refund_id, amount),
        amount,
    }
}

fn total(reference: &str, amount: i64) -> RefundRequest {
    let amount = AmountCents::new(amount).unwrap();
    RefundRequest::ProcessorCumulative {
        key: RefundKey::for_processor(reference),
        amount,
    }
}

fn taken(decision: &RefundDecision) -> i64 {
    match decision {
        RefundDecision::Applied { total, .. } => total.get(),
        RefundDecision::Skipped(_) | RefundDecision::NoCommission => 0,
    }
}

#[test]
fn a_full_refund_reverses_everything() {
    let mut sale = sale(4999, &[1000]);
    let RefundDecision::Applied { status, total, .. } = sale.apply(&delta(None, None)) else {
        panic!()
    };
    assert_eq!((status, total), (CommissionStatus::Reversed, Cents::new(1000)));
}

#[test]
fn a_part_of_the_sale_takes_its_share_rounded_once() {
    let mut sale = sale(300, &[100]);
    // A third of 100 is 33.33; two thirds are 66.67: the second refund takes 34 to land on 67.
    assert_eq!(taken(&sale.apply(&delta(Some("a"), Some(100)))), 33);
    assert_eq!(taken(&sale.apply(&delta(Some("b"), Some(100)))), 34);
    assert_eq!(taken(&sale.apply(&delta(Some("c"), Some(100)))), 33);
    assert_eq!(sale.commissions()[0].status, CommissionStatus::Reversed);
}

#[test]
fn the_same_refund_id_and_the_same_amount_without_one_are_retries() {
    let mut sale = sale(1000, &[200]);
    let retried = RefundDecision::Skipped(SkipReason::AlreadyProcessed);
    assert_eq!(taken(&sale.apply(&delta(Some("r1"), Some(100)))), 20);
    assert_eq!(sale.apply(&delta(Some("r1"), Some(300))), retried);
    assert_eq!(taken(&sale.apply(&delta(None, Some(100)))), 20);
    assert_eq!(sale.apply(&delta(None, Some(100))), retried);
    assert_eq!(taken(&sale.apply(&delta(Some("r2"), Some(100)))), 20);
}

#[test]
fn after_a_full_refund_everything_is_already_reversed() {
    let mut sale = sale(1000, &[200]);
    sale.apply(&delta(Some("r1"), None));
    for request in [
        delta(Some("r1"), None),
        delta(None, None),
        delta(None, Some(5)),
        total("ch", 1000),
    ] {
        assert_eq!(
            sale.apply(&request),
            RefundDecision::Skipped(SkipReason::AlreadyReversed)
        );
    }
}

#[test]
fn more_than_the_sale_is_the_sale() {
    let mut sale = sale(1000, &[200]);
    assert_eq!(taken(&sale.apply(&delta(None, Some(999_999)))), 200);
    assert_eq!(sale.effective(), Cents::new(1000));
}

#[test]
fn the_two_channels_are_never_added() {
    let mut sale = sale(1000, &[200]);
    assert_eq!(taken(&sale.apply(&delta(Some("r1"), Some(400)))), 80);
    // The processor reports the same 400, and then 300 more.
    assert_eq!(
        sale.apply(&total("ch:400", 400)),
        RefundDecision::Skipped(SkipReason::AlreadyProcessed)
    );
    assert_eq!(taken(&sale.apply(&total("ch:700", 700))), 60);
    assert_eq!(sale.effective(), Cents::new(700));
}

#[test]
fn the_rest_counts_from_what_both_channels_say() {
    let mut sale = sale(1000, &[200]);
    sale.apply(&total("ch:600", 600));
    assert_eq!(taken(&sale.apply(&delta(None, None))), 80);
    assert_eq!(sale.effective(), Cents::new(1000));
}

#[test]
fn a_sale_without_commission_records_its_refunds() {
    let mut sale = sale(1000, &[]);
    assert_eq!(sale.apply(&delta(None, Some(400))), RefundDecision::NoCommission);
    assert_eq!(sale.apply(&delta(None, Some(400))), RefundDecision::NoCommission);
    assert_eq!(sale.effective(), Cents::new(400));
}

fn requests() -> impl Strategy<Value = Vec<RefundRequest>> {
    let request = prop_oneof![
        (proptest::option::of(0..4u8), proptest::option::of(1..3000i64)).prop_map(|(id, amount)| {
            let refund_id = id.map(|id| format!("r{id}"));
            delta(refund_id.as_deref(), amount)
        }),
        (0..4u8, 1..3000i64).prop_map(|(reference, amount)| total(&format!("ch{reference}"), amount)),
    ];
    proptest::collection::vec(request, 0..12)
}

proptest! {
    #[test]
    fn deductions_are_the_exact_share_of_the_effective_refund_after_every_step(
        amount in 1..2000i64, commissions in proptest::collection::vec(0..2000i64, 1..4), requests in requests(),
    ) {
        let mut sale = sale(amount, &commissions);
        let mut deducted = 0;
        let mut before = Cents::ZERO;
        for request in &requests {
            deducted += taken(&sale.apply(request));
            let effective = sale.effective();
            prop_assert!(effective >= before && effective <= Cents::new(amount));
            before = effective;
            let due: i64 = commissions
                .iter()
                .map(|commission| proportion(Cents::new(*commission), effective.get(), amount).get())
                .sum();
            prop_assert_eq!(deducted, due);
            let fully = effective == Cents::new(amount);
            for commission in sale.commissions() {
                prop_assert_eq!(commission.status == CommissionStatus::Reversed, fully);
            }
        }
    }

    #[test]
    fn a_repeated_request_takes_nothing(amount in 1..2000i64, commission in 0..2000i64, requests in requests()) {
        let mut sale = sale(amount, &[commission]);
        for request in &requests {
            sale.apply(request);
            let once = sale.clone();
            prop_assert_eq!(taken(&sale.apply(request)), 0);
            prop_assert_eq!(&once, &sale);
        }
    }

    #[test]
    fn refunds_that_add_up_to_the_sale_take_the_whole_commission_in_any_order(
        parts in Just((1..=9i64).collect::<Vec<_>>()).prop_shuffle(), scale in 1..500i64, commission in 0..100_000i64,
    ) {
        let mut sale = sale(45 * scale, &[commission]);
        let deducted: i64 = parts.iter().map(|part| taken(&sale.apply(&delta(Some(&part.to_string()), Some(part * scale))))).sum();
        prop_assert_eq!(deducted, commission);
    }

    #[test]
    fn both_channels_reporting_the_same_refunds_in_any_interleaving_take_once(
        parts in proptest::collection::vec(1..500i64, 1..6), swap in proptest::collection::vec(any::<bool>(), 6), commission in 0..5000i64,
    ) {
        let amount = parts.iter().sum::<i64>() + 100;
        let mut sale = sale(amount, &[commission]);
        let mut so_far = 0;
        let mut deducted = 0;
        for (index, part) in parts.iter().enumerate() {
            so_far += part;
            let mut pair = [delta(Some(&index.to_string()), Some(*part)), total(&index.to_string(), so_far)];
            if swap[index] {
                pair.reverse();
            }
            deducted += pair.iter().map(|request| taken(&sale.apply(request))).sum::<i64>();
        }
        prop_assert_eq!(deducted, proportion(Cents::new(commission), so_far, amount).get());
    }
}
