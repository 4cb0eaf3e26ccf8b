//! The sales of one batch while they are decided.
//!
//! Holds the inputs of the decisions: locked customers, program terms, subscriptions, links. Each recorded
//! sale changes them for the next one, so that a second payment in the same batch counts as a second payment.

use std::collections::{HashMap, HashSet};

use chrono::{DateTime, Utc};
use domain::ids::{CustomerId, EventId, PartnerId, ProgramId, ReferralLinkId};
use domain::text::{CustomerKey, SubscriptionId};
use domain::tracking::sale::{
    FirstPayment, LinkOwner, ProgramTerms, Recording, SaleCustomer, SaleDecision, SaleFacts, SaleRefusal,
    Subscription, decide,
};
use domain::tracking::signal::{PartnerAddresses, Signal, SignalRules};
use messages::sale::SaleRecord;
use sqlx::PgConnection;
use storage::StorageResult;
use storage::program::links::{self, Memberships};
use storage::program::programs::{self, Program};
use storage::reads::rollups::Deltas;
use storage::tracking::customers::{Customer, Milestone};
use storage::tracking::subscriptions::{self, SubscriptionKey};

use crate::customer_lookup::{Found, KeyBindings, Match, NamedCustomer};
use crate::reassessment::OutOfOrder;
use crate::signals;

pub struct SaleBatch {
    customers: HashMap<CustomerId, Customer>,
    programs: HashMap<ProgramId, Program>,
    subscriptions: HashMap<SubscriptionKey, Subscription>,
    links: HashMap<ReferralLinkId, LinkOwner>,
    addresses: PartnerAddresses,
    keys: KeyBindings,
    changed: HashSet<CustomerId>,
    /// The customer of each recorded sale.
    buyers: HashMap<EventId, CustomerId>,
    /// When each record claimed its transaction_id.
    claimed_at: HashMap<EventId, DateTime<Utc>>,
    /// Subscriptions whose first sale is in this batch, with that sale's event.
    started: Vec<(SubscriptionKey, EventId)>,
    deltas: Deltas,
    out_of_order: OutOfOrder,
}

impl SaleBatch {
    pub async fn open(
        connection: &mut PgConnection,
        records: &[&SaleRecord],
        customers: HashMap<CustomerId, Customer>,
        claimed_at: HashMap<EventId, DateTime<Utc>>,
    ) -> StorageResult<Self> {
        let program_ids: HashSet<i64> = records.iter().map(|record| record.program_id.get()).collect();
        let programs = programs::find(connection, &program_ids.into_iter().collect::<Vec<_>>()).await?;
        let subscriptions = find_subscriptions(connection, records).await?;
        let touched = customers.values().flat_map(|customer| customer.journey.touches());
        let mut link_ids: HashSet<i64> = touched.map(|touch| touch.referral_link_id.get()).collect();
        link_ids.extend(
            customers
                .values()
                .map(|customer| customer.journey.first().referral_link_id.get()),
        );
        let renewed = subscriptions
            .values()
            .filter_map(|subscription| subscription.first.as_ref())
            .flat_map(|first| &first.credited_links);
        link_ids.extend(renewed.map(|link| link.get()));
        let owners = links::owners(
            connection,
            &link_ids.into_iter().collect::<Vec<_>>(),
            Memberships::Approved,
        )
        .await?;
        Ok(Self {
            links: owners.links,
            addresses: owners.addresses,
            customers,
            programs,
            subscriptions,
            keys: KeyBindings::default(),
            changed: HashSet::new(),
            buyers: HashMap::new(),
            claimed_at,
            started: Vec::new(),
            deltas: Deltas::default(),
            out_of_order: OutOfOrder::default(),
        })
    }

    /// Returns `None` if the click or lead for which the sale waits may still arrive.
    pub fn judge(&mut self, record: &SaleRecord, found: Found, rules: &SignalRules) -> Option<SaleDecision> {
        let named_customer = match found {
            Found::Pending => return None,
            Found::Missing => None,
            Found::Customer(found) => self.named_customer(record, found),
        };
        let customer =
            named_customer.and_then(|named_customer| self.customers.get(&named_customer.customer_id));
        let Some(program) = self.programs.get(&record.program_id) else {
            return Some(SaleDecision::Refuse(SaleRefusal::NoAttribution));
        };
        let buyer = customer.map(|customer| sale_customer(customer, record.sold_at));
        let subscription = subscription_key(record).and_then(|key| self.subscriptions.get(&key));
        let subscription = subscription.map(|subscription| subscription.before(record.sold_at));
        let buying_partners = customer.map(|customer| {
            // This sale itself may bind the key.
            let named = record.sale.customer_key.as_ref().map(CustomerKey::as_str);
            let key = customer.customer_key.as_deref().or(named);
            rules.buying_partners(&self.addresses, key, customer.email_hash.as_deref())
        });
        let decision = decide(
            &record.sale,
            record.sold_at,
            &SaleFacts {
                program_id: record.program_id,
                terms: &program.terms,
                archived_at: program.archived_at,
                claimed_at: self
                    .claimed_at
                    .get(&record.event_id)
                    .copied()
                    .unwrap_or(record.sold_at),
                customer: buyer.as_ref(),
                subscription: subscription.as_ref(),
                links: &self.links,
                buying_partners: &buying_partners.unwrap_or_default(),
            },
        );
        let is_recorded = match (&decision, buyer) {
            (SaleDecision::Record(recording), Some(buyer)) => {
                self.follow(record, recording, &buyer);
                true
            }
            _ => false,
        };
        if let Some(named_customer) =
            named_customer.filter(|named_customer| is_recorded || named_customer.takes_key())
        {
            self.bind(record, &named_customer);
        }
        Some(decision)
    }

    /// A record whose payment is already a sale still binds its key to its customer.
    pub fn recognise(&mut self, record: &SaleRecord, found: Found) {
        let Found::Customer(found) = found else {
            return;
        };
        if let Some(named_customer) = self.named_customer(record, found)
            && let Some(customer) = self.customers.get(&named_customer.customer_id)
            && customer.program_id == record.program_id
        {
            self.bind(record, &named_customer);
        }
    }

    fn named_customer(&self, record: &SaleRecord, found: Match) -> Option<NamedCustomer> {
        let key = record.sale.customer_key.as_ref();
        self.keys
            .named_customer(&self.customers, Some(record.program_id), key, found)
    }

    fn bind(&mut self, record: &SaleRecord, named_customer: &NamedCustomer) {
        let key = record.sale.customer_key.as_ref();
        self.changed
            .extend(self.keys.bind(&mut self.customers, named_customer, key));
    }

    /// Applies the changes that the next record of the batch must see.
    fn follow(&mut self, record: &SaleRecord, recording: &Recording, buyer: &SaleCustomer) {
        self.buyers.insert(record.event_id, buyer.customer_id);
        self.changed.insert(buyer.customer_id);
        if let Some(customer) = self.customers.get_mut(&buyer.customer_id) {
            customer.status = customer.status.on_sale();
            let purchase = Milestone {
                at: record.sold_at,
                referral_link_id: recording.credited_links.last().copied(),
            };
            let latest = customer
                .last_purchase_at
                .max(customer.first_purchase.map(|known| known.at));
            customer.last_purchase_at = latest.max(Some(purchase.at));
            if customer
                .first_purchase
                .is_some_and(|known| purchase.at <= known.at)
            {
                self.out_of_order.note(customer.customer_id, purchase.at);
            }
            // Sales may arrive out of order: the conversion moves to the day and link of the earlier sale.
            if customer.first_purchase.is_none_or(|known| purchase.at < known.at) {
                if let Some(known) = customer.first_purchase.replace(purchase) {
                    self.deltas.no_conversion(customer.program_id, known);
                }
                self.deltas.conversion(customer.program_id, purchase);
            }
        }
        self.follow_subscription(record, recording, buyer);
    }

    /// The earliest payment is the first one, whatever the order of arrival.
    fn follow_subscription(&mut self, record: &SaleRecord, recording: &Recording, buyer: &SaleCustomer) {
        let Some(key) = subscription_key(record) else {
            return;
        };
        let subscription = self.subscriptions.entry(key.clone()).or_default();
        let known = subscription.first.as_ref().map(|first| first.at);
        if known.is_some_and(|known| known < record.sold_at) {
            return;
        }
        if known.is_some() {
            self.out_of_order.note(buyer.customer_id, record.sold_at);
        }
        let journey = buyer.journey.at_payment(record.sold_at);
        subscription.first = Some(FirstPayment {
            at: record.sold_at,
            first_click_at: journey
                .unwrap_or_else(|| buyer.journey.clone())
                .first()
                .clicked_at,
            credited_links: recording.credited_links.clone(),
        });
        self.started.retain(|(started, _)| *started != key);
        self.started.push((key, record.event_id));
    }

    pub fn buyer(&self, event_id: EventId) -> Option<CustomerId> {
        self.buyers.get(&event_id).copied()
    }

    /// The customer of a recorded sale, after all sales of the batch.
    pub fn customer(&self, event_id: EventId) -> Option<&Customer> {
        self.customers.get(&self.buyer(event_id)?)
    }

    pub fn signals(&self, record: &SaleRecord, partner_id: PartnerId, rules: &SignalRules) -> Vec<Signal> {
        let Some(customer) = self.customer(record.event_id) else {
            return Vec::new();
        };
        signals::of_sale(rules, customer, &self.addresses, partner_id, record.sold_at)
    }

    pub fn program(&self, program_id: ProgramId) -> Option<&Program> {
        self.programs.get(&program_id)
    }

    pub fn terms(&self, program_id: ProgramId) -> Option<&ProgramTerms> {
        self.program(program_id).map(|program| &program.terms)
    }

    /// Subscriptions first paid in this batch: the key, the event of the sale, the terms for renewals.
    pub fn started(&self) -> impl Iterator<Item = (&SubscriptionKey, EventId, &FirstPayment)> {
        self.started.iter().filter_map(|(key, event_id)| {
            let first = self.subscriptions.get(key)?.first.as_ref()?;
            Some((key, *event_id, first))
        })
    }

    /// Writes the changed customers, and what they and these sales add to the rollups. Returns the customers,
    /// and those with a later sale that was recorded before an earlier one.
    pub async fn close(
        mut self,
        connection: &mut PgConnection,
        sales: Deltas,
    ) -> StorageResult<(HashMap<CustomerId, Customer>, OutOfOrder)> {
        self.deltas.extend(sales);
        self.deltas.append(connection).await?;
        self.keys.save(connection, &self.customers, &self.changed).await?;
        Ok((self.customers, self.out_of_order))
    }
}

fn sale_customer(customer: &Customer, sold_at: DateTime<Utc>) -> SaleCustomer {
    SaleCustomer {
        customer_id: customer.customer_id,
        program_id: customer.program_id,
        journey: customer.journey.clone(),
        first_payment_at: customer
            .first_purchase
            .map(|first| first.at)
            .filter(|first| *first < sold_at),
    }
}

async fn find_subscriptions(
    connection: &mut PgConnection,
    records: &[&SaleRecord],
) -> StorageResult<HashMap<SubscriptionKey, Subscription>> {
    let named: HashSet<SubscriptionKey> = records
        .iter()
        .filter_map(|record| subscription_key(record))
        .collect();
    let named: Vec<SubscriptionKey> = named.into_iter().collect();
    let mut subscriptions = subscriptions::find(connection, &named).await?;
    subscriptions.retain(|_, subscription| subscription.first.is_some());
    // When a start or end becomes known, the payment step has sales decided again, but it cannot see a sale
    // whose transaction is open. The lock makes it wait.
    let unpaid: Vec<SubscriptionKey> = named
        .into_iter()
        .filter(|key| !subscriptions.contains_key(key))
        .collect();
    if !unpaid.is_empty() {
        subscriptions::lock(connection, &unpaid).await?;
        subscriptions.extend(subscriptions::find(connection, &unpaid).await?);
    }
    Ok(subscriptions)
}

pub fn subscription_key(record: &SaleRecord) -> Option<SubscriptionKey> {
    let subscription_id: &SubscriptionId = record.sale.subscription_id.as_ref()?;
    Some((record.program_id, subscription_id.to_string()))
}
