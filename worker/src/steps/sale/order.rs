//! Calls that report sales at nearly the same time.
//!
//! An API call has no time of its own but that of its arrival at some server. Of two that are under way at once, the one that is
//! decided first is the first sale: its caller is answered what it earns, and that stays true.

use std::collections::HashMap;

use chrono::{DateTime, TimeDelta, Utc};
use domain::ids::CustomerId;
use messages::sale::SaleRecord;
use storage::customers::Customer;

use crate::customer_lookup::Found;

/// Calls under way at once, and clocks of servers, differ by less.
const AT_ONCE: TimeDelta = TimeDelta::minutes(1);
/// Times are stored as exactly.
const NEXT: TimeDelta = TimeDelta::microseconds(1);

/// Those of these records that are to come right after a sale of their customer that was decided before them, with that time. In
/// the order of the records.
pub fn postponed(
    records: &[&SaleRecord],
    found: &[Found],
    customers: &HashMap<CustomerId, Customer>,
) -> Vec<Option<SaleRecord>> {
    let mut latest: HashMap<CustomerId, DateTime<Utc>> = HashMap::new();
    records
        .iter()
        .zip(found)
        .map(|(record, found)| {
            let Found::Customer(found) = found else {
                return None;
            };
            let stored = customers.get(&found.customer_id).and_then(latest_sale);
            let before = latest.get(&found.customer_id).copied().max(stored);
            let at = match before {
                Some(before) if !record.from_processor => after(record.sold_at, before),
                _ => record.sold_at,
            };
            latest.insert(found.customer_id, before.unwrap_or(at).max(at));
            (at != record.sold_at).then(|| SaleRecord {
                sold_at: at,
                ..(*record).clone()
            })
        })
        .collect()
}

fn latest_sale(customer: &Customer) -> Option<DateTime<Utc>> {
    customer
        .last_purchase_at
        .max(customer.first_purchase.map(|first| first.at))
}

fn after(sold_at: DateTime<Utc>, before: DateTime<Utc>) -> DateTime<Utc> {
    if sold_at <= before && before - sold_at < AT_ONCE {
        before + NEXT
    } else {
        sold_at
    }
}
