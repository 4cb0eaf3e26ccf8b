//! Clicks become customers, click events and counters.
//!
//! Phases:
//!
//! 1. *visitors*: facts about them are derived before the transaction;
//! 2. *erased customers*: their clicks are dropped;
//! 3. *customers*: those that the clicks create, and returning ones whose rows are gone
//!    (`storage::tracking::visitor_retention`);
//! 4. *click events*: only new events continue, without those of bots that their program excludes;
//! 5. *journeys* of returning customers: attribution follows the last click, whatever the order of arrival;
//!    sales made after such a click and decided before it arrived are decided again;
//! 6. *deltas* of the rollups;
//! 7. *marks* for readers of event streams;
//! 8. *counters*: summed up before and written last, because every batch locks the same rows.
//!
//! A click with another visitor's customer_id is refused with its batch. Run alone, it is a dead letter.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use bus::consume::{DeadLetter, Delivered, StepError};
use chrono::{DateTime, Utc};
use domain::ids::ProgramId;
use domain::tracking::attribution::Touch;
use domain::tracking::visitor::Visitor;
use messages::click::ClickRecord;
use messages::subject::Subject;
use serde_json::Value;
use sqlx::PgConnection;
use storage::outbound::stream_events::{self, MarkedClicks};
use storage::people::personal_data;
use storage::program::programs;
use storage::reads::click_origins::ClickOrigins;
use storage::reads::rollups::Deltas;
use storage::tracking::clicks::{self, ClickCount, NewClick};
use storage::tracking::customers::{self, Customer, NewCustomer};
use storage::tracking::shared_texts::SharedIds;
use storage::{StorageError, StorageResult};

use super::StepContext;
use super::transaction::{BatchResult, TransactionalStep, records, storage_failed};
use crate::reassessment::{OutOfOrder, by_id, reassess_alone};
use crate::shared_texts::SharedTexts;
use crate::visitor::{Traces, Visitors};

#[derive(Debug)]
pub struct ClickStep {
    pub context: StepContext,
    pub visitors: Arc<Visitors>,
    pub shared_texts: SharedTexts,
}

impl TransactionalStep for ClickStep {
    type Record = ClickRecord;
    type Prepared = Prepared;
    type Outcome = ();
    const SUBJECT: Subject = Subject::Clicks;
    /// Far below the time for which a lead or sale waits for the row of its click.
    const PACE: Duration = Duration::from_millis(20);

    async fn prepare(&self, batch: &[Delivered<ClickRecord>]) -> Result<Prepared, StepError> {
        let clicks = batch.iter().map(|delivered| &delivered.record);
        let shared = self.shared_texts.of(clicks, self.context.clock.now()).await;
        let traces = batch.iter().map(|delivered| Traces::from(&delivered.record));
        // This fails only during shutdown; the next delivery reaches another worker.
        let visitors = self.visitors.of(traces).await;
        Ok(Prepared {
            visitors: visitors.map_err(|error| StepError::Transient(error.into()))?,
            shared: shared.map_err(storage_failed)?,
        })
    }

    async fn process(
        &self,
        connection: &mut PgConnection,
        batch: &[Delivered<ClickRecord>],
        prepared: Prepared,
    ) -> StorageResult<BatchResult<()>> {
        store(connection, &self.context, &records(batch), &prepared).await?;
        Ok(BatchResult::of(HashMap::new()))
    }

    fn redact(letter: DeadLetter) -> DeadLetter {
        without_address(letter)
    }
}

/// Facts about a batch's clicks, read before its transaction.
#[derive(Debug, Default)]
pub struct Prepared {
    /// In the order of the clicks.
    pub visitors: Vec<Visitor>,
    pub shared: SharedIds,
}

impl Prepared {
    /// For one click without facts about its visitor.
    pub fn of_nobody() -> Self {
        Self {
            visitors: vec![Visitor::default()],
            shared: SharedIds::new(),
        }
    }
}

/// Removes the visitor's address, which is never stored, not even in a dead letter.
pub(super) fn without_address(letter: DeadLetter) -> DeadLetter {
    let Ok(mut record) = serde_json::from_slice(&letter.payload) else {
        return letter;
    };
    if !remove_address(&mut record) {
        return letter;
    }
    DeadLetter {
        payload: record.to_string().into(),
        ..letter
    }
}

/// Removes the address at any depth: a test click is nested deeper than a real one.
fn remove_address(value: &mut Value) -> bool {
    let Value::Object(fields) = value else {
        return false;
    };
    let removed = fields.remove("client_ip").is_some();
    fields
        .values_mut()
        .fold(removed, |removed, field| remove_address(field) | removed)
}

/// The clicks that will be stored.
struct Kept<'a, 'v> {
    clicks: Vec<&'a ClickRecord>,
    visitors: Vec<&'v Visitor>,
    /// Clicks of returning customers that have no row.
    without_customer: Vec<&'a ClickRecord>,
}

/// Drops the clicks of customers erased in the meantime: nothing more is stored about them. Refuses clicks
/// that name a customer with another click_id.
async fn of_somebody<'a, 'v>(
    connection: &mut PgConnection,
    clicks: &[&'a ClickRecord],
    visitors: &'v [Visitor],
) -> StorageResult<Kept<'a, 'v>> {
    let mut came_back = clicks.iter().filter(|click| !click.new_customer);
    let ids: Vec<i64> = came_back.clone().map(|click| click.customer_id.get()).collect();
    let stored = personal_data::click_ids(connection, &ids).await?;
    let stored = |click: &ClickRecord| stored.get(&click.customer_id).map(Option::as_deref);
    if came_back.any(|click| matches!(stored(click), Some(Some(own)) if own != click.click_id.as_str())) {
        return Err(StorageError::CustomerIdTaken);
    }
    let kept = clicks.iter().copied().zip(visitors);
    let (clicks, visitors): (Vec<_>, Vec<_>) = kept.filter(|(click, _)| stored(click) != Some(None)).unzip();
    let came_back = clicks.iter().filter(|click| !click.new_customer);
    let without_customer = came_back
        .filter(|click| stored(click).is_none())
        .copied()
        .collect();
    Ok(Kept {
        clicks,
        visitors,
        without_customer,
    })
}

async fn require_own_customers(connection: &mut PgConnection, clicks: &[&ClickRecord]) -> StorageResult<()> {
    let ids: Vec<i64> = clicks.iter().map(|click| click.customer_id.get()).collect();
    let stored = personal_data::click_ids(connection, &ids).await?;
    let is_own = |click: &&ClickRecord| {
        let own = stored.get(&click.customer_id).and_then(Option::as_deref);
        own == Some(click.click_id.as_str())
    };
    if clicks.iter().all(is_own) {
        Ok(())
    } else {
        Err(StorageError::CustomerIdTaken)
    }
}

pub(super) async fn store(
    connection: &mut PgConnection,
    context: &StepContext,
    received: &[&ClickRecord],
    prepared: &Prepared,
) -> StorageResult<()> {
    let kept = of_somebody(connection, received, &prepared.visitors).await?;
    let (clicks, visitors) = (kept.clicks.as_slice(), kept.visitors);
    let created: Vec<NewCustomer<'_>> = clicks
        .iter()
        .filter(|click| click.new_customer)
        .map(|click| new_customer(click))
        .collect();
    let inserted = customers::insert(connection, &created).await?;
    if !kept.without_customer.is_empty() {
        let missing = kept.without_customer.iter().map(|click| new_customer(click));
        customers::insert(connection, &missing.collect::<Vec<_>>()).await?;
        require_own_customers(connection, &kept.without_customer).await?;
    }
    let excluding = programs_excluding_bots(connection, clicks, &visitors).await?;
    let new: Vec<NewClick<'_>> = clicks
        .iter()
        .zip(visitors.iter().copied())
        .map(|(&record, visitor)| NewClick {
            record,
            visitor,
            shared: &prepared.shared,
            counted: !(visitor.is_bot() && excluding.contains(&record.program_id)),
        })
        .collect();
    let unseen = clicks::insert(connection, &new).await?;
    let mut events: Vec<&NewClick<'_>> = new
        .iter()
        .filter(|click| unseen.contains_key(&click.record.event_id))
        .collect();
    // A batch can hold a record twice, but inserts it once.
    events.sort_by_key(|click| click.record.event_id);
    events.dedup_by_key(|click| click.record.event_id);
    // A customer is inserted with their first click. If a later click was stored before it, the first click
    // extends the journey like any other.
    let records = events.iter().map(|click| click.record);
    let first_clicks: Vec<&ClickRecord> = records.filter(|click| click.new_customer).collect();
    let some_are_late = inserted < first_clicks.len() as u64;
    if some_are_late {
        require_own_customers(connection, &first_clicks).await?;
    }
    let counted: Vec<&ClickRecord> = events
        .iter()
        .filter(|click| click.counted)
        .map(|click| click.record)
        .collect();
    let mut returning = counted.clone();
    returning.retain(|click| some_are_late || !click.new_customer);
    extend_journeys(connection, context, &returning).await?;
    deltas(&counted).append(connection).await?;
    origins(&events).append(connection).await?;
    let streamed = events.iter().map(|click| click.record);
    let streamed = streamed.filter(|click| unseen.get(&click.event_id) == Some(&true));
    mark_for_stream(connection, streamed).await?;
    clicks::count(connection, &sums(&counted)).await
}

/// Marks new clicks of programs whose event stream is on, in the order of their times.
async fn mark_for_stream<'a>(
    connection: &mut PgConnection,
    clicks: impl Iterator<Item = &'a ClickRecord> + Send,
) -> StorageResult<()> {
    let mut by_program: BTreeMap<ProgramId, Vec<&ClickRecord>> = BTreeMap::new();
    for click in clicks {
        by_program.entry(click.program_id).or_default().push(click);
    }
    if by_program.is_empty() {
        return Ok(());
    }
    let marked = by_program.into_iter().map(|(program_id, mut clicks)| {
        clicks.sort_by_key(|click| (click.clicked_at, click.event_id));
        let clicks = clicks
            .iter()
            .map(|click| (click.event_id.get(), click.clicked_at));
        MarkedClicks {
            program_id,
            clicks: clicks.collect(),
        }
    });
    stream_events::mark(connection, &marked.collect::<Vec<_>>()).await
}

/// Queries only if there are bots, and only their programs.
async fn programs_excluding_bots(
    connection: &mut PgConnection,
    clicks: &[&ClickRecord],
    visitors: &[&Visitor],
) -> StorageResult<HashSet<ProgramId>> {
    let of_bots: BTreeSet<i64> = clicks
        .iter()
        .zip(visitors)
        .filter(|(_, visitor)| visitor.is_bot())
        .map(|(click, _)| click.program_id.get())
        .collect();
    if of_bots.is_empty() {
        return Ok(HashSet::new());
    }
    programs::excluding_bots(connection, &of_bots.into_iter().collect::<Vec<_>>()).await
}

fn new_customer(click: &ClickRecord) -> NewCustomer<'_> {
    NewCustomer {
        customer_id: click.customer_id,
        program_id: click.program_id,
        click_id: click.click_id.as_str(),
        first_touch: touch(click),
    }
}

fn touch(click: &ClickRecord) -> Touch {
    Touch {
        referral_link_id: click.referral_link_id,
        clicked_at: click.clicked_at,
    }
}

async fn extend_journeys(
    connection: &mut PgConnection,
    context: &StepContext,
    returning: &[&ClickRecord],
) -> StorageResult<()> {
    let ids: Vec<i64> = returning.iter().map(|click| click.customer_id.get()).collect();
    let mut customers = by_id(customers::lock(connection, &ids).await?);
    let mut out_of_order = OutOfOrder::default();
    for click in returning {
        if let Some(customer) = customers.get_mut(&click.customer_id) {
            customer.journey.touch(touch(click));
            if bought_since(customer, click.clicked_at) {
                out_of_order.note(customer.customer_id, click.clicked_at);
            }
        }
    }
    customers::save_journeys(connection, &customers.values().collect::<Vec<_>>()).await?;
    reassess_alone(connection, context, &customers, &out_of_order).await
}

/// Whether the customer bought at or after the time of this click. If the time of the latest sale is unknown,
/// any sale counts.
fn bought_since(customer: &Customer, clicked_at: DateTime<Utc>) -> bool {
    match customer.last_purchase_at {
        Some(last) => last >= clicked_at,
        None => customer.first_purchase.is_some(),
    }
}

fn deltas(clicks: &[&ClickRecord]) -> Deltas {
    let mut deltas = Deltas::default();
    for click in clicks {
        deltas.click(click.program_id, click.referral_link_id, click.clicked_at);
    }
    deltas
}

fn origins(clicks: &[&NewClick<'_>]) -> ClickOrigins {
    let mut origins = ClickOrigins::default();
    for click in clicks.iter().filter(|click| click.counted) {
        origins.click(click);
    }
    origins
}

fn sums(clicks: &[&ClickRecord]) -> BTreeMap<i64, ClickCount> {
    let mut by_link: BTreeMap<i64, ClickCount> = BTreeMap::new();
    for click in clicks {
        let count = by_link.entry(click.referral_link_id.get()).or_insert(ClickCount {
            clicks: 0,
            last_clicked: click.clicked_at,
        });
        count.clicks += 1;
        count.last_clicked = count.last_clicked.max(click.clicked_at);
    }
    by_link
}

#[cfg(test)]
mod tests {
    use super::*;

    fn letter(payload: &'static str) -> DeadLetter {
        DeadLetter {
            subject: "tracking.clicks".to_owned(),
            payload: payload.into(),
            event_id: None,
            reason: "test".to_owned(),
            deliveries: 1,
        }
    }

    #[test]
    fn a_dead_click_is_kept_without_its_address() {
        let letter = without_address(letter(
            r#"{"click_id":"cust_1_2","client_ip":"203.0.113.9","visit":{"page_url":"https://a.example"}}"#,
        ));
        let kept = r#"{"click_id":"cust_1_2","visit":{"page_url":"https://a.example"}}"#;
        assert_eq!(letter.payload, kept);
    }

    #[test]
    fn a_dead_test_click_is_kept_without_its_address() {
        let letter = without_address(letter(
            r#"{"event":{"click":{"client_ip":"203.0.113.9","visit":{}}},"program_id":1}"#,
        ));
        assert_eq!(
            letter.payload,
            r#"{"event":{"click":{"visit":{}}},"program_id":1}"#
        );
    }

    #[test]
    fn what_names_no_address_is_kept_as_it_is() {
        for payload in [r#"{ "b": 1, "a": 2 }"#, "not json"] {
            assert_eq!(without_address(letter(payload)).payload, payload);
        }
    }
}
