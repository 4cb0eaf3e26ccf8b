//! Which customer a lead or a sale speaks of.
//!
//! Order: the customer to which the key is bound in the program; the customer whose click_id was sent, as a whole
//! string; the one customer for whom a browser proposed the key (believed from an authenticated caller only). A
//! browser knows no program: the program is that of its click_id's customer, and a key alone resolves only if a
//! single customer of all programs has it.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use common::bus::consume::Delivered;
use common::domain::click_id::{ClickId, ClickIdCodec};
use common::domain::ids::{CustomerId, EventId, ProgramId};
use common::domain::text::CustomerKey;
use common::storage::customers::{self, Customer, CustomerIdentity, KeyInProgram};
use common::storage::{StorageResult, customer_ids};
use sqlx::PgConnection;

/// How long after its click a click_id may still be on its way into the table.
const CLICK_MAY_LAG: TimeDelta = TimeDelta::seconds(60);

/// How long a lead or a sale waits for the click it names, counted from its arrival here. Below the caller's deadline.
const WAIT_FOR_CLICK: Duration = Duration::from_secs(3);

/// Events of a batch that wait no longer for the click they name.
pub fn waited_enough<R>(batch: &[Delivered<R>], event_id: impl Fn(&R) -> EventId) -> HashSet<EventId> {
    batch
        .iter()
        .filter(|delivered| delivered.arrived.elapsed() >= WAIT_FOR_CLICK)
        .map(|delivered| event_id(&delivered.record))
        .collect()
}

/// What a record says about its customer.
#[derive(Debug, Clone, Copy)]
pub struct Reference<'a> {
    /// The authenticated caller's program; `None` for a browser.
    pub program_id: Option<ProgramId>,
    pub customer_key: Option<&'a CustomerKey>,
    pub click_id: Option<&'a ClickId>,
    pub at: DateTime<Utc>,
    /// For a click that is not stored yet.
    pub may_wait: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    Customer(CustomerId),
    Missing,
    /// Names a click_id that is ours and recent but not stored yet: clicks are written asynchronously.
    NotYet,
}

/// Resolves a whole batch with a handful of queries.
pub async fn resolve(
    connection: &mut PgConnection,
    codec: &ClickIdCodec,
    references: &[Reference<'_>],
) -> StorageResult<Vec<Found>> {
    let clicks = Clicks::load(connection, codec, references).await?;
    let bound = bound_keys(connection, references, &clicks).await?;
    let mut found: Vec<Found> = Vec::with_capacity(references.len());
    for (position, reference) in references.iter().enumerate() {
        let by_click = clicks.customer(reference);
        found.push(
            match bound
                .get(&position)
                .copied()
                .or(by_click.map(|customer| customer.customer_id))
            {
                Some(customer_id) => Found::Customer(customer_id),
                None if clicks.may_still_come(reference) => Found::NotYet,
                None => Found::Missing,
            },
        );
    }
    let proposed = proposed_keys(connection, references, &found).await?;
    fill_in(&mut found, proposed);
    let alone = keys_alone(connection, references, &found).await?;
    fill_in(&mut found, alone);
    Ok(found)
}

/// The customers whose click_ids the batch names.
struct Clicks {
    by_click_id: HashMap<String, CustomerIdentity>,
    /// Click_ids that decode to a customer id that has been handed out.
    authentic: HashSet<String>,
}

impl Clicks {
    async fn load(
        connection: &mut PgConnection,
        codec: &ClickIdCodec,
        references: &[Reference<'_>],
    ) -> StorageResult<Self> {
        let candidates: Vec<(&ClickId, CustomerId)> = references
            .iter()
            .filter_map(|reference| reference.click_id)
            .flat_map(|click_id| {
                codec
                    .decode(click_id)
                    .map(move |customer_id| (click_id, customer_id))
            })
            .collect();
        if candidates.is_empty() {
            return Ok(Self {
                by_click_id: HashMap::new(),
                authentic: HashSet::new(),
            });
        }
        let ids: Vec<i64> = candidates
            .iter()
            .map(|(_, customer_id)| customer_id.get())
            .collect();
        let stored = customers::identities(connection, &ids).await?;
        let by_click_id: HashMap<String, CustomerIdentity> = stored
            .into_iter()
            .map(|customer| (customer.click_id.clone(), customer))
            .collect();
        let unknown = candidates
            .iter()
            .any(|(click_id, _)| !by_click_id.contains_key(click_id.as_str()));
        let end = if unknown {
            customer_ids::end_of_leased(connection).await?
        } else {
            0
        };
        let authentic = candidates
            .iter()
            .filter(|(_, customer_id)| customer_id.get() < end)
            .map(|(click_id, _)| click_id.as_str().to_owned())
            .collect();
        Ok(Self {
            by_click_id,
            authentic,
        })
    }

    fn customer(&self, reference: &Reference<'_>) -> Option<&CustomerIdentity> {
        self.by_click_id.get(reference.click_id?.as_str())
    }

    fn may_still_come(&self, reference: &Reference<'_>) -> bool {
        reference.click_id.is_some_and(|click_id| {
            let age = reference
                .at
                .timestamp_millis()
                .saturating_sub(click_id.issued_at_ms());
            reference.may_wait
                && self.authentic.contains(click_id.as_str())
                && age < CLICK_MAY_LAG.num_milliseconds()
        })
    }
}

/// Customers by bound key, by position in `references`.
async fn bound_keys(
    connection: &mut PgConnection,
    references: &[Reference<'_>],
    clicks: &Clicks,
) -> StorageResult<HashMap<usize, CustomerId>> {
    let (positions, keys) = ask(references, |_, reference| {
        let program_id = reference
            .program_id
            .or_else(|| clicks.customer(reference).map(|customer| customer.program_id))?;
        Some(KeyInProgram {
            program_id,
            customer_key: reference.customer_key?.as_str(),
        })
    });
    if keys.is_empty() {
        return Ok(HashMap::new());
    }
    Ok(at_positions(
        &positions,
        customers::by_key(connection, &keys).await?,
    ))
}

/// For authenticated references that are still missing: the one customer their key was proposed for.
async fn proposed_keys(
    connection: &mut PgConnection,
    references: &[Reference<'_>],
    found: &[Found],
) -> StorageResult<HashMap<usize, CustomerId>> {
    let (positions, keys) = ask(references, |position, reference| {
        let missing = found.get(position) == Some(&Found::Missing);
        let program_id = reference.program_id.filter(|_| missing)?;
        Some(KeyInProgram {
            program_id,
            customer_key: reference.customer_key?.as_str(),
        })
    });
    if keys.is_empty() {
        return Ok(HashMap::new());
    }
    Ok(at_positions(
        &positions,
        customers::by_proposed_key(connection, &keys).await?,
    ))
}

/// For browsers that are still missing: the one customer of any program who has the key.
async fn keys_alone(
    connection: &mut PgConnection,
    references: &[Reference<'_>],
    found: &[Found],
) -> StorageResult<HashMap<usize, CustomerId>> {
    let (positions, keys) = ask(references, |position, reference| {
        let browser_missing = reference.program_id.is_none() && found.get(position) == Some(&Found::Missing);
        reference
            .customer_key
            .filter(|_| browser_missing)
            .map(CustomerKey::as_str)
    });
    if keys.is_empty() {
        return Ok(HashMap::new());
    }
    Ok(at_positions(
        &positions,
        customers::by_key_in_any_program(connection, &keys).await?,
    ))
}

/// Keys bound while a batch is decided on: the next record of the batch finds its customer by them, as the next
/// batch will find it in the table.
#[derive(Debug, Default)]
pub struct KeyBindings(HashMap<(ProgramId, String), CustomerId>);

impl KeyBindings {
    /// The customer a key was bound to in this batch, which goes before what the tables said.
    pub fn redirect(
        &self,
        program_id: ProgramId,
        key: Option<&CustomerKey>,
        found: CustomerId,
    ) -> CustomerId {
        let bound = key.and_then(|key| self.0.get(&(program_id, key.to_string())));
        bound.copied().unwrap_or(found)
    }

    /// Binds a key to a customer that has none. A bound key stays.
    pub fn bind(&mut self, customer: &mut Customer, key: Option<&CustomerKey>) {
        if customer.customer_key.is_none()
            && let Some(key) = key
        {
            customer.customer_key = Some(key.to_string());
            customer.proposed_customer_key = None;
            self.0
                .insert((customer.program_id, key.to_string()), customer.customer_id);
        }
    }
}

/// What is asked, and the places in the batch that ask it.
fn ask<'a, T>(
    references: &[Reference<'a>],
    question: impl Fn(usize, &Reference<'a>) -> Option<T>,
) -> (Vec<usize>, Vec<T>) {
    references
        .iter()
        .enumerate()
        .filter_map(|(position, reference)| question(position, reference).map(|asked| (position, asked)))
        .unzip()
}

/// Translates answers that name a place in the question into places in the batch.
fn at_positions(positions: &[usize], answers: Vec<(usize, CustomerId)>) -> HashMap<usize, CustomerId> {
    answers
        .into_iter()
        .filter_map(|(asked, customer_id)| positions.get(asked).map(|position| (*position, customer_id)))
        .collect()
}

fn fill_in(found: &mut [Found], answers: HashMap<usize, CustomerId>) {
    for (position, customer_id) in answers {
        if let Some(place) = found.get_mut(position) {
            *place = Found::Customer(customer_id);
        }
    }
}
