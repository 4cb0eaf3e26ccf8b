//! Sales and their commissions.

use std::collections::BTreeMap;

use super::{RATE_BPS, Rows, SaleRow};
use crate::journal::{Asked, Call};

pub(super) fn check(calls: &[Call], rows: &Rows, found: &mut Vec<String>) {
    let mut attempts: BTreeMap<&str, Vec<&Call>> = BTreeMap::new();
    for call in calls {
        if let Some((transaction_id, ..)) = call.asked.sale() {
            attempts.entry(transaction_id).or_default().push(call);
        }
    }
    for sale in &rows.sales {
        if let Some(attempts) = attempts.get(sale.transaction_id.as_str()) {
            one_sale(sale, attempts, found);
        }
        commission(sale, found);
    }
}

fn one_sale(sale: &SaleRow, attempts: &[&Call], found: &mut Vec<String>) {
    let transaction_id = &sale.transaction_id;
    let is_this = |call: &Call| {
        call.asked.sale()
            == Some((
                transaction_id.as_str(),
                sale.customer_key.as_str(),
                sale.amount_cents,
            ))
    };
    let is_recorded = |call: &&&Call| matches!(call.asked, Asked::Sale { .. }) && call.answer.is_ok();
    let recorded: Vec<_> = attempts.iter().filter(is_recorded).collect();
    if recorded.len() > 1 {
        let times = recorded.len();
        found.push(format!("sale {transaction_id} was answered 200 {times} times"));
    }
    let Some(call) = recorded.first() else {
        if !attempts.iter().any(|call| is_this(call)) {
            found.push(format!(
                "sale {transaction_id} was never sent like this: {sale:?}"
            ));
        }
        return;
    };
    if !is_this(call) || call.answer.body()["sale_id"] != sale.sale_id {
        found.push(format!(
            "sale {transaction_id} is not the one that was answered 200: {sale:?}"
        ));
    }
    let commission_id = sale.commissions.first().map(|first| first.commission_id);
    if call.answer.body()["commission_id"].as_i64() != commission_id {
        found.push(format!(
            "sale {transaction_id} has not the commission that was answered"
        ));
    }
}

fn commission(sale: &SaleRow, found: &mut Vec<String>) {
    let [commission] = sale.commissions.as_slice() else {
        let count = sale.commissions.len();
        found.push(format!("sale {} has {count} commissions", sale.transaction_id));
        return;
    };
    let due = share(sale.amount_cents, RATE_BPS, 10_000);
    if commission.amount_cents != due {
        found.push(format!(
            "the commission of sale {} is {}, and {due} is due",
            sale.transaction_id, commission.amount_cents
        ));
    }
    let refunded = sale
        .api_refunded_cents
        .max(sale.processor_refunded_cents)
        .min(sale.amount_cents);
    let deducted = share(due, refunded, sale.amount_cents);
    if commission.deducted_cents != deducted {
        found.push(format!(
            "{} was taken from the commission of sale {}, and {deducted} is due for its refunds",
            commission.deducted_cents, sale.transaction_id
        ));
    }
}

/// `whole × part / of`, half away from zero.
pub(super) fn share(whole: i64, part: i64, of: i64) -> i64 {
    let (product, of) = (i128::from(whole) * i128::from(part), i128::from(of.max(1)));
    i64::try_from((2 * product + of) / (2 * of)).unwrap_or(i64::MAX)
}
