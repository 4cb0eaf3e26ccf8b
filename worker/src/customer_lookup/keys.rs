//! The customer that holds each customer_key, as the records of a batch change it.

use std::collections::HashMap;

use domain::ids::{CustomerId, ProgramId};
use domain::text::CustomerKey;
use domain::tracking::signal::Signal;
use sqlx::PgConnection;
use storage::StorageResult;
use storage::money::commissions;
use storage::processor::processor_events::{self, waits_for_key};
use storage::tracking::customers::{self, Customer};

/// The customers that a reference names, as stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Match {
    pub customer_id: CustomerId,
    /// The customer whose click_id the reference quotes.
    pub clicked: Option<CustomerId>,
}

/// Whether a holder's key goes to the click of an authenticated caller: only a browser has bound the key.
pub(super) fn yields(caller: Option<ProgramId>, holder: Option<&Customer>) -> bool {
    caller.is_some() && holder.is_some_and(|holder| holder.customer_key.is_some() && holder.key_from_browser)
}

/// The keys bound and unbound while a batch is decided. The next record of the batch sees these changes, as
/// the next batch will see them in the table.
#[derive(Debug, Default)]
pub struct KeyBindings {
    /// `None`: the key is unbound.
    holders: HashMap<(ProgramId, String), Option<CustomerId>>,
    previous_holders: Vec<CustomerId>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NamedCustomer {
    pub customer_id: CustomerId,
    /// An authenticated call named the customer's click.
    is_authentic: bool,
    /// The customer to whom a browser had bound the record's key.
    previous_holder: Option<CustomerId>,
}

impl NamedCustomer {
    /// Whether the record takes its key from a customer to whom only a browser bound it, even if refused.
    pub const fn takes_key(&self) -> bool {
        self.previous_holder.is_some()
    }
}

impl KeyBindings {
    /// Bindings of this batch override the stored ones.
    pub fn named_customer(
        &self,
        customers: &HashMap<CustomerId, Customer>,
        caller: Option<ProgramId>,
        key: Option<&CustomerKey>,
        found: Match,
    ) -> Option<NamedCustomer> {
        let program_id = match caller {
            Some(program_id) => program_id,
            None => customers.get(&found.customer_id)?.program_id,
        };
        let now = key.and_then(|key| self.holders.get(&(program_id, key.to_string())));
        let customer_id = match now {
            Some(holder) => holder.or(found.clicked)?,
            None => found.customer_id,
        };
        let holder = customers.get(&customer_id);
        let by_key = holder.filter(|holder| {
            holder.program_id == program_id && holder.customer_key.as_deref() == key.map(CustomerKey::as_str)
        });
        let ours = |clicked: &CustomerId| {
            let clicked = customers.get(clicked);
            clicked.is_some_and(|clicked| clicked.program_id == program_id)
        };
        let other = found.clicked.filter(|clicked| *clicked != customer_id);
        let other = other.filter(|clicked| yields(caller, by_key) && ours(clicked));
        let customer_id = other.unwrap_or(customer_id);
        Some(NamedCustomer {
            customer_id,
            is_authentic: caller.is_some() && found.clicked == Some(customer_id),
            previous_holder: other.and(by_key).map(|holder| holder.customer_id),
        })
    }

    /// Takes the key from a customer to whom only a browser had bound it. Binds it to this customer, unless
    /// this customer has a key. A call that names the click together with the key confirms the binding.
    /// Returns the customers that changed.
    pub fn bind(
        &mut self,
        customers: &mut HashMap<CustomerId, Customer>,
        named: &NamedCustomer,
        key: Option<&CustomerKey>,
    ) -> Vec<CustomerId> {
        let Some(key) = key else { return Vec::new() };
        let mut changed = Vec::new();
        if let Some(holder) = named.previous_holder.and_then(|id| customers.get_mut(&id)) {
            holder.customer_key = None;
            holder.key_from_browser = false;
            holder.key_contested = true;
            self.holders.insert((holder.program_id, key.to_string()), None);
            self.previous_holders.push(holder.customer_id);
            changed.push(holder.customer_id);
        }
        let Some(customer) = customers.get_mut(&named.customer_id) else {
            return changed;
        };
        let before = (
            customer.customer_key.is_some(),
            customer.key_from_browser,
            customer.key_contested,
        );
        customer.key_contested |= named.previous_holder.is_some();
        if customer.customer_key.is_none() {
            customer.customer_key = Some(key.to_string());
            customer.proposed_customer_key = None;
            customer.key_from_browser = !named.is_authentic;
            self.holders
                .insert((customer.program_id, key.to_string()), Some(customer.customer_id));
        } else if customer.customer_key.as_deref() == Some(key.as_str()) {
            customer.key_from_browser &= !named.is_authentic;
        }
        if before != (true, customer.key_from_browser, customer.key_contested) {
            changed.push(customer.customer_id);
        }
        changed
    }

    /// Writes these customers, wakes the payments that wait for their keys, and flags the commissions of
    /// customers that lost a key.
    pub async fn save(
        &self,
        connection: &mut PgConnection,
        customers: &HashMap<CustomerId, Customer>,
        changed: impl IntoIterator<Item = &CustomerId>,
    ) -> StorageResult<()> {
        let changed: Vec<&Customer> = changed.into_iter().filter_map(|id| customers.get(id)).collect();
        let ids: Vec<i64> = self.previous_holders.iter().map(|id| id.get()).collect();
        customers::unbind(connection, &ids).await?;
        customers::save(connection, &changed).await?;
        let bound = self.holders.iter().filter(|(_, holder)| holder.is_some());
        let awaited: Vec<_> = bound
            .map(|((program_id, key), _)| (*program_id, waits_for_key(key)))
            .collect();
        processor_events::wake(connection, &awaited).await?;
        let previous_holders = self.previous_holders.iter().filter_map(|id| customers.get(id));
        let bought: Vec<_> = previous_holders
            .filter_map(|holder| Some((holder.customer_id, holder.program_id, holder.first_purchase?.at)))
            .collect();
        commissions::flag(connection, &bought, Signal::ContestedKey).await
    }
}
