//! Sales and their commissions.

use std::collections::{BTreeMap, BTreeSet};

use super::{Allowed, RATE_BPS, Rows, SaleRow};
use crate::journal::{Answer, Asked, Call, Event, What};

pub(super) fn check(calls: &[Call], rows: &Rows, allowed: Allowed, found: &mut Vec<String>) {
    let mut stored: BTreeMap<&str, Vec<&SaleRow>> = BTreeMap::new();
    for sale in &rows.sales {
        stored.entry(&sale.transaction_id).or_default().push(sale);
    }
    let mut by_id: BTreeMap<&str, Vec<(&Asked, Option<&Answer>)>> = BTreeMap::new();
    for call in calls {
        let (Asked::Sale { transaction_id, .. } | Asked::Event(Event { transaction_id, .. })) = &call.asked
        else {
            continue;
        };
        let attempts = by_id.entry(transaction_id).or_default();
        attempts.push((&call.asked, call.answer.as_ref()));
    }
    for (transaction_id, attempts) in &by_id {
        let there = stored.remove(transaction_id).unwrap_or_default();
        if there.len() > 1 {
            found.push(format!("sale {transaction_id} is recorded {} times", there.len()));
        }
        one_sale(transaction_id, attempts, there.first().copied(), allowed, found);
    }
    for (transaction_id, _) in stored {
        found.push(format!("sale {transaction_id} was never sent"));
    }
    let earning_nothing = after_the_first(calls, &rows.sales);
    for sale in &rows.sales {
        if !earning_nothing.contains(sale.transaction_id.as_str()) {
            commission(sale, found);
        } else if !sale.commissions.is_empty() {
            found.push(format!(
                "sale {} has a commission, and is not its customer's first",
                sale.transaction_id
            ));
        }
    }
}

/// Recorded payments of the once-only product, except each customer's earliest.
fn after_the_first<'a>(calls: &'a [Call], sales: &[SaleRow]) -> BTreeSet<&'a str> {
    let recorded: BTreeSet<&str> = sales.iter().map(|sale| sale.transaction_id.as_str()).collect();
    let mut invoices: BTreeMap<&str, BTreeSet<(i64, &str)>> = BTreeMap::new();
    for call in calls {
        if let Asked::Event(event) = &call.asked
            && let What::Invoiced { at } = event.what
            && recorded.contains(event.transaction_id.as_str())
        {
            let of_customer = invoices.entry(&event.customer_key).or_default();
            of_customer.insert((at, &event.transaction_id));
        }
    }
    let later = invoices.values().flat_map(|invoices| invoices.iter().skip(1));
    later.map(|(_, transaction_id)| *transaction_id).collect()
}

fn one_sale(
    transaction_id: &str,
    attempts: &[(&Asked, Option<&Answer>)],
    there: Option<&SaleRow>,
    allowed: Allowed,
    found: &mut Vec<String>,
) {
    let answered = |status| {
        attempts
            .iter()
            .filter(move |(_, answer)| answer.and_then(Answer::status) == Some(status))
    };
    let is_api = |asked: &Asked| matches!(asked, Asked::Sale { .. });
    let recorded: Vec<_> = answered(200).filter(|(asked, _)| is_api(asked)).collect();
    if recorded.len() > 1 {
        found.push(format!(
            "sale {transaction_id} was answered 200 {} times",
            recorded.len()
        ));
    }
    let must_be = answered(200).next().is_some() || answered(409).next().is_some();
    let Some(sale) = there else {
        if must_be {
            found.push(format!(
                "sale {transaction_id} was answered as recorded and is missing"
            ));
        }
        return;
    };
    let is_of = |asked: &Asked| match asked {
        Asked::Sale {
            customer_key,
            amount_cents,
            ..
        }
        | Asked::Event(Event {
            customer_key,
            amount_cents,
            ..
        }) => *customer_key == sale.customer_key && *amount_cents == sale.amount_cents,
        _ => false,
    };
    match recorded.first() {
        Some((asked, Some(answer))) => {
            if !is_of(asked) || !has_id(answer, "sale_id", Some(sale.sale_id), allowed) {
                found.push(format!(
                    "sale {transaction_id} is not the one that was answered 200: {sale:?}"
                ));
            }
            let commission_id = sale
                .commissions
                .first()
                .map(|commission| commission.commission_id);
            if !has_id(answer, "commission_id", commission_id, allowed) {
                found.push(format!(
                    "sale {transaction_id} has not the commission that was answered"
                ));
            }
        }
        _ => {
            if !attempts.iter().any(|(asked, _)| is_of(asked)) {
                found.push(format!(
                    "sale {transaction_id} was never sent like this: {sale:?}"
                ));
            }
        }
    }
}

/// Whether the answer has the id of the row; after a restore any id will do.
fn has_id(answer: &Answer, field: &str, id: Option<i64>, allowed: Allowed) -> bool {
    let answered = answer.number(field);
    answered == id || (allowed.restored && answered.is_some() && id.is_some())
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
