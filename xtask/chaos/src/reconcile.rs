//! Compares the answers with the rows.
//!
//! - A sale that was answered 200 is recorded once, with its fields; after a 409 there is exactly one with
//!   its id; after an unknown outcome one or none.
//! - A click that was answered 200 is recorded once, unless its stream was deleted before it was stored.
//! - A lead that was answered 200 is recorded once, and its key is bound to its click. No lead is refused
//!   because its click is not found.
//! - A refund takes effect once; one with an unknown outcome once or not at all. The deduction matches the
//!   rule for all refunds of the sale.
//! - An event of the processor is settled once, with its payment and its reversals.
//!
//! Pure: rows in, violations out.

use std::collections::{BTreeMap, BTreeSet};

use super::journal::{Asked, Call};

/// Commission of every sale of the demo program, in basis points.
const RATE_BPS: i64 = 2_000;

/// The rows of one round's program.
#[derive(Debug, Clone, Default)]
pub(super) struct Rows {
    /// click_id of each click event.
    pub(super) clicks: Vec<String>,
    /// `(customer_key, click_id)` of customers that have a key.
    pub(super) customers: Vec<(String, String)>,
    /// customer_key of each lead event.
    pub(super) leads: Vec<String>,
    pub(super) sales: Vec<SaleRow>,
    pub(super) refunds: Vec<RefundRow>,
    /// `(processor's id, state)`.
    pub(super) events: Vec<(String, String)>,
}

#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow)]
pub(super) struct SaleRow {
    pub(super) sale_id: i64,
    pub(super) transaction_id: String,
    pub(super) amount_cents: i64,
    pub(super) customer_key: String,
    pub(super) api_refunded_cents: i64,
    pub(super) processor_refunded_cents: i64,
    #[sqlx(json)]
    pub(super) commissions: Vec<CommissionRow>,
}

#[derive(Debug, Clone, PartialEq, Eq, serde::Deserialize)]
pub(super) struct CommissionRow {
    pub(super) commission_id: i64,
    pub(super) amount_cents: i64,
    pub(super) deducted_cents: i64,
}

/// A refund of the API.
#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow)]
pub(super) struct RefundRow {
    pub(super) transaction_id: String,
    pub(super) refund_id: String,
    /// `None`: the rest of the sale.
    pub(super) requested_cents: Option<i64>,
    pub(super) effective_cents: i64,
}

/// Descriptions of all violations. `may_lose_clicks`: faults of the round allow that of acknowledged ones.
pub(super) fn violations(calls: &[Call], rows: &Rows, may_lose_clicks: bool) -> Vec<String> {
    let mut found = Vec::new();
    unexpected(calls, may_lose_clicks, &mut found);
    recorded(calls, rows, may_lose_clicks, &mut found);
    clicks(calls, rows, &mut found);
    leads(calls, rows, &mut found);
    sales::check(calls, rows, &mut found);
    refunds(calls, &mut found);
    refunded_amounts(rows, &mut found);
    events(calls, rows, &mut found);
    found
}

/// Requests are valid and in order, so only these answers are correct.
fn unexpected(calls: &[Call], may_lose_clicks: bool, found: &mut Vec<String>) {
    for call in calls {
        let Some(status) = call.answer.status() else {
            continue;
        };
        let message = call.answer.message();
        let fits = match (&call.asked, status) {
            (_, 200 | 500..) | (Asked::Sale { .. }, 409) => true,
            // A repeat of a lead whose answer was lost. Its click is found, however late it is stored.
            (Asked::Lead { .. }, 400) => {
                message.contains("cannot be updated to lead")
                    || (may_lose_clicks && message.contains("not found"))
            }
            _ => false,
        };
        if !fits {
            found.push(format!("{:?} was answered {status}: {message}", call.asked));
        }
    }
}

/// What was answered is recorded, nothing is recorded twice, and nothing that was not sent.
fn recorded(calls: &[Call], rows: &Rows, may_lose_clicks: bool, found: &mut Vec<String>) {
    let (mut sent, mut owed) = (BTreeSet::new(), BTreeSet::new());
    for call in calls {
        sent.extend(names(call));
        let is_owed = match &call.asked {
            Asked::Click { .. } => call.answer.is_ok() && !may_lose_clicks,
            Asked::Sale { .. } => call.answer.is_ok() || call.answer.status() == Some(409),
            // A refund of a fully refunded sale may not be stored.
            Asked::Refund { .. } => call.answer.is_ok() && call.answer.body()["reason"] != "already reversed",
            Asked::Lead { .. } | Asked::Event(_) => call.answer.is_ok(),
        };
        if is_owed {
            owed.extend(names(call));
        }
    }
    let stored = counts(rows.names());
    let missing = owed.iter().filter(|name| !stored.contains_key(*name));
    found.extend(missing.map(|name| format!("{name} was answered as recorded and is missing")));
    for (name, times) in &stored {
        if *times > 1 {
            found.push(format!("{name} is recorded {times} times"));
        }
        // A click has its id from its answer, which may be lost: `clicks` counts those.
        if !sent.contains(name) && !name.starts_with(CLICK) {
            found.push(format!("{name} was never sent"));
        }
    }
}

const CLICK: &str = "click ";

/// What a call records.
fn names(call: &Call) -> Vec<String> {
    match &call.asked {
        Asked::Click { .. } => click_id(call)
            .map(|id| format!("{CLICK}{id}"))
            .into_iter()
            .collect(),
        Asked::Lead { customer_key, .. } => vec![format!("the lead of {customer_key}")],
        Asked::Sale { transaction_id, .. } => vec![format!("sale {transaction_id}")],
        Asked::Refund {
            transaction_id,
            refund_id,
            ..
        } => vec![format!("refund {refund_id} of {transaction_id}")],
        Asked::Event(event) => vec![
            format!("sale {}", event.transaction_id),
            format!("event {}", event.id),
        ],
    }
}

impl Rows {
    /// As [`names`] has them.
    fn names(&self) -> impl Iterator<Item = String> {
        let clicks = self.clicks.iter().map(|id| format!("{CLICK}{id}"));
        let leads = self.leads.iter().map(|key| format!("the lead of {key}"));
        let sales = self
            .sales
            .iter()
            .map(|sale| format!("sale {}", sale.transaction_id));
        let refunds = self
            .refunds
            .iter()
            .map(|refund| format!("refund {} of {}", refund.refund_id, refund.transaction_id));
        let events = self.events.iter().map(|(id, _)| format!("event {id}"));
        clicks.chain(leads).chain(sales).chain(refunds).chain(events)
    }
}

fn click_id(call: &Call) -> Option<&str> {
    call.answer.body()["click_id"].as_str()
}

fn clicks(calls: &[Call], rows: &Rows, found: &mut Vec<String>) {
    let answered = counts(calls.iter().filter_map(click_id));
    for (click_id, times) in answered.iter().filter(|(_, times)| **times > 1) {
        found.push(format!("click_id {click_id} was given {times} times"));
    }
    let is_click = |call: &&Call| matches!(call.asked, Asked::Click { .. });
    let open = calls
        .iter()
        .filter(is_click)
        .filter(|call| call.answer.is_unknown())
        .count();
    let is_unanswered = |id: &&String| !answered.contains_key(id.as_str());
    let unanswered = rows.clicks.iter().filter(is_unanswered).count();
    if unanswered > open {
        found.push(format!(
            "{unanswered} clicks without an answer are recorded, and only {open} had an unknown outcome"
        ));
    }
}

/// A lead binds its customer_key to its click.
fn leads(calls: &[Call], rows: &Rows, found: &mut Vec<String>) {
    for call in calls.iter().filter(|call| call.answer.is_ok()) {
        if let Asked::Lead {
            click_id,
            customer_key,
        } = &call.asked
        {
            let is_bound = |(key, click): &&(String, String)| key == customer_key && click == click_id;
            if rows.customers.iter().filter(is_bound).count() != 1 {
                found.push(format!(
                    "{customer_key} is not the key of the one customer with {click_id}"
                ));
            }
        }
    }
}

fn refunds(calls: &[Call], found: &mut Vec<String>) {
    let applied = calls.iter().filter(|call| {
        matches!(call.asked, Asked::Refund { .. })
            && call.answer.is_ok()
            && call.answer.body()["status"] != "skipped"
    });
    for (refund, times) in counts(applied.flat_map(names)) {
        if times > 1 {
            found.push(format!("{refund} was applied {times} times"));
        }
    }
}

/// The refunded amount of each sale is the sum of its refunds.
fn refunded_amounts(rows: &Rows, found: &mut Vec<String>) {
    for sale in &rows.sales {
        let of_sale = || {
            rows.refunds
                .iter()
                .filter(|refund| refund.transaction_id == sale.transaction_id)
        };
        let effective: i64 = of_sale().map(|refund| refund.effective_cents).sum();
        let requested: i64 = of_sale()
            .map(|refund| refund.requested_cents.unwrap_or(sale.amount_cents))
            .sum();
        let due = requested.min(sale.amount_cents);
        if sale.api_refunded_cents != due {
            found.push(format!(
                "{} of sale {} were refunded, and its refunds add up to {due}",
                sale.api_refunded_cents, sale.transaction_id
            ));
        }
        if sale.processor_refunded_cents == 0 && effective != due {
            found.push(format!(
                "the refunds of sale {} had an effect of {effective}, and add up to {due}",
                sale.transaction_id
            ));
        }
    }
}

/// An event that was accepted is settled, with its reversals.
fn events(calls: &[Call], rows: &Rows, found: &mut Vec<String>) {
    let mut refunded: BTreeMap<&str, i64> = BTreeMap::new();
    let states: BTreeMap<&str, &str> = rows
        .events
        .iter()
        .map(|(id, state)| (id.as_str(), state.as_str()))
        .collect();
    for call in calls.iter().filter(|call| call.answer.is_ok()) {
        let Asked::Event(event) = &call.asked else {
            continue;
        };
        let back = refunded.entry(&event.transaction_id).or_default();
        *back = (*back).max(event.refunded_cents());
        let id = event.id.as_str();
        if let Some(state) = states.get(id).filter(|state| **state != "done") {
            found.push(format!("event {id} was answered 200 and is {state} in the inbox"));
        }
    }
    for sale in &rows.sales {
        let back = refunded.get(sale.transaction_id.as_str()).copied().unwrap_or(0);
        if sale.processor_refunded_cents < back {
            found.push(format!(
                "{back} of sale {} were refunded, and {} are counted",
                sale.transaction_id, sale.processor_refunded_cents
            ));
        }
    }
}

/// How often each occurs.
pub(super) fn counts<K: Ord>(items: impl Iterator<Item = K>) -> BTreeMap<K, usize> {
    let mut counts = BTreeMap::new();
    for item in items {
        *counts.entry(item).or_default() += 1;
    }
    counts
}

mod sales;
#[cfg(test)]
mod tests;
