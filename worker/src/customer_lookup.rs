//! Finds the customer of a lead or a sale.
//!
//! Order:
//!
//! 1. the customer to whom the key is bound in the program;
//! 2. the customer whose exact click_id was sent;
//! 3. the one customer for whom a browser proposed the key (only if the caller is authenticated).
//!
//! A browser sends no program. The program is that of its click_id's customer, and a key alone resolves only
//! if exactly one customer of all programs has it. A key that only a browser has bound yields to an
//! authenticated call that names another click of the program ([`KeyBindings`]).

mod keys;

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use bus::backlog::Backlog;
use bus::consume::Delivered;
use chrono::TimeDelta;
use domain::ids::{CustomerId, EventId, ProgramId};
use domain::text::CustomerKey;
use domain::tracking::click_id::{ClickId, ClickIdCodec};
use futures::future::try_join_all;
use sqlx::PgConnection;
use storage::StorageResult;
use storage::tracking::customer_ids;
use storage::tracking::customers::{self, Customer, KeyInProgram};
use tokio::time::timeout;

use self::keys::yields;
use crate::steps::transaction::OfEvent;

pub use self::keys::{KeyBindings, Match, NamedCustomer};

/// The times in two streams may come from two servers, whose clocks differ by less than this.
const CLOCKS_DIFFER: TimeDelta = TimeDelta::seconds(3);

/// If the stream answers more slowly, this counts as an outage, in which every event keeps waiting.
const ASK_WITHIN: Duration = Duration::from_secs(1);

/// The postponed events of a batch that need no longer wait for the click or lead they name. Everything
/// stored in these streams before such an event is settled by now, and so is its click or lead. Call this
/// before looking up the customers.
///
/// A timeout would not do: after an outage, clicks and leads may come later than what names them.
pub async fn settled_before<R: OfEvent>(backlogs: &[&Backlog], batch: &[Delivered<R>]) -> HashSet<EventId> {
    let postponed: Vec<&Delivered<R>> = batch.iter().filter(|delivered| delivered.postponed).collect();
    if postponed.is_empty() {
        return HashSet::new();
    }
    let asked = try_join_all(backlogs.iter().map(|backlog| backlog.oldest()));
    let oldest = match timeout(ASK_WITHIN, asked).await {
        Ok(Ok(oldest)) => oldest.into_iter().flatten().min(),
        unknown => {
            tracing::warn!(?unknown, "backlog lookup failed");
            return HashSet::new();
        }
    };
    postponed
        .into_iter()
        .filter(|delivered| oldest.is_none_or(|oldest| oldest > delivered.stored_at + CLOCKS_DIFFER))
        .map(|delivered| delivered.record.event_id())
        .collect()
}

/// How a record names its customer.
#[derive(Debug, Clone, Copy)]
pub struct Reference<'a> {
    /// The authenticated caller's program; `None` for a browser.
    pub program_id: Option<ProgramId>,
    pub customer_key: Option<&'a CustomerKey>,
    pub click_id: Option<&'a ClickId>,
    /// Whether to wait for a click that is not stored yet.
    pub may_wait: bool,
    /// Whether to wait for a lead that may bind the key.
    pub may_wait_for_lead: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    Customer(Match),
    Missing,
    /// The record names one of our click_ids whose click is not stored yet, since clicks are stored
    /// asynchronously; or it names a key that a late lead may bind.
    Pending,
}

pub struct Resolved {
    /// In the order of the references.
    pub found: Vec<Found>,
    /// All customers that were found or named, locked.
    pub customers: HashMap<CustomerId, Customer>,
}

/// Resolves a whole batch and locks its customers, for most batches with one statement.
///
/// Customers found by a proposed key or by a key alone are locked after the others, so two batches may
/// deadlock. Then the database ends one of them, and it is retried.
pub async fn resolve(
    connection: &mut PgConnection,
    codec: &ClickIdCodec,
    references: &[Reference<'_>],
) -> StorageResult<Resolved> {
    let clicks = named_clicks(codec, references);
    let programs = programs_of_browsers(connection, codec, references).await?;
    let ids = customer_ids_of(&clicks);
    let keys: Vec<KeyInProgram<'_>> = references
        .iter()
        .filter_map(|reference| key_in_program(reference, &programs))
        .collect();
    let mut named = Named::default();
    named.take(customers::lock_named(connection, &ids, &keys).await?);
    let authentic = authentic_clicks(connection, &clicks, &named).await?;
    let mut found: Vec<Found> = references
        .iter()
        .map(|reference| {
            let by_key = key_in_program(reference, &programs).and_then(|key| named.by_key(&key));
            let clicked = reference.click_id.and_then(|click_id| named.by_click(click_id));
            let late = clicked.is_none() && may_still_come(reference, &authentic);
            // A key bound by a browser may yield to a click that is not stored yet.
            let settled =
                |holder: &CustomerId| !(late && yields(reference.program_id, named.customers.get(holder)));
            match by_key.or(clicked).filter(settled) {
                Some(customer_id) => Found::Customer(Match { customer_id, clicked }),
                None if late => Found::Pending,
                None => Found::Missing,
            }
        })
        .collect();
    let mut others = proposed_keys(connection, references, &found).await?;
    fill_in(&mut found, &others);
    let alone = keys_alone(connection, references, &found).await?;
    fill_in(&mut found, &alone);
    others.extend(alone);
    for (place, reference) in found.iter_mut().zip(references) {
        if *place == Found::Missing && reference.may_wait_for_lead && reference.customer_key.is_some() {
            *place = Found::Pending;
        }
    }
    let ids: Vec<i64> = others.values().map(|customer_id| customer_id.get()).collect();
    named.take(customers::lock(connection, &ids).await?);
    Ok(Resolved {
        found,
        customers: named.customers,
    })
}

/// The customers that the references name, locked.
#[derive(Default)]
struct Named {
    customers: HashMap<CustomerId, Customer>,
    by_click_id: HashMap<String, CustomerId>,
    by_key: HashMap<(ProgramId, String), CustomerId>,
}

impl Named {
    fn take(&mut self, customers: Vec<Customer>) {
        for customer in customers {
            let customer_id = customer.customer_id;
            self.by_click_id.insert(customer.click_id.clone(), customer_id);
            if let Some(key) = &customer.customer_key {
                self.by_key
                    .insert((customer.program_id, key.clone()), customer_id);
            }
            self.customers.insert(customer_id, customer);
        }
    }

    fn by_key(&self, key: &KeyInProgram<'_>) -> Option<CustomerId> {
        self.by_key
            .get(&(key.program_id, key.customer_key.to_owned()))
            .copied()
    }

    /// The whole string must equal the customer's click_id.
    fn by_click(&self, click_id: &ClickId) -> Option<CustomerId> {
        self.by_click_id.get(click_id.as_str()).copied()
    }
}

fn named_clicks<'a>(codec: &ClickIdCodec, references: &[Reference<'a>]) -> Vec<(&'a ClickId, CustomerId)> {
    references
        .iter()
        .filter_map(|reference| reference.click_id)
        .flat_map(|click_id| {
            codec
                .decode(click_id)
                .map(move |customer_id| (click_id, customer_id))
        })
        .collect()
}

fn customer_ids_of(clicks: &[(&ClickId, CustomerId)]) -> Vec<i64> {
    clicks.iter().map(|(_, customer_id)| customer_id.get()).collect()
}

/// The programs of customers whose click_ids browsers send together with a key.
async fn programs_of_browsers(
    connection: &mut PgConnection,
    codec: &ClickIdCodec,
    references: &[Reference<'_>],
) -> StorageResult<HashMap<String, ProgramId>> {
    let browsers: Vec<Reference<'_>> = references
        .iter()
        .filter(|reference| reference.program_id.is_none() && reference.customer_key.is_some())
        .copied()
        .collect();
    let ids = customer_ids_of(&named_clicks(codec, &browsers));
    if ids.is_empty() {
        return Ok(HashMap::new());
    }
    let stored = customers::identities(connection, &ids).await?;
    Ok(stored
        .into_iter()
        .map(|customer| (customer.click_id, customer.program_id))
        .collect())
}

fn key_in_program<'a>(
    reference: &Reference<'a>,
    programs_of_browsers: &HashMap<String, ProgramId>,
) -> Option<KeyInProgram<'a>> {
    let of_click = || programs_of_browsers.get(reference.click_id?.as_str()).copied();
    Some(KeyInProgram {
        program_id: reference.program_id.or_else(of_click)?,
        customer_key: reference.customer_key?.as_str(),
    })
}

/// The click_ids that belong to no stored customer but decode to an id that was leased.
async fn authentic_clicks<'a>(
    connection: &mut PgConnection,
    clicks: &[(&'a ClickId, CustomerId)],
    named: &Named,
) -> StorageResult<HashSet<&'a ClickId>> {
    let mut unknown = clicks.to_vec();
    unknown.retain(|(click_id, _)| named.by_click(click_id).is_none());
    if unknown.is_empty() {
        return Ok(HashSet::new());
    }
    let end = customer_ids::end_of_leased(connection).await?;
    unknown.retain(|(_, customer_id)| customer_id.get() < end);
    Ok(unknown.into_iter().map(|(click_id, _)| click_id).collect())
}

fn may_still_come(reference: &Reference<'_>, authentic: &HashSet<&ClickId>) -> bool {
    let is_authentic = |click_id| authentic.contains(click_id);
    reference.may_wait && reference.click_id.is_some_and(is_authentic)
}

/// For authenticated references without a customer: the one for whom a browser proposed the key.
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

/// For browser references without a customer so far: the one customer of all programs with the key.
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

/// The lookups to run, and the position in the batch of each lookup's reference.
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

/// Maps answers by lookup to answers by position in the batch.
fn at_positions(positions: &[usize], answers: Vec<(usize, CustomerId)>) -> HashMap<usize, CustomerId> {
    answers
        .into_iter()
        .filter_map(|(asked, customer_id)| positions.get(asked).map(|position| (*position, customer_id)))
        .collect()
}

fn fill_in(found: &mut [Found], answers: &HashMap<usize, CustomerId>) {
    for (position, customer_id) in answers {
        if let Some(place) = found.get_mut(*position) {
            *place = Found::Customer(Match {
                customer_id: *customer_id,
                clicked: None,
            });
        }
    }
}
