//! The sales of one batch while they are decided on.
//!
//! Holds what the decisions rest on (customers locked, program terms, subscriptions, links) and lets each recorded
//! sale change it for the next one: a second payment in the same batch is a second payment.

use std::collections::{HashMap, HashSet};

use chrono::{DateTime, Utc};
use common::domain::ids::{CustomerId, EventId, PartnerId, ProgramId, ReferralLinkId};
use common::domain::sale::{
    LinkOwner, ProgramTerms, Recording, SaleCustomer, SaleDecision, SaleFacts, SaleRefusal, Subscription,
    decide,
};
use common::domain::signal::{PartnerAddresses, Signal, SignalFacts, SignalRules};
use common::domain::text::SubscriptionId;
use common::messages::sale::SaleRecord;
use common::storage::customers::{Customer, Milestone};
use common::storage::programs::{self, Program};
use common::storage::rollups::Deltas;
use common::storage::subscriptions::{self, SubscriptionKey};
use common::storage::{StorageResult, links};
use sqlx::PgConnection;

use crate::customer_lookup::{Found, KeyBindings, Match, Whom};

pub enum Judged {
    /// Its click may still be on its way.
    NotYet,
    /// A renewal of a subscription whose first payment was not seen, and may still come.
    FirstPaymentMissing,
    Decided(SaleDecision),
}

pub struct Desk {
    customers: HashMap<CustomerId, Customer>,
    programs: HashMap<ProgramId, Program>,
    subscriptions: HashMap<SubscriptionKey, Subscription>,
    links: HashMap<ReferralLinkId, LinkOwner>,
    addresses: PartnerAddresses,
    keys: KeyBindings,
    changed: HashSet<CustomerId>,
    /// The customer of each recorded sale.
    buyers: HashMap<EventId, CustomerId>,
    /// When the records claimed their transaction_ids.
    claimed_at: HashMap<EventId, DateTime<Utc>>,
    /// Subscriptions whose first sale is in this batch, with that sale's event.
    started: Vec<(SubscriptionKey, EventId)>,
    deltas: Deltas,
}

impl Desk {
    pub async fn open(
        connection: &mut PgConnection,
        records: &[&SaleRecord],
        customers: HashMap<CustomerId, Customer>,
        claimed_at: HashMap<EventId, DateTime<Utc>>,
    ) -> StorageResult<Self> {
        let program_ids: HashSet<i64> = records.iter().map(|record| record.program_id.get()).collect();
        let programs = programs::find(connection, &program_ids.into_iter().collect::<Vec<_>>()).await?;
        let named: HashSet<SubscriptionKey> = records
            .iter()
            .filter_map(|record| subscription_key(record))
            .collect();
        let subscriptions = subscriptions::find(connection, &named.into_iter().collect::<Vec<_>>()).await?;
        let touched = customers.values().flat_map(|customer| customer.journey.touches());
        let mut link_ids: HashSet<i64> = touched.map(|touch| touch.referral_link_id.get()).collect();
        link_ids.extend(
            customers
                .values()
                .map(|customer| customer.journey.first().referral_link_id.get()),
        );
        let renewed = subscriptions
            .values()
            .flat_map(|subscription| &subscription.credited_links);
        link_ids.extend(renewed.map(|link| link.get()));
        let owners = links::owners(connection, &link_ids.into_iter().collect::<Vec<_>>()).await?;
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
        })
    }

    /// `may_wait`: for what the record refers to and is not there.
    pub fn judge(&mut self, record: &SaleRecord, found: Found, may_wait: bool) -> Judged {
        let first_payment_missing = record.sale.is_recurring
            && subscription_key(record).is_some_and(|key| !self.subscriptions.contains_key(&key));
        let archived = self
            .program(record.program_id)
            .is_some_and(|program| program.archived_at.is_some());
        if may_wait && first_payment_missing && !archived {
            return Judged::FirstPaymentMissing;
        }
        let whom = match found {
            Found::NotYet => return Judged::NotYet,
            Found::Missing => None,
            Found::Customer(found) => self.whom(record, found),
        };
        let customer = whom.and_then(|whom| self.customers.get(&whom.customer_id));
        let Some(program) = self.programs.get(&record.program_id) else {
            return Judged::Decided(SaleDecision::Refuse(SaleRefusal::NoAttribution));
        };
        let buyer = customer.map(sale_customer);
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
                subscription: subscription_key(record).and_then(|key| self.subscriptions.get(&key)),
                links: &self.links,
            },
        );
        if let (SaleDecision::Record(recording), Some(buyer), Some(whom)) = (&decision, buyer, whom) {
            self.follow(record, recording, &buyer);
            self.bind(record, &whom);
        }
        Judged::Decided(decision)
    }

    /// A payment that is a sale already still tells whose key its customer's is.
    pub fn recognise(&mut self, record: &SaleRecord, found: Found) {
        let Found::Customer(found) = found else {
            return;
        };
        if let Some(whom) = self.whom(record, found)
            && let Some(customer) = self.customers.get(&whom.customer_id)
            && customer.program_id == record.program_id
        {
            self.bind(record, &whom);
        }
    }

    fn whom(&self, record: &SaleRecord, found: Match) -> Option<Whom> {
        let key = record.sale.customer_key.as_ref();
        self.keys
            .whom(&self.customers, Some(record.program_id), key, found)
    }

    fn bind(&mut self, record: &SaleRecord, whom: &Whom) {
        let key = record.sale.customer_key.as_ref();
        self.changed
            .extend(self.keys.bind(&mut self.customers, whom, key));
    }

    /// What the next record of the batch must see.
    fn follow(&mut self, record: &SaleRecord, recording: &Recording, buyer: &SaleCustomer) {
        self.buyers.insert(record.event_id, buyer.customer_id);
        self.changed.insert(buyer.customer_id);
        if let Some(customer) = self.customers.get_mut(&buyer.customer_id) {
            customer.status = customer.status.on_sale();
            let purchase = Milestone {
                at: record.sold_at,
                referral_link_id: recording.credited_links.last().copied(),
            };
            // Sales may arrive out of order: the conversion then moves to the earlier one's day and link.
            if customer.first_purchase.is_none_or(|known| purchase.at < known.at) {
                if let Some(known) = customer.first_purchase.replace(purchase) {
                    self.deltas.no_conversion(customer.program_id, known);
                }
                self.deltas.conversion(customer.program_id, purchase);
            }
        }
        if let Some(key) = subscription_key(record)
            && !self.subscriptions.contains_key(&key)
        {
            self.started.push((key.clone(), record.event_id));
            self.subscriptions.insert(
                key,
                Subscription {
                    first_payment_at: record.sold_at,
                    first_click_at: buyer.journey.first().clicked_at,
                    credited_links: recording.credited_links.clone(),
                    ended_at: None,
                },
            );
        }
    }

    pub fn buyer(&self, event_id: EventId) -> Option<CustomerId> {
        self.buyers.get(&event_id).copied()
    }

    /// What is odd about a recorded sale, as far as this partner earns by it.
    pub fn signals(&self, record: &SaleRecord, partner_id: PartnerId, rules: &SignalRules) -> Vec<Signal> {
        let buyer = self.buyer(record.event_id).and_then(|id| self.customers.get(&id));
        let Some(customer) = buyer else {
            return Vec::new();
        };
        rules.judge(&SignalFacts {
            customer_key: customer.customer_key.as_deref(),
            email_hash: customer.email_hash.as_deref(),
            key_contested: customer.key_contested,
            partner_addresses: self
                .addresses
                .get(&partner_id)
                .map(Vec::as_slice)
                .unwrap_or_default(),
            first_click_at: customer.journey.first().clicked_at,
            sold_at: record.sold_at,
        })
    }

    pub fn program(&self, program_id: ProgramId) -> Option<&Program> {
        self.programs.get(&program_id)
    }

    pub fn terms(&self, program_id: ProgramId) -> Option<&ProgramTerms> {
        self.program(program_id).map(|program| &program.terms)
    }

    /// Subscriptions started in this batch: key, event of the first sale, what its renewals follow.
    pub fn started(&self) -> impl Iterator<Item = (&SubscriptionKey, EventId, &Subscription)> {
        self.started.iter().filter_map(|(key, event_id)| {
            self.subscriptions
                .get(key)
                .map(|started| (key, *event_id, started))
        })
    }

    /// Writes the customers that changed, and what they and these sales add to the rollups.
    pub async fn close(mut self, connection: &mut PgConnection, sales: Deltas) -> StorageResult<()> {
        self.deltas.extend(sales);
        self.deltas.append(connection).await?;
        self.keys.save(connection, &self.customers, &self.changed).await
    }
}

fn sale_customer(customer: &Customer) -> SaleCustomer {
    SaleCustomer {
        customer_id: customer.customer_id,
        program_id: customer.program_id,
        journey: customer.journey.clone(),
        first_purchase_date: customer.first_purchase.map(|first| first.at),
    }
}

pub fn subscription_key(record: &SaleRecord) -> Option<SubscriptionKey> {
    let subscription_id: &SubscriptionId = record.sale.subscription_id.as_ref()?;
    Some((record.program_id, subscription_id.to_string()))
}
