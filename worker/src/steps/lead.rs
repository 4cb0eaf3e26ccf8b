//! Leads become lead events, and move customers from `click` to `lead`.
//!
//! Phases:
//!
//! 1. *repeats*: a record that an earlier delivery stored or refused gets the same outcome;
//! 2. *customers*: resolved and locked in order;
//! 3. *decisions*: record by record, each seeing the effects of the ones before it;
//! 4. *rows*: events, customers, remembered refusals; sales that were settled before an earlier lead arrived
//!    are decided again;
//! 5. outbound events ([`outbound`]).

mod outbound;

use std::collections::{HashMap, HashSet};

use bus::consume::{Delivered, StepError};
use chrono::{DateTime, Utc};
use domain::ids::{CustomerId, EventId, ProgramId, ReferralLinkId};
use domain::text::{CustomerKey, Label};
use domain::tracking::attribution::Journey;
use domain::tracking::customer::CustomerStatus;
use domain::tracking::lead::{EmailHash, LeadAuth, LeadDecision, LeadMode, LeadRefusal, decide};
use messages::lead::{LeadOutcome, LeadRecord};
use messages::subject::Subject;
use sqlx::PgConnection;
use storage::money::ledger;
use storage::processor::processor_events::{self, waits_for_key};
use storage::program::programs::{self, Program};
use storage::reads::rollups::Deltas;
use storage::tracking::customers::{Customer, Milestone};
use storage::tracking::leads::{self, NewLead};
use storage::tracking::refused_events;
use storage::{StorageError, StorageResult};
use uuid::Uuid;

use super::StepContext;
use super::transaction::{BatchResult, TransactionalStep, records};
use crate::customer_lookup::{Found, KeyBindings, Reference, Resolved, resolve, settled_before};
use crate::lead_rates::LeadRates;
use crate::outbound::OutboundEvents;
use crate::reassessment::{OutOfOrder, reassess};

#[derive(Debug)]
pub struct LeadStep(pub StepContext);

impl TransactionalStep for LeadStep {
    type Record = LeadRecord;
    /// Events that no longer wait for their click.
    type Prepared = HashSet<EventId>;
    type Outcome = LeadOutcome;
    const SUBJECT: Subject = Subject::Leads;

    async fn prepare(&self, batch: &[Delivered<LeadRecord>]) -> Result<HashSet<EventId>, StepError> {
        Ok(settled_before(&[&self.0.clicks], batch).await)
    }

    async fn process(
        &self,
        connection: &mut PgConnection,
        batch: &[Delivered<LeadRecord>],
        waited: HashSet<EventId>,
    ) -> StorageResult<BatchResult<LeadOutcome>> {
        let records = records(batch);
        let outcomes = self.track(connection, &records, &waited).await?;
        let events = records.iter().map(|record| record.event_id);
        Ok(BatchResult {
            later: events
                .filter(|event_id| !outcomes.contains_key(event_id))
                .collect(),
            ..BatchResult::of(outcomes)
        })
    }
}

impl LeadStep {
    /// Returns outcomes by event; none for a record that waits. The events in `waited` wait no longer.
    pub(super) async fn track(
        &self,
        connection: &mut PgConnection,
        records: &[&LeadRecord],
        waited: &HashSet<EventId>,
    ) -> StorageResult<HashMap<EventId, LeadOutcome>> {
        let mut outcomes = earlier_outcomes(connection, records).await?;
        let fresh: Vec<&LeadRecord> = records
            .iter()
            .copied()
            .filter(|record| !outcomes.contains_key(&record.event_id))
            .collect();
        let references = references(&fresh, waited);
        let Resolved { found, customers } = resolve(connection, &self.0.codec, &references).await?;
        let mut batch = LeadBatch::open(connection, customers, &self.0.lead_rates).await?;
        for (record, found) in fresh.into_iter().zip(found) {
            // A batch can hold a record twice.
            if outcomes.contains_key(&record.event_id) {
                continue;
            }
            if let Some(outcome) = batch.take(record, found) {
                outcomes.insert(record.event_id, outcome);
            }
        }
        batch.close(connection, &self.0).await?;
        Ok(outcomes)
    }
}

fn references<'a>(records: &[&'a LeadRecord], waited: &HashSet<EventId>) -> Vec<Reference<'a>> {
    records
        .iter()
        .map(|record| Reference {
            program_id: record.lead.mode.program_id(),
            customer_key: record.lead.customer_key.as_ref(),
            click_id: record.lead.click_id.as_ref(),
            may_wait: !waited.contains(&record.event_id),
            may_wait_for_lead: false,
        })
        .collect()
}

async fn earlier_outcomes(
    connection: &mut PgConnection,
    records: &[&LeadRecord],
) -> StorageResult<HashMap<EventId, LeadOutcome>> {
    let events: Vec<Uuid> = records.iter().map(|record| record.event_id.get()).collect();
    let times: Vec<DateTime<Utc>> = records.iter().map(|record| record.led_at).collect();
    let mut outcomes: HashMap<EventId, LeadOutcome> = HashMap::new();
    for (event_id, provisional) in leads::stored(connection, &events, &times).await? {
        outcomes.insert(
            event_id,
            if provisional {
                LeadOutcome::Provisional
            } else {
                LeadOutcome::Tracked
            },
        );
    }
    for (event_id, outcome) in refused_events::find(connection, &events).await? {
        let outcome = serde_json::from_str(&outcome)
            .map_err(|_| StorageError::corrupt("refused_events", "outcome", event_id.get()))?;
        outcomes.insert(event_id, outcome);
    }
    Ok(outcomes)
}

/// The customers of a batch while its leads are decided, and the rows to write afterwards.
struct LeadBatch<'a> {
    customers: HashMap<CustomerId, Customer>,
    programs: HashMap<ProgramId, Program>,
    rates: &'a LeadRates,
    keys: KeyBindings,
    changed: Vec<CustomerId>,
    deltas: Deltas,
    events: Vec<NewLead<'a>>,
    refusals: Vec<(EventId, String)>,
    /// Proposed keys; payments may wait for them.
    proposed: Vec<(ProgramId, String)>,
    out_of_order: OutOfOrder,
}

impl<'a> LeadBatch<'a> {
    async fn open(
        connection: &mut PgConnection,
        customers: HashMap<CustomerId, Customer>,
        rates: &'a LeadRates,
    ) -> StorageResult<Self> {
        let programs: Vec<i64> = customers
            .values()
            .map(|customer| customer.program_id.get())
            .collect();
        Ok(Self {
            programs: programs::find(connection, &programs).await?,
            customers,
            rates,
            keys: KeyBindings::default(),
            changed: Vec::new(),
            deltas: Deltas::default(),
            events: Vec::new(),
            refusals: Vec::new(),
            proposed: Vec::new(),
            out_of_order: OutOfOrder::default(),
        })
    }

    /// Returns `None` if the lead waits for its click.
    fn take(&mut self, record: &'a LeadRecord, found: Found) -> Option<LeadOutcome> {
        let key = record.lead.customer_key.as_ref();
        let named_customer = match found {
            Found::Pending => return None,
            Found::Missing => None,
            Found::Customer(found) => {
                self.keys
                    .named_customer(&self.customers, record.lead.mode.program_id(), key, found)
            }
        };
        let named = named_customer.and_then(|named_customer| {
            Some((
                named_customer,
                self.customers.get_mut(&named_customer.customer_id)?,
            ))
        });
        let Some((named_customer, customer)) = named else {
            return Some(self.refuse(record, LeadRefusal::CustomerNotFound));
        };
        let lead_auth = self
            .programs
            .get(&customer.program_id)
            .map_or(LeadAuth::AnyCaller, |program| program.lead_auth);
        let status = status_at(customer, record.led_at);
        let provisional = match decide(record.lead.mode, customer.program_id, status, lead_auth) {
            LeadDecision::Refuse(reason) => {
                let reason = if record.lead.may_see_refusal(&customer.click_id) {
                    reason
                } else {
                    LeadRefusal::CustomerNotFound
                };
                if named_customer.takes_key() {
                    self.changed
                        .extend(self.keys.bind(&mut self.customers, &named_customer, key));
                }
                return Some(self.refuse(record, reason));
            }
            LeadDecision::Provisional => true,
            LeadDecision::Track => false,
        };
        if record.lead.mode == LeadMode::Browser {
            let link = link_at(&customer.journey, record.led_at);
            customer.many_leads |= self.rates.is_one_of_many(link, record.led_at) || record.one_of_many;
        }
        if provisional {
            propose(customer, record);
            self.proposed
                .extend(key.map(|key| (customer.program_id, waits_for_key(key.as_str()))));
        } else {
            confirm(customer, record, status, &mut self.deltas);
            if status != CustomerStatus::Conversion && customer.status == CustomerStatus::Conversion {
                // The lead's e-mail address may decide whether a sale settled before it earns.
                self.out_of_order.note(customer.customer_id, record.led_at);
            }
        }
        self.changed.push(customer.customer_id);
        self.events.push(event(record, customer, provisional));
        if provisional {
            return Some(LeadOutcome::Provisional);
        }
        self.changed
            .extend(self.keys.bind(&mut self.customers, &named_customer, key));
        Some(LeadOutcome::Tracked)
    }

    fn refuse(&mut self, record: &LeadRecord, reason: LeadRefusal) -> LeadOutcome {
        let outcome = LeadOutcome::Refused(reason);
        if let Ok(text) = serde_json::to_string(&outcome) {
            self.refusals.push((record.event_id, text));
        }
        outcome
    }

    async fn close(mut self, connection: &mut PgConnection, context: &StepContext) -> StorageResult<()> {
        self.changed.sort_unstable();
        self.changed.dedup();
        self.keys.save(connection, &self.customers, &self.changed).await?;
        leads::insert(connection, &self.events).await?;
        self.deltas.append(connection).await?;
        refused_events::remember(connection, &self.refusals).await?;
        processor_events::wake(connection, &self.proposed).await?;
        let mut events = OutboundEvents::new(&context.clock);
        outbound::add_events(
            connection,
            &self.events,
            &self.customers,
            &self.programs,
            &mut events,
        )
        .await?;
        let entries = reassess(
            connection,
            context,
            &self.customers,
            &self.out_of_order,
            &mut events,
        )
        .await?;
        ledger::post(connection, &entries).await?;
        events.write(connection).await
    }
}

fn event<'a>(record: &'a LeadRecord, customer: &Customer, provisional: bool) -> NewLead<'a> {
    NewLead {
        event_id: record.event_id,
        program_id: customer.program_id,
        customer_id: customer.customer_id,
        led_at: record.led_at,
        click_id: customer.click_id.clone(),
        customer_key: record.lead.customer_key.as_ref().map(CustomerKey::as_str),
        event_name: record.lead.event_name.as_ref().map(Label::as_str),
        provisional,
    }
}

/// The status of the customer when this lead was sent: a later sale may be settled before it.
fn status_at(customer: &Customer, led_at: DateTime<Utc>) -> CustomerStatus {
    match customer.first_purchase {
        Some(first) if led_at < first.at => CustomerStatus::without_sale(customer.signup.is_some()),
        _ => customer.status,
    }
}

/// Moves the status, unless the customer has bought meanwhile. When only the click_id confirms the customer,
/// a proposed key stays a proposal: it resolves for authenticated callers, the first of whom binds it.
fn confirm(customer: &mut Customer, record: &LeadRecord, status: CustomerStatus, deltas: &mut Deltas) {
    if let Ok(status) = status.on_lead() {
        let signup = Milestone {
            at: record.led_at,
            referral_link_id: Some(link_at(&customer.journey, record.led_at)),
        };
        customer.status = customer.status.max(status);
        customer.signup = Some(signup);
        deltas.lead(customer.program_id, signup);
    }
    remember_email(customer, record.lead.email_hash.as_ref());
}

/// The link for which a signup at this time counts.
fn link_at(journey: &Journey, led_at: DateTime<Utc>) -> ReferralLinkId {
    journey
        .as_of(led_at)
        .as_ref()
        .unwrap_or(journey)
        .last()
        .referral_link_id
}

/// Stores the key as a proposal, which changes neither attribution nor money.
fn propose(customer: &mut Customer, record: &LeadRecord) {
    if customer.customer_key.is_none()
        && let Some(key) = &record.lead.customer_key
    {
        customer.proposed_customer_key = Some(key.to_string());
    }
    remember_email(customer, record.lead.email_hash.as_ref());
}

fn remember_email(customer: &mut Customer, email_hash: Option<&EmailHash>) {
    if let Some(email_hash) = email_hash {
        customer.email_hash = Some(email_hash.to_string());
    }
}
