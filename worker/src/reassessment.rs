//! Decides recorded sales again when an earlier click, payment or subscription start becomes known after
//! them.
//!
//! Phases:
//!
//! 1. *sales*: read and lock all sales of each customer since that customer's earliest late fact, with their
//!    commissions;
//! 2. *decisions*: decide them again, in the order of the sales' own times
//!    ([`domain::tracking::reassessment`](domain::tracking::reassessment));
//! 3. *differences*: supersede each commission that is no longer due and take it back in full, paid out or
//!    not; add the commission that is due instead, less the share that refunds of its sale take;
//! 4. *entries*: return the ledger entries, which the caller posts.
//!
//! Locks: the caller's customers → sales → commissions. Reassessment is rare: most records arrive in order.

mod corrections;

use std::collections::{BTreeMap, HashMap, HashSet};

use chrono::{DateTime, Utc};
use domain::ids::{CustomerId, PartnerId, SaleId};
use domain::tracking::reassessment::{Earlier, Reassessment, reassess as decide_again};
use domain::tracking::sale::SaleCustomer;
use domain::tracking::signal::Signal;
use sqlx::PgConnection;
use storage::StorageResult;
use storage::money::commissions::{self, LockedCommission};
use storage::money::ledger::{self, NewEntry};
use storage::program::links::{self, Memberships, Owners};
use storage::program::programs::{self, Program};
use storage::reads::rollups::Deltas;
use storage::tracking::customers::{self, Customer, Milestone};
use storage::tracking::reassessments::{self, StoredSale};
use storage::tracking::subscriptions::{self, NewSubscription, SubscriptionKey};

use self::corrections::Corrections;
use crate::outbound::OutboundEvents;
use crate::steps::StepContext;

/// Customers with facts that became known late, each with the earliest time of such a fact.
#[derive(Debug, Default)]
pub struct OutOfOrder(BTreeMap<CustomerId, DateTime<Utc>>);

impl OutOfOrder {
    pub fn note(&mut self, customer_id: CustomerId, at: DateTime<Utc>) {
        let since = self.0.entry(customer_id).or_insert(at);
        *since = at.min(*since);
    }

    pub fn extend(&mut self, news: impl IntoIterator<Item = (CustomerId, DateTime<Utc>)>) {
        for (customer_id, at) in news {
            self.note(customer_id, at);
        }
    }

    pub fn customers(&self) -> Vec<i64> {
        self.0.keys().map(|customer_id| customer_id.get()).collect()
    }
}

/// Decides the sales of these locked customers again. Returns entries, which the caller posts together with
/// its own. All transactions lock sales before balances, so the caller locks all balances last, in one step.
pub async fn reassess(
    connection: &mut PgConnection,
    context: &StepContext,
    customers: &HashMap<CustomerId, Customer>,
    out_of_order: &OutOfOrder,
    events: &mut OutboundEvents<'_>,
) -> StorageResult<Vec<NewEntry>> {
    let news: Vec<(&Customer, DateTime<Utc>)> = out_of_order
        .0
        .iter()
        .filter_map(|(customer_id, since)| Some((customers.get(customer_id)?, *since)))
        .collect();
    let mut locked = lock(connection, &news).await?;
    let mut entries = Vec::new();
    for (customer, since) in news {
        if let Some(locked) = locked.remove(&customer.customer_id) {
            entries.extend(reassess_customer(connection, context, customer, since, locked, events).await?);
        }
    }
    Ok(entries)
}

/// Like [`reassess`], for a transaction that does nothing else: posts the entries, and writes the events.
pub async fn reassess_alone(
    connection: &mut PgConnection,
    context: &StepContext,
    customers: &HashMap<CustomerId, Customer>,
    out_of_order: &OutOfOrder,
) -> StorageResult<()> {
    let mut events = OutboundEvents::new(&context.clock);
    let entries = reassess(connection, context, customers, out_of_order, &mut events).await?;
    ledger::post(connection, &entries).await?;
    events.write(connection).await
}

pub fn by_id(customers: Vec<Customer>) -> HashMap<CustomerId, Customer> {
    let each = customers.into_iter();
    each.map(|customer| (customer.customer_id, customer)).collect()
}

/// The sales of a customer and their commissions in force, locked.
#[derive(Debug, Default)]
struct Locked {
    sales: Vec<StoredSale>,
    in_force: Vec<LockedCommission>,
}

async fn lock(
    connection: &mut PgConnection,
    news: &[(&Customer, DateTime<Utc>)],
) -> StorageResult<HashMap<CustomerId, Locked>> {
    let mut locked: HashMap<CustomerId, Locked> = HashMap::new();
    if news.is_empty() {
        return Ok(locked);
    }
    let since: Vec<_> = news
        .iter()
        .map(|(customer, since)| (customer.program_id, customer.customer_id, *since))
        .collect();
    let mut buyers: BTreeMap<SaleId, CustomerId> = BTreeMap::new();
    for sale in reassessments::lock_sales_since(connection, &since).await? {
        buyers.insert(sale.recorded.sale_id, sale.customer_id);
        locked.entry(sale.customer_id).or_default().sales.push(sale);
    }
    let ids: Vec<i64> = buyers.keys().map(|sale_id| sale_id.get()).collect();
    for commission in commissions::lock_of_sales(connection, &ids).await? {
        let buyer = buyers.get(&commission.sale_id);
        if let Some(of_customer) = buyer.and_then(|customer_id| locked.get_mut(customer_id)) {
            of_customer.in_force.push(commission);
        }
    }
    Ok(locked)
}

async fn reassess_customer(
    connection: &mut PgConnection,
    context: &StepContext,
    customer: &Customer,
    since: DateTime<Utc>,
    Locked { sales, in_force }: Locked,
    events: &mut OutboundEvents<'_>,
) -> StorageResult<Vec<NewEntry>> {
    let program = programs::find(connection, &[customer.program_id.get()])
        .await?
        .remove(&customer.program_id);
    let Some(program) = program else {
        return Ok(Vec::new());
    };
    let owners = owners(connection, customer, &in_force).await?;
    let buying_partners = context.signal_rules.buying_partners(
        &owners.addresses,
        customer.customer_key.as_deref(),
        customer.email_hash.as_deref(),
    );
    let reassessed = decisions(
        connection,
        customer,
        &program,
        &owners,
        &buying_partners,
        &sales,
        since,
    )
    .await?;
    let mut corrections = Corrections::new(context, customer, &program, &owners);
    for (sale_id, recording) in &reassessed.recordings {
        if let Some(sale) = sales.iter().find(|sale| sale.recorded.sale_id == *sale_id) {
            let before: Vec<&LockedCommission> = in_force
                .iter()
                .filter(|commission| commission.sale_id == *sale_id)
                .collect();
            corrections.compare(sale, recording, &before);
        }
    }
    let superseded = corrections.supersede_any();
    let entries = corrections.write(connection, events).await?;
    if superseded
        && reassessments::superseded_changed(connection, customer.program_id, customer.customer_id).await?
    {
        // Flags the replacements of commissions that were changed by hand.
        let since = [(customer.customer_id, customer.program_id, since)];
        commissions::flag(connection, &since, Signal::ReplacesChanged).await?;
    }
    save_first_payments(connection, customer, &reassessed).await?;
    move_first_purchase(connection, customer, &reassessed, &sales).await?;
    Ok(entries)
}

/// Partners who may earn: approved ones, and those who earned by these sales before their suspension.
async fn owners(
    connection: &mut PgConnection,
    customer: &Customer,
    in_force: &[LockedCommission],
) -> StorageResult<Owners> {
    let clicked: HashSet<i64> = customer
        .journey
        .touches()
        .iter()
        .chain([&customer.journey.first()])
        .map(|touch| touch.referral_link_id.get())
        .collect();
    let clicked: Vec<i64> = clicked.into_iter().collect();
    let mut owners = links::owners(connection, &clicked, Memberships::Approved).await?;
    let all = links::owners(connection, &clicked, Memberships::All).await?;
    let earned: HashSet<_> = in_force
        .iter()
        .map(|commission| commission.partner_program_id)
        .collect();
    owners.links.extend(all.links.into_iter().filter(|(_, owner)| {
        owner
            .membership
            .is_some_and(|membership| earned.contains(&membership.partner_program_id))
    }));
    owners.addresses.extend(all.addresses);
    Ok(owners)
}

async fn decisions(
    connection: &mut PgConnection,
    customer: &Customer,
    program: &Program,
    owners: &Owners,
    buying_partners: &HashSet<PartnerId>,
    sales: &[StoredSale],
    since: DateTime<Utc>,
) -> StorageResult<Reassessment> {
    let named: HashSet<SubscriptionKey> = sales
        .iter()
        .filter_map(|sale| sale.recorded.sale.subscription_id.as_ref())
        .map(|id| (customer.program_id, id.to_string()))
        .collect();
    let known = subscriptions::find(connection, &named.into_iter().collect::<Vec<_>>()).await?;
    let before = sales
        .iter()
        .filter_map(|sale| {
            let id = sale.recorded.sale.subscription_id.clone()?;
            let known = known.get(&(customer.program_id, id.to_string()))?;
            Some((id, known.before(since)))
        })
        .collect();
    let first_payment_at = customer.first_purchase.map(|first| first.at);
    let customer = SaleCustomer {
        customer_id: customer.customer_id,
        program_id: customer.program_id,
        journey: customer.journey.clone(),
        first_payment_at: first_payment_at.filter(|first| *first < since),
    };
    let recorded = sales.iter().map(|sale| sale.recorded.clone()).collect();
    let earlier = Earlier {
        customer,
        subscriptions: before,
        terms: &program.terms,
        links: &owners.links,
        buying_partners,
    };
    Ok(decide_again(earlier, recorded))
}

async fn save_first_payments(
    connection: &mut PgConnection,
    customer: &Customer,
    reassessed: &Reassessment,
) -> StorageResult<()> {
    let first_payments: Vec<NewSubscription> = reassessed
        .first_payments
        .iter()
        .map(|(id, (first_sale_id, first))| NewSubscription {
            key: (customer.program_id, id.to_string()),
            customer_id: customer.customer_id,
            first_sale_id: *first_sale_id,
            first: first.clone(),
        })
        .collect();
    subscriptions::save(connection, &first_payments).await
}

/// Moves the conversion to the link that the customer's first sale now credits.
async fn move_first_purchase(
    connection: &mut PgConnection,
    customer: &Customer,
    reassessed: &Reassessment,
    sales: &[StoredSale],
) -> StorageResult<()> {
    let Some(known) = customer.first_purchase else {
        return Ok(());
    };
    let is_first = |sale_id: SaleId| {
        sales
            .iter()
            .any(|sale| sale.recorded.sale_id == sale_id && sale.recorded.at == known.at)
    };
    // The recordings are ordered by time.
    let Some((_, recording)) = reassessed
        .recordings
        .iter()
        .find(|(sale_id, _)| is_first(*sale_id))
    else {
        return Ok(());
    };
    let link = recording.credited_links.last().copied();
    if link == known.referral_link_id {
        return Ok(());
    }
    let moved = Milestone {
        at: known.at,
        referral_link_id: link,
    };
    let mut deltas = Deltas::default();
    deltas.no_conversion(customer.program_id, known);
    deltas.conversion(customer.program_id, moved);
    deltas.append(connection).await?;
    let mut customer = customer.clone();
    customer.first_purchase = Some(moved);
    customers::save(connection, &[&customer]).await
}
