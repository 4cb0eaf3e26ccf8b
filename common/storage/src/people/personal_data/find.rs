//! Finds a customer's rows, and the dead letters, claims and processor events that contain one of the names.

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};
use sqlx::PgConnection;
use uuid::Uuid;

use super::clicked_at::{self, CLOCK_SKEW};
use crate::error::StorageResult;
use domain::data_subject::{CustomerNames, RecordOwner};
use domain::ids::{CustomerId, ProgramId};
use domain::people::account::EmailAddress;
use domain::tracking::click_id::ClickId;

/// Maximum number of records in memory.
const PIECE: i64 = 100;

#[derive(Clone, Copy, Default)]
pub struct Identifiers<'a> {
    pub customer_key: Option<&'a str>,
    pub click_id: Option<&'a ClickId>,
    /// The customer ids that the click_id decodes to.
    pub click_id_customers: &'a [i64],
    pub email: Option<&'a EmailAddress>,
    /// The address hashed with each key in use, because any of them may have made the stored hash.
    pub email_hashes: &'a [String],
}

// The values are personal data and must not be logged.
domain::redacted!(Identifiers<'_>);

/// Which set-aside records are searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// For members: only records that name the customer's program.
    Program,
    /// For operators: also records without a readable program. They may be about another program's customer.
    Installation,
}

#[derive(Debug)]
pub struct Found {
    pub program_id: ProgramId,
    /// In ascending order. Several customers may have the same e-mail address.
    pub customers: Vec<CustomerId>,
    pub(super) names: CustomerNames,
    /// The times of all their clicks.
    pub(super) clicked_at: BTreeSet<DateTime<Utc>>,
    pub(super) letters: Vec<i64>,
    pub(super) claims: Vec<String>,
    pub(super) processor_events: Vec<Uuid>,
}

impl Found {
    pub(super) fn customer_ids(&self) -> Vec<i64> {
        self.customers.iter().map(|id| id.get()).collect()
    }

    pub(super) fn keys(&self) -> Vec<&str> {
        self.names.keys.iter().map(String::as_str).collect()
    }

    /// No event of these customers is older. Without customers there is no bound.
    pub(super) fn since(&self) -> DateTime<Utc> {
        self.clicked_at
            .first()
            .map_or(DateTime::UNIX_EPOCH, |first| *first - CLOCK_SKEW)
    }

    pub(super) fn processor_customers(&self) -> Vec<&str> {
        self.names
            .processor_customers
            .iter()
            .map(String::as_str)
            .collect()
    }
}

/// Finds the data of a customer. Locks nothing, because the search through set-aside records takes long. The
/// search for clicks that a journey dropped takes long, too: it calls `searching` before each hour.
pub async fn find(
    connection: &mut PgConnection,
    program_id: ProgramId,
    identifiers: Identifiers<'_>,
    reach: Reach,
    searching: impl FnMut(DateTime<Utc>),
) -> StorageResult<Found> {
    let rows = fetch_all!(
        &mut *connection,
        "SELECT id, click_id, customer_key, email_hash FROM customers
         WHERE program_id = $1 AND (customer_key = $2 OR proposed_customer_key = $2 OR email_hash = ANY($3)
                                    OR (id = ANY($4) AND click_id = $5))
         ORDER BY id",
        program_id.get(),
        identifiers.customer_key,
        identifiers.email_hashes,
        identifiers.click_id_customers,
        identifiers.click_id.map(ClickId::as_str),
    );
    let mut names = CustomerNames {
        keys: identifiers.customer_key.map(str::to_owned).into_iter().collect(),
        click_ids: identifiers
            .click_id
            .map(|id| id.as_str().to_owned())
            .into_iter()
            .collect(),
        email_hashes: identifiers.email_hashes.iter().cloned().collect(),
        email: identifiers.email.cloned(),
        ..CustomerNames::default()
    };
    let mut customers = Vec::new();
    for row in rows {
        customers.push(CustomerId::new(row.id));
        // A proposed key is unverified: it finds its own row, but no other rows.
        names.keys.extend(row.customer_key);
        names.click_ids.insert(row.click_id);
        names.email_hashes.extend(row.email_hash);
    }
    names.processor_customers = processor_customers(connection, program_id, &names).await?;
    let ids: Vec<i64> = customers.iter().copied().map(CustomerId::get).collect();
    let mut clicked_at = clicked_at::read(connection, &ids).await?;
    clicked_at::add_forgotten(connection, program_id, &mut clicked_at, searching).await?;
    let seeker = Seeker {
        program_id,
        names: &names,
        reach,
    };
    Ok(Found {
        program_id,
        customers,
        clicked_at: clicked_at.times,
        letters: seeker.letters(connection).await?,
        claims: seeker.claims(connection).await?,
        processor_events: seeker.processor_events(connection).await?,
        names,
    })
}

async fn processor_customers(
    connection: &mut PgConnection,
    program_id: ProgramId,
    names: &CustomerNames,
) -> StorageResult<BTreeSet<String>> {
    let list = |names: &BTreeSet<String>| names.iter().cloned().collect::<Vec<_>>();
    let ids = fetch_scalars!(
        connection,
        "SELECT processor_customer_id FROM processor_customers
         WHERE program_id = $1 AND (customer_key = ANY($2) OR click_id = ANY($3))",
        program_id.get(),
        &list(&names.keys),
        &list(&names.click_ids),
    );
    Ok(ids.into_iter().collect())
}

#[derive(Clone, Copy)]
struct Seeker<'a> {
    program_id: ProgramId,
    names: &'a CustomerNames,
    reach: Reach,
}

impl Seeker<'_> {
    /// Also search records without a known program.
    fn all(self) -> bool {
        self.reach == Reach::Installation
    }

    async fn letters(self, connection: &mut PgConnection) -> StorageResult<Vec<i64>> {
        let mut search = Search::new(0, self);
        while search.goes_on {
            let piece = fetch_all!(
                &mut *connection,
                "SELECT id, program_id, payload FROM dead_letters
                 WHERE id > $1 AND payload <> '' AND (program_id = $2 OR (program_id IS NULL AND $3)) ORDER BY id LIMIT $4",
                search.after,
                self.program_id.get(),
                self.all(),
                PIECE,
            );
            search.look_through(
                piece
                    .into_iter()
                    .map(|row| (row.id, owner(row.program_id), row.payload)),
            );
        }
        Ok(search.theirs)
    }

    async fn claims(self, connection: &mut PgConnection) -> StorageResult<Vec<String>> {
        let mut search = Search::new(String::new(), self);
        while search.goes_on {
            let piece = fetch_all!(
                &mut *connection,
                r#"SELECT transaction_id, payload AS "payload!" FROM transaction_claims
                   WHERE program_id = $1 AND state = 'dead' AND payload IS NOT NULL AND transaction_id > $2
                   ORDER BY transaction_id LIMIT $3"#,
                self.program_id.get(),
                search.after.as_str(),
                PIECE,
            );
            search.look_through(
                piece
                    .into_iter()
                    .map(|row| (row.transaction_id, RecordOwner::Program, row.payload)),
            );
        }
        Ok(search.theirs)
    }

    async fn processor_events(self, connection: &mut PgConnection) -> StorageResult<Vec<Uuid>> {
        let mut search = Search::new(Uuid::nil(), self);
        while search.goes_on {
            let piece = fetch_all!(
                &mut *connection,
                r#"SELECT event_id, program_id, payload AS "payload!" FROM processor_events
                   -- Others have no payload; these have an index.
                   WHERE state IN ('open', 'parked', 'review', 'stuck') AND (program_id = $1 OR (program_id IS NULL AND $2))
                     AND payload IS NOT NULL AND event_id > $3
                   ORDER BY event_id LIMIT $4"#,
                self.program_id.get(),
                self.all(),
                search.after,
                PIECE,
            );
            search.look_through(
                piece
                    .into_iter()
                    .map(|row| (row.event_id, owner(row.program_id), row.payload)),
            );
        }
        Ok(search.theirs)
    }
}

/// The owner of a selected row: the program itself, or unknown.
const fn owner(program_id: Option<i64>) -> RecordOwner {
    match program_id {
        Some(_) => RecordOwner::Program,
        None => RecordOwner::Unknown,
    }
}

/// Iterates over records about the customer in pages, ordered by key.
struct Search<'a, K> {
    seeker: Seeker<'a>,
    /// The last key that was read.
    after: K,
    theirs: Vec<K>,
    /// False after an empty page.
    goes_on: bool,
}

impl<'a, K: Clone> Search<'a, K> {
    /// `first` is less than every key.
    const fn new(first: K, seeker: Seeker<'a>) -> Self {
        Self {
            seeker,
            after: first,
            theirs: Vec::new(),
            goes_on: true,
        }
    }

    fn look_through(&mut self, piece: impl Iterator<Item = (K, RecordOwner, impl AsRef<[u8]>)>) {
        self.goes_on = false;
        for (key, owner, record) in piece {
            self.goes_on = true;
            self.after.clone_from(&key);
            let Seeker {
                names, program_id, ..
            } = self.seeker;
            if names.are_in(record.as_ref(), program_id, owner) {
                self.theirs.push(key);
            }
        }
    }
}
