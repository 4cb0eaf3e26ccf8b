//! `processor_customers`: the customer_key or click_id of each customer of a payment processor.

use std::collections::{BTreeMap, HashMap, HashSet};

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::error::{StorageError, StorageResult};
use crate::processor::processor_events::{self, waits_for_processor_customer};
use domain::ids::{EventId, ProgramId};
use domain::processors::payer::{Addition, NamedCustomer, Payer};
use domain::processors::processor::ProcessorId;
use domain::text::CustomerKey;
use domain::tracking::click_id::ClickId;

pub type Key = (ProgramId, ProcessorId);

#[derive(Debug, Clone)]
pub struct Binding {
    pub processor_customer: ProcessorId,
    pub payer: Payer,
    pub bound_at: DateTime<Utc>,
    /// When an event first named a different customer.
    pub contested_at: Option<DateTime<Utc>>,
}

macro_rules! bindings {
    ($connection:expr, $keys:expr, $lock:literal) => {{
        columns!((program_id, id) in $keys =>
            programs: i64 = program_id.get(),
            ids: &str = id.as_str()
        );
        let rows = fetch_all!(
            $connection,
            Row,
            "SELECT c.* FROM processor_customers c
             JOIN UNNEST($1::bigint[], $2::text[]) AS n (program_id, id)
               ON c.program_id = n.program_id AND c.processor_customer_id = n.id" + $lock,
            &programs,
            &ids as &[&str],
        );
        rows.into_iter()
            .map(|row| Ok((row.key()?, row.binding()?.payer)))
            .collect()
    }};
}

/// The bindings of these customers. Unbound ones are absent.
pub async fn find(connection: &mut PgConnection, keys: &[Key]) -> StorageResult<HashMap<Key, Payer>> {
    if keys.is_empty() {
        return Ok(HashMap::new());
    }
    bindings!(connection, keys, "")
}

/// The programs in which the processor's customer is bound, ascending.
pub async fn programs_that_know(
    connection: &mut PgConnection,
    programs: &[ProgramId],
    processor_customer: &ProcessorId,
) -> StorageResult<Vec<ProgramId>> {
    let programs: Vec<i64> = programs.iter().map(|program_id| program_id.get()).collect();
    Ok(fetch_scalars!(
        connection,
        r#"SELECT program_id AS "id: ProgramId" FROM processor_customers
         WHERE program_id = ANY($1) AND processor_customer_id = $2 ORDER BY program_id"#,
        &programs,
        processor_customer.as_str(),
    ))
}

#[derive(Debug, Clone, Copy)]
pub struct Naming<'a> {
    pub event_id: EventId,
    pub program_id: ProgramId,
    pub customer: &'a NamedCustomer,
}

impl Naming<'_> {
    fn key(&self) -> Key {
        (self.program_id, self.customer.processor_customer.clone())
    }
}

/// Binds new customers, adds missing names, and wakes the payments that wait for them. An existing binding to
/// another customer stays and is marked as contested. Returns the events that name a different customer.
pub async fn learn(connection: &mut PgConnection, namings: &[Naming<'_>]) -> StorageResult<HashSet<EventId>> {
    if namings.is_empty() {
        return Ok(HashSet::new());
    }
    let mut first: BTreeMap<Key, &Payer> = BTreeMap::new();
    for naming in namings {
        first.entry(naming.key()).or_insert(&naming.customer.payer);
    }
    let keys: Vec<Key> = first.keys().cloned().collect();
    let mut news = insert(connection, &first).await?;
    let mut known = lock(connection, &keys).await?;
    let (mut contested, mut conflicts) = (Vec::new(), HashSet::new());
    for naming in namings {
        let key = naming.key();
        let Some(payer) = known.get_mut(&key) else {
            continue;
        };
        match payer.add(&naming.customer.payer) {
            Addition::Nothing => {}
            Addition::Name => news.push(key),
            Addition::Conflict => {
                contested.push(key);
                conflicts.insert(naming.event_id);
            }
        }
    }
    for key in &news {
        if let Some(payer) = known.get(key) {
            complete(connection, key, payer).await?;
        }
    }
    mark_contested(connection, &contested).await?;
    wake(connection, &news).await?;
    Ok(conflicts)
}

/// Binds a customer by hand, replacing any binding, and wakes the payments that wait for it.
pub async fn bind(connection: &mut PgConnection, key: &Key, payer: &Payer) -> StorageResult<Binding> {
    let row = fetch_one!(
        &mut *connection,
        Row,
        "INSERT INTO processor_customers (program_id, processor_customer_id, customer_key, click_id)
         VALUES ($1, $2, $3, $4)
         ON CONFLICT (program_id, processor_customer_id) DO UPDATE
         SET customer_key = excluded.customer_key, click_id = excluded.click_id, bound_at = excluded.bound_at,
             contested_at = NULL
         RETURNING *",
        key.0.get(),
        key.1.as_str(),
        payer.customer_key.as_ref().map(CustomerKey::as_str),
        payer.click_id.as_ref().map(ClickId::as_str),
    );
    wake(connection, std::slice::from_ref(key)).await?;
    row.binding()
}

/// A program's bindings, contested ones first, at most `limit`.
pub async fn list(
    connection: &mut PgConnection,
    program_id: ProgramId,
    limit: i64,
) -> StorageResult<Vec<Binding>> {
    let rows = fetch_all!(
        connection,
        Row,
        "SELECT * FROM processor_customers WHERE program_id = $1
         ORDER BY contested_at DESC NULLS LAST, bound_at DESC, processor_customer_id LIMIT $2",
        program_id.get(),
        limit,
    );
    rows.into_iter().map(Row::binding).collect()
}

async fn insert(connection: &mut PgConnection, new: &BTreeMap<Key, &Payer>) -> StorageResult<Vec<Key>> {
    let rows = unnest!(
        query_as,
        Row,
        "INSERT INTO processor_customers (program_id, processor_customer_id, customer_key, click_id)
         SELECT * FROM UNNEST($1::bigint[], $2::text[], $3::text[], $4::text[])
         ON CONFLICT (program_id, processor_customer_id) DO NOTHING
         RETURNING *",
        ((program_id, id), payer) in new =>
            programs: i64 = program_id.get(),
            ids: &str = id.as_str(),
            customer_keys: Option<&str> = payer.customer_key.as_ref().map(CustomerKey::as_str),
            click_ids: Option<&str> = payer.click_id.as_ref().map(ClickId::as_str)
    )
    .fetch_all(connection)
    .await?;
    rows.iter().map(Row::key).collect()
}

async fn lock(connection: &mut PgConnection, keys: &[Key]) -> StorageResult<HashMap<Key, Payer>> {
    bindings!(
        connection,
        keys,
        " ORDER BY c.program_id, c.processor_customer_id FOR UPDATE OF c"
    )
}

async fn complete(connection: &mut PgConnection, key: &Key, payer: &Payer) -> StorageResult<()> {
    execute!(
        connection,
        "UPDATE processor_customers SET customer_key = $3, click_id = $4
         WHERE program_id = $1 AND processor_customer_id = $2",
        key.0.get(),
        key.1.as_str(),
        payer.customer_key.as_ref().map(CustomerKey::as_str),
        payer.click_id.as_ref().map(ClickId::as_str),
    );
    Ok(())
}

async fn mark_contested(connection: &mut PgConnection, keys: &[Key]) -> StorageResult<()> {
    write_batch!(
        connection,
        "UPDATE processor_customers c SET contested_at = now()
         FROM UNNEST($1::bigint[], $2::text[]) AS n (program_id, id)
         WHERE c.program_id = n.program_id AND c.processor_customer_id = n.id AND c.contested_at IS NULL",
        (program_id, id) in keys =>
            programs: i64 = program_id.get(),
            ids: &str = id.as_str()
    );
    Ok(())
}

async fn wake(connection: &mut PgConnection, keys: &[Key]) -> StorageResult<()> {
    columns!((program_id, id) in keys => awaited: _ = (*program_id, waits_for_processor_customer(id)));
    processor_events::wake(connection, &awaited).await
}

struct Row {
    program_id: i64,
    processor_customer_id: String,
    customer_key: Option<String>,
    click_id: Option<String>,
    bound_at: DateTime<Utc>,
    contested_at: Option<DateTime<Utc>>,
}

impl Row {
    fn key(&self) -> StorageResult<Key> {
        Ok((ProgramId::new(self.program_id), self.id()?))
    }

    fn id(&self) -> StorageResult<ProcessorId> {
        ProcessorId::parse(&self.processor_customer_id).map_err(|_| {
            StorageError::corrupt("processor_customers", "processor_customer_id", self.program_id)
        })
    }

    fn binding(self) -> StorageResult<Binding> {
        let click_id = self.click_id.as_deref().and_then(ClickId::parse);
        let customer_key = self
            .customer_key
            .as_deref()
            .and_then(|key| CustomerKey::parse(key).ok());
        Ok(Binding {
            processor_customer: self.id()?,
            payer: Payer::new(click_id, customer_key).ok_or_else(|| {
                StorageError::corrupt("processor_customers", "customer_key", self.program_id)
            })?,
            bound_at: self.bound_at,
            contested_at: self.contested_at,
        })
    }
}
