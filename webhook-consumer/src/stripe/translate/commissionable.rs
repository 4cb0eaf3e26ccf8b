//! What earns of a payment: its share of what was charged without tax and shipping, as far as the object says.

use domain::money::{AmountCents, CommissionableCents, proportion};
use serde::Deserialize;

/// One of `total_taxes`.
#[derive(Deserialize)]
pub struct Tax {
    amount: Option<i64>,
}

pub fn sum(taxes: &[Tax]) -> i64 {
    taxes
        .iter()
        .fold(0, |sum, tax| sum.saturating_add(tax.amount.unwrap_or_default()))
}

/// `shipping_cost`. What it says of tax is part of the whole tax.
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

/// The part of `paid` that is neither tax nor shipping; `None` where all of it earns. Less than `total` is paid where a credit
/// balance paid the rest: both parts then stand for the same share of tax.
pub fn commissionable(paid: AmountCents, total: i64, tax_and_shipping: i64) -> Option<CommissionableCents> {
    if total <= 0 || tax_and_shipping == 0 {
        return None;
    }
    let earning = total.saturating_sub(tax_and_shipping).clamp(0, total);
    CommissionableCents::of(paid, proportion(paid.into(), earning, total).get())
        .filter(|part| part.get() < paid.get())
}
