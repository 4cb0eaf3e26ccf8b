//! Records that no retry will fix, kept whole for a person to look at and replay.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::error::StorageResult;
use domain::ids::ProgramId;

#[derive(Debug)]
pub struct NewDeadLetter<'a> {
    pub subject: &'a str,
    /// `None` when the record could not even be decoded.
    pub event_id: Option<Uuid>,
    /// `None` when the record names none: then no program's people reach it.
    pub program_id: Option<ProgramId>,
    pub payload: &'a [u8],
    pub reason: &'a str,
    /// JetStream's delivery count when it was given up.
    pub deliveries: u32,
}

/// Stores a dead letter; one that is there already (the same record, delivered again) stays as it is.
pub async fn insert(connection: &mut PgConnection, letter: &NewDeadLetter<'_>) -> StorageResult<()> {
    sqlx::query!(
        "INSERT INTO dead_letters (subject, event_id, program_id, payload, reason, deliveries)
         VALUES ($1, $2, $3, $4, $5, $6)
         ON CONFLICT (subject, event_id) WHERE replayed_at IS NULL DO NOTHING",
        letter.subject,
        letter.event_id,
        letter.program_id.map(ProgramId::get),
        letter.payload,
        letter.reason,
        i32::try_from(letter.deliveries).unwrap_or(i32::MAX),
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// A dead letter as it is kept.
#[derive(Debug, Clone)]
pub struct KeptLetter {
    pub id: i64,
    /// The NATS subject it came on, the installation's prefix included.
    pub subject: String,
    pub event_id: Option<Uuid>,
    /// The record's JSON, or the whole message when it could not be cut into records.
    pub payload: Vec<u8>,
    pub reason: String,
    pub deliveries: i32,
    pub created_at: DateTime<Utc>,
    pub replayed_at: Option<DateTime<Utc>>,
}

/// The oldest that follow `after`, and of them only those not replayed unless `replayed` are wanted too.
pub async fn list(
    connection: &mut PgConnection,
    after: i64,
    replayed: bool,
    limit: i64,
) -> StorageResult<Vec<KeptLetter>> {
    Ok(sqlx::query_as!(
        KeptLetter,
        "SELECT id, subject, event_id, payload, reason, deliveries, created_at, replayed_at
         FROM dead_letters WHERE id > $1 AND ($2 OR replayed_at IS NULL) ORDER BY id LIMIT $3",
        after,
        replayed,
        limit,
    )
    .fetch_all(connection)
    .await?)
}

pub async fn find(connection: &mut PgConnection, id: i64) -> StorageResult<Option<KeptLetter>> {
    Ok(sqlx::query_as!(
        KeptLetter,
        "SELECT id, subject, event_id, payload, reason, deliveries, created_at, replayed_at
         FROM dead_letters WHERE id = $1",
        id,
    )
    .fetch_optional(connection)
    .await?)
}

/// The ids of those not replayed, oldest first.
pub async fn open_ids(connection: &mut PgConnection) -> StorageResult<Vec<i64>> {
    Ok(
        sqlx::query_scalar!("SELECT id FROM dead_letters WHERE replayed_at IS NULL ORDER BY id")
            .fetch_all(connection)
            .await?,
    )
}

/// [`find`], locked: a concurrent replay waits, and then sees that it was replayed.
pub async fn lock(connection: &mut PgConnection, id: i64) -> StorageResult<Option<KeptLetter>> {
    Ok(sqlx::query_as!(
        KeptLetter,
        "SELECT id, subject, event_id, payload, reason, deliveries, created_at, replayed_at
         FROM dead_letters WHERE id = $1 FOR UPDATE",
        id,
    )
    .fetch_optional(connection)
    .await?)
}

/// The letter must be locked. A record that fails again becomes a letter of its own.
pub async fn mark_replayed(connection: &mut PgConnection, id: i64, now: DateTime<Utc>) -> StorageResult<()> {
    sqlx::query!("UPDATE dead_letters SET replayed_at = $2 WHERE id = $1", id, now)
        .execute(connection)
        .await?;
    Ok(())
}
