//! Compares the answers with the rows.
//!
//! - A sale that was answered 200 is recorded once, with its fields; after a 409 there is exactly one with its id; after an unknown
//!   outcome one or none.
//! - A click that was answered 200 is recorded once, unless its stream was deleted before it was stored.
//! - A lead that was answered 200 is recorded once, and its key is bound to its click. No lead is refused because its click is not found.
//! - Of payments that earn a commission once, the earliest earns it, whatever the order of arrival.
//! - A refund takes effect once; one with an unknown outcome once or not at all. The deduction matches the rule for all refunds of the
//!   sale.
//! - An event of the processor is settled once, with its payment and its reversals.
//!
//! Pure: rows in, violations out.

use std::collections::{BTreeMap, BTreeSet};

use super::journal::{Answer, Asked, Call};

/// Commission of every sale of the demo program, in basis points.
pub(super) const RATE_BPS: i64 = 2_000;

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

/// Deviations that a round's faults allow.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Allowed {
    /// Acknowledged clicks may be lost.
    pub(super) lost_clicks: bool,
    /// Signatures may look too old or too new.
    pub(super) refused_events: bool,
    /// Sales and commissions may have other ids than were answered, and processors may report what is recorded.
    pub(super) restored: bool,
}

/// Descriptions of all violations.
pub(super) fn violations(calls: &[Call], rows: &Rows, allowed: Allowed) -> Vec<String> {
    let mut found = Vec::new();
    unexpected(calls, allowed, &mut found);
    clicks(calls, rows, allowed, &mut found);
    leads(calls, rows, &mut found);
    sales::check(calls, rows, allowed, &mut found);
    refunds(calls, rows, &mut found);
    refunded_amounts(rows, &mut found);
    events(calls, rows, allowed, &mut found);
    found
}

/// Requests are valid and in order, so only these answers are correct.
fn unexpected(calls: &[Call], allowed: Allowed, found: &mut Vec<String>) {
    for call in calls {
        let Some(answer) = &call.answer else { continue };
        let Some(status) = answer.status() else { continue };
        let fits = match (&call.asked, status) {
            (_, 200 | 500..) | (Asked::Sale { .. }, 409) => true,
            // A repeat of a lead whose answer was lost. Its click is found, however late it is stored.
            (Asked::Lead { .. }, 400) => {
                answer.message().contains("cannot be updated to lead")
                    || (allowed.lost_clicks && answer.message().contains("not found"))
            }
            (Asked::Event(_), 400) => allowed.refused_events,
            _ => false,
        };
        if !fits {
            found.push(format!(
                "{:?} was answered {status}: {}",
                call.asked,
                answer.message()
            ));
        }
    }
}

fn clicks(calls: &[Call], rows: &Rows, allowed: Allowed, found: &mut Vec<String>) {
    let stored = counts(rows.clicks.iter().map(String::as_str));
    let of_clicks = || {
        calls
            .iter()
            .filter(|call| matches!(call.asked, Asked::Click { .. }))
    };
    let answered = counts(
        of_clicks()
            .filter_map(|call| call.answer.as_ref())
            .filter_map(|answer| answer.text("click_id")),
    );
    for (click_id, times) in &answered {
        if *times > 1 {
            found.push(format!("click_id {click_id} was given {times} times"));
        }
        if !stored.contains_key(click_id) && !allowed.lost_clicks {
            found.push(format!("click {click_id} was answered 200 and is missing"));
        }
    }
    for (click_id, times) in &stored {
        if *times > 1 {
            found.push(format!("click {click_id} is recorded {times} times"));
        }
    }
    let open = of_clicks().filter(|call| is_open(call)).count();
    let unanswered = stored
        .keys()
        .filter(|click_id| !answered.contains_key(*click_id))
        .count();
    if unanswered > open {
        found.push(format!(
            "{unanswered} clicks without an answer are recorded, and only {open} had an unknown outcome"
        ));
    }
}

fn leads(calls: &[Call], rows: &Rows, found: &mut Vec<String>) {
    let stored = counts(rows.leads.iter().map(String::as_str));
    let mut asked = BTreeSet::new();
    for call in calls {
        let Asked::Lead {
            click_id,
            customer_key,
        } = &call.asked
        else {
            continue;
        };
        asked.insert(customer_key.as_str());
        if call.answer.as_ref().is_some_and(Answer::is_ok) {
            if !stored.contains_key(customer_key.as_str()) {
                found.push(format!(
                    "the lead of {customer_key} was answered 200 and is missing"
                ));
            }
            let bound = |(key, click): &&(String, String)| key == customer_key && click == click_id;
            if rows.customers.iter().filter(bound).count() != 1 {
                found.push(format!(
                    "{customer_key} is not the key of the one customer with {click_id}"
                ));
            }
        }
    }
    for (customer_key, times) in &stored {
        if *times > 1 {
            found.push(format!("the lead of {customer_key} is recorded {times} times"));
        }
        if !asked.contains(customer_key) {
            found.push(format!("the lead of {customer_key} was never sent"));
        }
    }
}

fn refunds(calls: &[Call], rows: &Rows, found: &mut Vec<String>) {
    let stored = counts(
        rows.refunds
            .iter()
            .map(|refund| (refund.transaction_id.as_str(), refund.refund_id.as_str())),
    );
    let mut asked: BTreeMap<(&str, &str), Vec<Option<&Answer>>> = BTreeMap::new();
    for call in calls {
        if let Asked::Refund {
            transaction_id,
            refund_id,
            ..
        } = &call.asked
        {
            let key = (transaction_id.as_str(), refund_id.as_str());
            let answers = asked.entry(key).or_default();
            answers.push(call.answer.as_ref());
        }
    }
    for ((transaction_id, refund_id), answers) in &asked {
        let oks = || answers.iter().flatten().filter(|answer| answer.is_ok());
        let times = stored.get(&(*transaction_id, *refund_id)).copied().unwrap_or(0);
        let applied = oks()
            .filter(|answer| answer.text("status") != Some("skipped"))
            .count();
        // A refund of a fully refunded sale may not be stored.
        let may_be_none = oks().all(|answer| answer.text("reason") == Some("already reversed"));
        if applied > 1 {
            found.push(format!(
                "refund {refund_id} of {transaction_id} was applied {applied} times"
            ));
        }
        if times == 0 && !may_be_none {
            found.push(format!(
                "refund {refund_id} of {transaction_id} was answered 200 and is missing"
            ));
        }
        if times > 1 {
            found.push(format!(
                "refund {refund_id} of {transaction_id} is recorded {times} times"
            ));
        }
    }
    for key in stored.keys().filter(|key| !asked.contains_key(*key)) {
        found.push(format!("refund {} of {} was never sent", key.1, key.0));
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

fn events(calls: &[Call], rows: &Rows, allowed: Allowed, found: &mut Vec<String>) {
    let mut refunded: BTreeMap<&str, i64> = BTreeMap::new();
    let mut sent = BTreeSet::new();
    for call in calls {
        let Asked::Event(event) = &call.asked else {
            continue;
        };
        let id = event.id.as_str();
        sent.insert(id);
        if !call.answer.as_ref().is_some_and(Answer::is_ok) {
            continue;
        }
        let back = refunded.entry(&event.transaction_id).or_default();
        *back = (*back).max(event.refunded_cents());
        let states: Vec<&str> = rows
            .events
            .iter()
            .filter(|(event, _)| event == id)
            .map(|(_, state)| state.as_str())
            .collect();
        let is_settled = states == ["done"] || (allowed.restored && states == ["done (duplicate)"]);
        if !is_settled {
            found.push(format!(
                "event {id} was answered 200 and is {states:?} in the inbox"
            ));
        }
    }
    for (id, _) in rows.events.iter().filter(|(id, _)| !sent.contains(id.as_str())) {
        found.push(format!("event {id} was never sent"));
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

fn is_open(call: &Call) -> bool {
    call.answer.as_ref().is_none_or(Answer::is_unknown)
}

fn counts<K: Ord>(items: impl Iterator<Item = K>) -> BTreeMap<K, usize> {
    let mut counts = BTreeMap::new();
    for item in items {
        *counts.entry(item).or_default() += 1;
    }
    counts
}

mod sales;
#[cfg(test)]
mod tests;
