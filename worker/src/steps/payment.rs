//! Processors' reports about payments, apart from the sale itself.
//!
//! Each batch runs four transactions:
//!
//! 1. *subscriptions* stores starts and ends of subscriptions. It waits for sales of these subscriptions that
//!    are being recorded, so that *reassess* sees them: a start or end may become known after payments of its
//!    subscription.
//! 2. *reassess* decides such sales again.
//! 3. *record* stores the other facts: names of a payment, reversals, accounts.
//! 4. *settle* locks the claims of all names of these payments. A concurrent sale step that holds one of
//!    these claims has read the payment's names either before or after *record* committed. If before,
//!    *settle* waits for that step and finds its sale. If after, that step has found the names and applies
//!    the reversals itself ([`reverse`]).
//!
//! Each transaction locks sales before balances, so none may continue in the transaction of another.
//!
//! If a payment has one sale, its reversals are counted on that sale. If it has two, it was reported under
//! two names before they were known to name the same payment, and the later sale is undone ([`duplicates`]).
//! If it has none, its reversals wait. A repeated report changes nothing, so a second delivery repeats all
//! transactions.

mod duplicates;
mod reversals;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use bus::consume::{Delivered, StepError};
use chrono::{DateTime, Utc};
use domain::ids::{EventId, SaleId};
use domain::money::{AmountCents, Currency};
use domain::processors::payment::ReversalKind;
use domain::processors::processor::{ConnectionStatus, ProcessorId};
use messages::payment::{PaymentFact, PaymentRecord};
use messages::subject::Subject;
use sqlx::PgConnection;
use storage::StorageResult;
use storage::money::duplicate_sales::Duplicate;
use storage::processor::processor_connections::{self, AccountReport};
use storage::processor::processor_customers::{self, Naming};
use storage::processor::processor_events::{self, Ending, Part, Reason};
use storage::processor::processor_refs::{self, Reference};
use storage::processor::processor_reversals::{self, NewReversal};
use storage::tracking::claims::{self, ClaimState};
use storage::tracking::subscriptions::SubscriptionKey;
use storage::tracking::{customers, subscription_periods, subscriptions};

use super::StepContext;
use super::transaction::{BatchResult, TransactionalStep, commit, records, storage_failed};
use crate::outbound::OutboundEvents;
use crate::reassessment::{OutOfOrder, by_id, reassess_alone};

pub use self::reversals::reverse;

#[derive(Debug)]
pub struct PaymentStep(pub StepContext);

impl TransactionalStep for PaymentStep {
    type Record = PaymentRecord;
    /// Events whose customer differs from the one to whom their processor's customer is bound.
    type Prepared = HashSet<EventId>;
    type Outcome = ();
    const SUBJECT: Subject = Subject::Payments;
    /// A claim with the same event belongs to its sale.
    const HOLDS_CLAIMS: bool = false;

    async fn prepare(&self, batch: &[Delivered<PaymentRecord>]) -> Result<HashSet<EventId>, StepError> {
        let records = records(batch);
        self.record_subscriptions(&records).await?;
        self.reassess_subscriptions(&records).await?;
        let mut recording = self.0.begin().await?;
        let conflicts = record_facts(&mut recording, &records)
            .await
            .map_err(storage_failed)?;
        commit(recording).await?;
        Ok(conflicts)
    }

    async fn process(
        &self,
        connection: &mut PgConnection,
        batch: &[Delivered<PaymentRecord>],
        conflicts: HashSet<EventId>,
    ) -> StorageResult<BatchResult<()>> {
        self.settle(connection, &records(batch), &conflicts).await?;
        Ok(BatchResult {
            outbox_filled: true,
            ..BatchResult::of(HashMap::new())
        })
    }
}

/// Returns the events whose customer differs from the one to whom their processor's customer is bound.
async fn record_facts(
    connection: &mut PgConnection,
    records: &[&PaymentRecord],
) -> StorageResult<HashSet<EventId>> {
    let named: Vec<Vec<Reference>> = records
        .iter()
        .map(|record| names(record))
        .filter(|names| !names.is_empty())
        .collect();
    if !named.is_empty() {
        processor_refs::join(connection, &named).await?;
    }
    let reversals: Vec<NewReversal<'_>> = records.iter().filter_map(|record| reversal(record)).collect();
    processor_reversals::insert(connection, &reversals).await?;
    let namings: Vec<Naming<'_>> = records.iter().filter_map(|record| naming(record)).collect();
    let conflicts = processor_customers::learn(connection, &namings).await?;
    if !conflicts.is_empty() {
        tracing::warn!(
            events = conflicts.len(),
            "events name other customers than their processor's customers are bound to"
        );
    }
    let mut accounts: Vec<AccountReport> = records.iter().filter_map(|record| account(record)).collect();
    accounts.sort_by_key(|account| (account.program_id, account.reported_at));
    for account in &accounts {
        processor_connections::record(connection, account).await?;
    }
    Ok(conflicts)
}

fn account(record: &PaymentRecord) -> Option<AccountReport> {
    let Some(PaymentFact::Account {
        connected,
        charges_enabled,
        payouts_enabled,
        details_submitted,
    }) = record.fact
    else {
        return None;
    };
    Some(AccountReport {
        event_id: record.event_id,
        program_id: record.program_id,
        reported_at: record.occurred_at,
        status: if connected {
            ConnectionStatus::Connected
        } else {
            ConnectionStatus::Disconnected
        },
        charges_enabled,
        payouts_enabled,
        details_submitted,
    })
}

fn naming(record: &PaymentRecord) -> Option<Naming<'_>> {
    Some(Naming {
        event_id: record.event_id,
        program_id: record.program_id,
        customer: record.customer.as_ref()?,
    })
}

impl PaymentStep {
    async fn settle(
        &self,
        connection: &mut PgConnection,
        records: &[&PaymentRecord],
        conflicts: &HashSet<EventId>,
    ) -> StorageResult<()> {
        let references: Vec<Reference> = records.iter().flat_map(|record| names(record)).collect();
        let payments = processor_refs::groups(connection, &references).await?;
        let sales = sales(connection, &payments).await?;
        let duplicates: Vec<Duplicate> = sales.values().flat_map(later_ones).collect();
        let mut events = OutboundEvents::new(&self.0.clock);
        if !duplicates.is_empty() {
            let names: Vec<&str> = payments.keys().map(|(_, name)| name.as_str()).collect();
            duplicates::undo(connection, &self.0, &duplicates, &names, &mut events).await?;
        }
        let counted: Vec<(Reference, SaleId)> = sales
            .iter()
            .filter_map(|(payment, sales)| sales.first().map(|sale_id| (payment.clone(), *sale_id)))
            .collect();
        reverse(connection, &counted, &self.0.clock, &mut events).await?;
        let endings: Vec<_> = records
            .iter()
            .filter_map(|record| {
                let payment = names(record)
                    .first()
                    .and_then(|reference| payments.get(reference).cloned());
                let has_sale = payment.is_some_and(|payment| sales.contains_key(&payment));
                match reversal(record) {
                    // `reverse` has ended this event, with all reversals of its payment.
                    Some(_) if has_sale => None,
                    Some(_) => Some((record.event_id, SALE_MISSING)),
                    None => {
                        let conflict = conflicts.contains(&record.event_id);
                        let reason = conflict.then_some(Reason::ProcessorCustomerDiffers);
                        Some((record.event_id, Ending::Done(reason)))
                    }
                }
            })
            .collect();
        events.add_for_review(processor_events::end(connection, Part::Payment, &endings).await?)?;
        events.write(connection).await
    }
}

impl PaymentStep {
    /// Uses a transaction of its own: it waits for sales of these subscriptions that are being recorded, so
    /// it must hold no lock for which these sales wait.
    async fn record_subscriptions(&self, records: &[&PaymentRecord]) -> Result<(), StepError> {
        let mut ends: BTreeMap<SubscriptionKey, DateTime<Utc>> = BTreeMap::new();
        let mut starts: BTreeMap<SubscriptionKey, DateTime<Utc>> = BTreeMap::new();
        for record in records {
            let Some((key, at)) = subscription_news(record) else {
                continue;
            };
            if matches!(record.fact, Some(PaymentFact::SubscriptionEnded { .. })) {
                let ended_at = ends.entry(key).or_insert(at);
                *ended_at = at.max(*ended_at);
            } else {
                let started_at = starts.entry(key).or_insert(at);
                *started_at = at.min(*started_at);
            }
        }
        if starts.is_empty() && ends.is_empty() {
            return Ok(());
        }
        let mut transaction = self.0.begin().await?;
        subscription_periods::record(&mut transaction, &starts, &ends)
            .await
            .map_err(storage_failed)?;
        commit(transaction).await
    }

    async fn reassess_subscriptions(&self, records: &[&PaymentRecord]) -> Result<(), StepError> {
        let since: BTreeMap<SubscriptionKey, DateTime<Utc>> = records
            .iter()
            .filter_map(|record| subscription_news(record))
            .rev()
            .collect();
        if since.is_empty() {
            return Ok(());
        }
        let mut transaction = self.0.begin().await?;
        reassess_since(&mut transaction, &self.0, &since)
            .await
            .map_err(storage_failed)?;
        commit(transaction).await
    }
}

async fn reassess_since(
    connection: &mut PgConnection,
    context: &StepContext,
    since: &BTreeMap<SubscriptionKey, DateTime<Utc>>,
) -> StorageResult<()> {
    let keys: Vec<SubscriptionKey> = since.keys().cloned().collect();
    let mut out_of_order = OutOfOrder::default();
    for (key, customer_id) in subscriptions::customers(connection, &keys).await? {
        if let Some(at) = since.get(&key) {
            out_of_order.note(customer_id, *at);
        }
    }
    let customers = by_id(customers::lock(connection, &out_of_order.customers()).await?);
    reassess_alone(connection, context, &customers, &out_of_order).await
}

fn subscription_news(record: &PaymentRecord) -> Option<(SubscriptionKey, DateTime<Utc>)> {
    match record.fact.as_ref()? {
        PaymentFact::SubscriptionStarted { subscription_id }
        | PaymentFact::SubscriptionEnded { subscription_id } => Some((
            (record.program_id, subscription_id.to_string()),
            record.occurred_at,
        )),
        PaymentFact::Refunded { .. } | PaymentFact::Disputed { .. } | PaymentFact::Account { .. } => None,
    }
}

/// Parked until the sale arrives, or an event that gives the sale's other name.
const SALE_MISSING: Ending = Ending::Parked {
    reason: Reason::SaleMissing,
    waits_for: None,
    look_again: None,
    retry: None,
};

/// Locks the claims of all names of these payments. Returns their sales by payment, ascending.
async fn sales(
    connection: &mut PgConnection,
    payments: &BTreeMap<Reference, Reference>,
) -> StorageResult<BTreeMap<Reference, BTreeSet<SaleId>>> {
    let names: BTreeSet<&str> = payments.keys().map(|(_, name)| name.as_str()).collect();
    let names: Vec<&str> = names.into_iter().collect();
    let mut sales: BTreeMap<Reference, BTreeSet<SaleId>> = BTreeMap::new();
    for claim in claims::lock(connection, &names).await? {
        let ClaimState::Recorded(sale_id) = claim.state else {
            continue;
        };
        // Another program may use the same transaction_id for another payment.
        if let Some(payment) = payments.get(&(claim.program_id, claim.transaction_id)) {
            sales.entry(payment.clone()).or_default().insert(sale_id);
        }
    }
    Ok(sales)
}

fn later_ones(sales: &BTreeSet<SaleId>) -> Vec<Duplicate> {
    let mut sales = sales.iter().copied();
    let Some(duplicate_of) = sales.next() else {
        return Vec::new();
    };
    sales
        .map(|sale_id| Duplicate {
            sale_id,
            duplicate_of,
        })
        .collect()
}

/// The processor ids of the payment, and a refund's charge. A dispute without a payment has only its own.
fn names(record: &PaymentRecord) -> Vec<Reference> {
    let reference = |id: &ProcessorId| (record.program_id, id.to_string());
    let mut names: Vec<Reference> = record.references.iter().map(reference).collect();
    match &record.fact {
        Some(PaymentFact::Refunded { charge, .. }) => names.push(reference(charge)),
        Some(PaymentFact::Disputed { dispute, .. }) if names.is_empty() => names.push(reference(dispute)),
        _ => {}
    }
    names
}

fn reversal(record: &PaymentRecord) -> Option<NewReversal<'_>> {
    let (kind, source, amount, currency): (ReversalKind, &ProcessorId, AmountCents, Currency) =
        match record.fact.as_ref()? {
            PaymentFact::Refunded {
                charge,
                refunded,
                currency,
            } => (ReversalKind::Refund, charge, *refunded, *currency),
            PaymentFact::Disputed {
                dispute,
                withdrawn,
                currency,
            } => (ReversalKind::Dispute, dispute, *withdrawn, *currency),
            PaymentFact::SubscriptionStarted { .. }
            | PaymentFact::SubscriptionEnded { .. }
            | PaymentFact::Account { .. } => return None,
        };
    Some(NewReversal {
        event_id: record.event_id,
        program_id: record.program_id,
        reference: record.references.first().unwrap_or(source).as_str(),
        kind,
        source: source.as_str(),
        amount,
        currency,
        occurred_at: record.occurred_at,
    })
}
