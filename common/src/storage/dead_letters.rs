//! Records that no retry will fix, kept whole for a person to look at and replay.

use sqlx::PgConnection;
use uuid::Uuid;

use super::StorageResult;

#[derive(Debug)]
pub struct NewDeadLetter<'a> {
    pub subject: &'a str,
    /// `None` when the record could not even be decoded.
    pub event_id: Option<Uuid>,
    pub payload: &'a [u8],
    pub reason: &'a str,
    /// JetStream's delivery count when it was given up.
    pub deliveries: u32,
}

/// Stores a dead letter; one that is there already (the same record, delivered again) stays as it is.
pub async fn bury(connection: &mut PgConnection, letter: &NewDeadLetter<'_>) -> StorageResult<()> {
    sqlx::query!(
        "INSERT INTO dead_letters (subject, event_id, payload, reason, deliveries)
         VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT (subject, event_id) WHERE replayed_at IS NULL DO NOTHING",
        letter.subject,
        letter.event_id,
        letter.payload,
        letter.reason,
        i32::try_from(letter.deliveries).unwrap_or(i32::MAX),
    )
    .execute(connection)
    .await?;
    Ok(())
}
