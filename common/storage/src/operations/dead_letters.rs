//! Records that no retry can process. They are kept whole, for a person to inspect and replay.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::error::StorageResult;
use domain::ids::ProgramId;

#[derive(Debug)]
pub struct NewDeadLetter<'a> {
    pub subject: &'a str,
    /// `None` when the record could not be decoded.
    pub event_id: Option<Uuid>,
    /// `None` when the record names no program. Then no program's members can see it.
    pub program_id: Option<ProgramId>,
    pub payload: &'a [u8],
    pub reason: &'a str,
    /// JetStream's delivery count at the last attempt.
    pub deliveries: u32,
}

/// Stores a dead letter. If the same record, delivered again, is already stored, that row stays as it is.
pub async fn insert(connection: &mut PgConnection, letter: &NewDeadLetter<'_>) -> StorageResult<()> {
    execute!(
        connection,
        "INSERT INTO dead_letters (subject, event_id, program_id, payload, reason, deliveries)
         VALUES ($1, $2, $3, $4, $5, $6)
         ON CONFLICT (subject, event_id) WHERE replayed_at IS NULL DO NOTHING",
        letter.subject,
        letter.event_id,
        letter.program_id.map(ProgramId::get),
        letter.payload,
        letter.reason,
        i32::try_from(letter.deliveries).unwrap_or(i32::MAX),
    );
    Ok(())
}

#[derive(Debug, Clone)]
pub struct KeptLetter {
    pub id: i64,
    /// The NATS subject of the record, with the installation's prefix.
    pub subject: String,
    pub event_id: Option<Uuid>,
    /// The record's JSON, or the whole message when it could not be split into records.
    pub payload: Vec<u8>,
    pub reason: String,
    pub deliveries: i32,
    pub created_at: DateTime<Utc>,
    pub replayed_at: Option<DateTime<Utc>>,
}

/// The oldest dead letters after `after`. Replayed ones are left out unless `replayed` is set.
pub async fn list(
    connection: &mut PgConnection,
    after: i64,
    replayed: bool,
    limit: i64,
) -> StorageResult<Vec<KeptLetter>> {
    Ok(fetch_all!(
        connection,
        KeptLetter,
        "SELECT id, subject, event_id, payload, reason, deliveries, created_at, replayed_at
         FROM dead_letters WHERE id > $1 AND ($2 OR replayed_at IS NULL) ORDER BY id LIMIT $3",
        after,
        replayed,
        limit,
    ))
}

macro_rules! letter {
    ($connection:expr, $id:expr, $lock:literal) => {
        Ok(fetch_optional!(
            $connection,
            KeptLetter,
            "SELECT id, subject, event_id, payload, reason, deliveries, created_at, replayed_at
             FROM dead_letters WHERE id = $1"
                + $lock,
            $id,
        ))
    };
}

pub async fn find(connection: &mut PgConnection, id: i64) -> StorageResult<Option<KeptLetter>> {
    letter!(connection, id, "")
}

/// The ids of dead letters that were not replayed, oldest first.
pub async fn open_ids(connection: &mut PgConnection) -> StorageResult<Vec<i64>> {
    Ok(fetch_scalars!(
        connection,
        "SELECT id FROM dead_letters WHERE replayed_at IS NULL ORDER BY id"
    ))
}

/// Like [`find`], but locks the row: a concurrent replay waits and then sees that the letter was replayed.
pub async fn lock(connection: &mut PgConnection, id: i64) -> StorageResult<Option<KeptLetter>> {
    letter!(connection, id, " FOR UPDATE")
}

/// The caller holds the lock of the letter. A record that fails again becomes a new dead letter.
pub async fn mark_replayed(connection: &mut PgConnection, id: i64, now: DateTime<Utc>) -> StorageResult<()> {
    execute!(
        connection,
        "UPDATE dead_letters SET replayed_at = $2 WHERE id = $1",
        id,
        now
    );
    Ok(())
}
