//! The commissionable part of a payment: the amount without tax and shipping, as far as the object states
//! them.

use domain::money::{AmountCents, CommissionableCents, proportion};
use serde::Deserialize;

/// An item of `total_taxes`.
#[derive(Deserialize)]
pub struct Tax {
    amount: Option<i64>,
}

pub fn sum(taxes: &[Tax]) -> i64 {
    taxes
        .iter()
        .fold(0, |sum, tax| sum.saturating_add(tax.amount.unwrap_or_default()))
}

/// `shipping_cost`. Its tax is also part of the total tax.
#[derive(Deserialize)]
pub struct ShippingCost {
    amount_total: Option<i64>,
    amount_tax: Option<i64>,
}

impl ShippingCost {
    pub fn without_tax(&self) -> i64 {
        let total = self.amount_total.unwrap_or_default();
        total.saturating_sub(self.amount_tax.unwrap_or_default())
    }
}

/// The part of `paid` that is neither tax nor shipping; `None` if all of it is commissionable. If a credit
/// balance pays a part of `total`, tax and shipping are split in proportion.
pub fn commissionable(paid: AmountCents, total: i64, tax_and_shipping: i64) -> Option<CommissionableCents> {
    if total <= 0 || tax_and_shipping == 0 {
        return None;
    }
    let earning = total.saturating_sub(tax_and_shipping).clamp(0, total);
    CommissionableCents::of(paid, proportion(paid.into(), earning, total).get())
        .filter(|part| part.get() < paid.get())
}
