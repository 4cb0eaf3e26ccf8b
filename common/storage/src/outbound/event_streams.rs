//! `event_streams`: programs whose event stream is read, which is why it is written. The first read turns a stream on; one that nobody reads
//! is turned off.

use chrono::{DateTime, Utc};
use sqlx::{PgConnection, PgPool};

use crate::error::StorageResult;
use crate::program::program_settings;
use domain::ids::ProgramId;
use domain::outbound_event::{OutboundEventType, WantedEvents};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventStream {
    /// By PostgreSQL's clock. What was written before is not in the stream.
    pub since: DateTime<Utc>,
    /// The last read is noted, to the hour.
    pub is_noted: bool,
}

pub async fn find(
    connection: &mut PgConnection,
    program_id: ProgramId,
) -> StorageResult<Option<EventStream>> {
    let stream = sqlx::query_as!(
        EventStream,
        r#"SELECT since, last_read_at > now() - interval '1 hour' AS "is_noted!" FROM event_streams WHERE program_id = $1"#,
        program_id.get(),
    )
    .fetch_optional(connection)
    .await?;
    Ok(stream)
}

/// From the commit on, what happens in the program is written for the stream. Returns since when it is on, and whether it was turned on here.
pub async fn turn_on(
    connection: &mut PgConnection,
    program_id: ProgramId,
) -> StorageResult<(DateTime<Utc>, bool)> {
    // First, as every change of the program does. The foreign key of the row below locks the program too, but less than the update after it
    // needs: a change that came between the two would deadlock.
    program_settings::lock(connection, program_id).await?;
    let turned_on = sqlx::query_scalar!(
        "INSERT INTO event_streams (program_id, since, last_read_at) VALUES ($1, now(), now())
         ON CONFLICT (program_id) DO NOTHING RETURNING since",
        program_id.get(),
    )
    .fetch_optional(&mut *connection)
    .await?;
    if let Some(since) = turned_on {
        sqlx::query!(
            "UPDATE programs SET wanted_events = wanted_events | $2 WHERE id = $1",
            program_id.get(),
            WantedEvents::NONE.with_stream().bits(),
        )
        .execute(connection)
        .await?;
        return Ok((since, true));
    }
    let since = sqlx::query_scalar!(
        "SELECT since FROM event_streams WHERE program_id = $1",
        program_id.get(),
    )
    .fetch_one(connection)
    .await?;
    Ok((since, false))
}

/// Notes that it is read: at most once an hour.
pub async fn note_read(connection: &mut PgConnection, program_id: ProgramId) -> StorageResult<()> {
    sqlx::query!(
        "UPDATE event_streams SET last_read_at = now() WHERE program_id = $1 AND last_read_at <= now() - interval '1 hour'",
        program_id.get(),
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Turns off up to `limit` streams without a read since `horizon`; returns how many. Their programs' endpoints get events as before.
pub async fn turn_off_unread(pool: &PgPool, horizon: DateTime<Utc>, limit: i64) -> StorageResult<u64> {
    let mut transaction = pool.begin().await?;
    let programs = sqlx::query_scalar!(
        "DELETE FROM event_streams
         WHERE program_id = ANY(ARRAY(SELECT program_id FROM event_streams WHERE last_read_at < $1
                                      ORDER BY program_id LIMIT $2 FOR UPDATE SKIP LOCKED))
         RETURNING program_id",
        horizon,
        limit,
    )
    .fetch_all(&mut *transaction)
    .await?;
    // Locked before their endpoints are read: whoever changes these has the lock, too.
    sqlx::query!(
        "SELECT id FROM programs WHERE id = ANY($1) ORDER BY id FOR NO KEY UPDATE",
        &programs,
    )
    .fetch_all(&mut *transaction)
    .await?;
    for program_id in &programs {
        let types = sqlx::query_scalar!(
            r#"SELECT DISTINCT unnest(event_types) AS "event_type!" FROM webhook_endpoints
               WHERE program_id = $1"#,
            program_id,
        )
        .fetch_all(&mut *transaction)
        .await?;
        let wanted: WantedEvents = types
            .iter()
            .filter_map(|name| OutboundEventType::parse(name))
            .collect();
        sqlx::query!(
            "UPDATE programs SET wanted_events = $2 WHERE id = $1",
            program_id,
            wanted.bits(),
        )
        .execute(&mut *transaction)
        .await?;
    }
    transaction.commit().await?;
    Ok(programs.len() as u64)
}
