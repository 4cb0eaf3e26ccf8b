//! Orders concurrent calls that report sales of one customer.
//!
//! The time of an API call is its arrival at a server. Of two concurrent calls, the one that is decided first
//! is the first sale: its caller knows what the sale earns, and that must stay true.

use std::borrow::Cow;
use std::collections::HashMap;

use chrono::{DateTime, TimeDelta, Utc};
use domain::ids::CustomerId;
use messages::sale::SaleRecord;
use storage::tracking::customers::Customer;

use crate::customer_lookup::Found;

/// The times of concurrent calls, and the clocks of servers, differ by less than this.
const AT_ONCE: TimeDelta = TimeDelta::minutes(1);
/// Resolution of stored times.
const NEXT: TimeDelta = TimeDelta::microseconds(1);

/// Returns the records in their order. If a concurrent request's sale for the same customer was decided first, at
/// the same or a slightly later time, the record's time is moved to right after that sale.
pub fn postponed<'a>(
    records: &[&'a SaleRecord],
    found: &[Found],
    customers: &HashMap<CustomerId, Customer>,
) -> Vec<Cow<'a, SaleRecord>> {
    let mut latest: HashMap<CustomerId, DateTime<Utc>> = HashMap::new();
    records
        .iter()
        .zip(found)
        .map(|(record, found)| {
            let Found::Customer(found) = found else {
                return Cow::Borrowed(*record);
            };
            let stored = customers.get(&found.customer_id).and_then(latest_sale);
            let before = latest.get(&found.customer_id).copied().max(stored);
            let sold_at = match before {
                Some(before) if !record.from_processor => after(record.sold_at, before),
                _ => record.sold_at,
            };
            latest.insert(found.customer_id, before.unwrap_or(sold_at).max(sold_at));
            if sold_at == record.sold_at {
                return Cow::Borrowed(*record);
            }
            Cow::Owned(SaleRecord {
                sold_at,
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
