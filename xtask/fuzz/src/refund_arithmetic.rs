//! Refunds: in any order and any number of repeats, they deduct from each commission exactly the share of the refunded amount, and all
//! of it once the whole sale is refunded.

use domain::earnings::commission::CommissionStatus;
use domain::earnings::refund::{RefundEffect, RefundKey, RefundRequest, RefundableCommission, SaleRefunds};
use domain::ids::CommissionId;
use domain::money::{AmountCents, Cents};

const MOST_CENTS: u64 = 100_000_000_000_000;

/// Input: eight bytes of sale amount, one for the number of commissions, eight for each commission, nine for each refund.
pub fn run(bytes: &[u8]) {
    let mut input = Input(bytes);
    let (Some(sale), Some(count)) = (input.amount(), input.byte()) else {
        return;
    };
    let commissions: Vec<i64> = (0..count % 5)
        .filter_map(|_| input.amount())
        .map(|cents| cents - 1)
        .collect();
    let mut reports = Vec::new();
    while let (Some(kind), Some(cents)) = (input.byte(), input.amount()) {
        if reports.len() < 24 {
            reports.push(report(kind, cents));
        }
    }
    let in_order = applied(sale, &commissions, &reports);
    reports.reverse();
    assert_eq!(applied(sale, &commissions, &reports), in_order, "backwards");
    let middle = reports.len() / 2;
    reports.rotate_left(middle);
    assert_eq!(applied(sale, &commissions, &reports), in_order, "from the middle");
    let twice: Vec<RefundRequest> = reports
        .iter()
        .flat_map(|one| [one.clone(), one.clone()])
        .collect();
    assert_eq!(applied(sale, &commissions, &twice), in_order, "each twice");
}

struct Input<'a>(&'a [u8]);

impl Input<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    /// From 1 to the maximum of a sale.
    fn amount(&mut self) -> Option<i64> {
        let (first, rest) = self.0.split_first_chunk::<8>()?;
        self.0 = rest;
        i64::try_from(u64::from_le_bytes(*first) % MOST_CENTS + 1).ok()
    }
}

/// The key includes the amount: of two refunds with one key the first counts, so the order would matter.
fn report(kind: u8, cents: i64) -> RefundRequest {
    let amount = AmountCents::new(cents);
    match kind % 8 {
        0 => RefundRequest::Delta {
            key: RefundKey::for_delta(None, None),
            amount: None,
        },
        1..=2 => RefundRequest::Delta {
            key: RefundKey::for_delta(None, amount),
            amount,
        },
        3..=5 => RefundRequest::Delta {
            key: RefundKey::for_delta(Some(&format!("refund of {cents}")), amount),
            amount,
        },
        _ => RefundRequest::ProcessorCumulative {
            key: RefundKey::processor("charge"),
            amount: amount.expect("within its range"),
        },
    }
}

/// The refunded amount at the end, and each commission's deduction.
fn applied(sale: i64, commissions: &[i64], reports: &[RefundRequest]) -> (i64, Vec<i64>) {
    let stored = commissions
        .iter()
        .zip(1..)
        .map(|(cents, id)| RefundableCommission {
            id: CommissionId::new(id),
            amount: Cents::new(*cents),
            deducted: Cents::ZERO,
            status: CommissionStatus::Pending,
        });
    let amount = AmountCents::new(sale).expect("within its range");
    let mut refunds = SaleRefunds::none(amount, stored.collect());
    let mut lost = vec![0; commissions.len()];
    for report in reports {
        let before = refunds.effective().get();
        let decision = refunds.apply(report);
        let effective = refunds.effective().get();
        assert!(
            before <= effective && effective <= sale,
            "it only grows, to the sale at most"
        );
        assert_eq!(decision.effective_delta.get(), effective - before);
        if let RefundEffect::Applied { total, status, .. } = decision.effect {
            assert_eq!(status == CommissionStatus::Reversed, effective == sale);
            assert_eq!(
                total.get(),
                decision
                    .deductions
                    .iter()
                    .map(|taken| taken.requested.get())
                    .sum::<i64>()
            );
        }
        for (taken, lost) in decision.deductions.iter().zip(&mut lost) {
            assert!(taken.requested >= Cents::ZERO);
            *lost += taken.requested.get();
        }
        // After every refund, not only at the end.
        for (lost, cents) in lost.iter().zip(commissions) {
            assert_eq!(*lost, share(*cents, effective, sale));
            assert!(*lost <= *cents && (effective < sale || lost == cents));
        }
    }
    (refunds.effective().get(), lost)
}

/// Halves away from zero.
fn share(of: i64, part: i64, whole: i64) -> i64 {
    let (of, part, whole) = (i128::from(of), i128::from(part), i128::from(whole));
    i64::try_from((2 * of * part + whole) / (2 * whole)).expect("no more than the whole")
}
