//! The fraud signals of a sale, from its stored customer.

use chrono::{DateTime, Utc};
use domain::ids::PartnerId;
use domain::tracking::signal::{PartnerAddresses, Signal, SignalFacts, SignalRules};
use storage::tracking::customers::Customer;

pub fn of_sale(
    rules: &SignalRules,
    customer: &Customer,
    addresses: &PartnerAddresses,
    partner_id: PartnerId,
    sold_at: DateTime<Utc>,
) -> Vec<Signal> {
    rules.judge(&SignalFacts {
        customer_key: customer.customer_key.as_deref(),
        email_hash: customer.email_hash.as_deref(),
        key_contested: customer.key_contested,
        many_leads: customer.many_leads,
        partner_addresses: addresses.get(&partner_id).map(Vec::as_slice).unwrap_or_default(),
        first_click_at: customer.journey.first().clicked_at,
        sold_at,
    })
}
