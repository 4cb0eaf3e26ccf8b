//! Commissions changed by hand.

use super::{Commission, Reference, Sold};
use crate::calls::ByHand;

/// More than any commission.
const MOST: i64 = 100_000_000_000_000;

impl Reference {
    /// The sales that have commissions both in this state and in all others.
    pub fn changeable(&self, others: &[Self]) -> Vec<usize> {
        let is_agreed = |sold: &&Sold| others.iter().all(|other| other.sales.contains(sold));
        let earned = self.sales.iter().filter(|sold| !sold.commissions.is_empty());
        earned.filter(is_agreed).map(|sold| sold.transaction).collect()
    }

    /// Returns the status of the answer. All commissions in question are changed, or none.
    pub fn change_by_hand(&mut self, transaction: usize, change: ByHand) -> u16 {
        let mut sales = self.sales.iter();
        let place = sales.position(|sold| sold.transaction == transaction).unwrap();
        let program = self.sales[place].program;
        let left = |commission: &Commission| commission.amount - commission.deducted;
        let meant = match change {
            ByHand::Reject => self.sales[place].commissions.len(),
            ByHand::Adjust(_) => 1,
        };
        let mut commissions = self.sales[place].commissions[..meant].to_vec();
        let is_refused = |commission: &Commission| {
            commission.status == "reversed"
                || match change {
                    ByHand::Reject => false,
                    ByHand::Adjust(by) if by > 0 => commission.paid || commission.amount + by > MOST,
                    ByHand::Adjust(by) => -by > left(commission),
                }
        };
        if commissions.iter().any(is_refused) {
            return 400;
        }
        for commission in &mut commissions {
            let by = match change {
                ByHand::Reject => -left(commission),
                ByHand::Adjust(by) => by,
            };
            commission.amount += by;
            if change == ByHand::Reject {
                commission.status = "reversed";
            }
            let balance = self.balance(program, commission);
            if by > 0 {
                balance.cents += by;
            } else if commission.paid {
                balance.cents += by;
                balance.debt -= by;
            } else {
                balance.cents -= (-by).min(balance.cents.max(0));
            }
        }
        self.sales[place].commissions[..meant].clone_from_slice(&commissions);
        200
    }
}
