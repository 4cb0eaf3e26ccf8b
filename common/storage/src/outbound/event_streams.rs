//! `event_streams`: programs whose event stream is read. The stream is written for these programs only. The
//! first read turns a stream on. A stream without reads is turned off.

use chrono::{DateTime, Utc};
use sqlx::{PgConnection, PgPool};

use crate::error::StorageResult;
use crate::program::program_settings;
use domain::ids::ProgramId;
use domain::programs::outbound_event::{OutboundEventType, WantedEvents};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventStream {
    /// By PostgreSQL's clock. The stream has no earlier events.
    pub since: DateTime<Utc>,
    /// The last read is already recorded, to the hour.
    pub is_noted: bool,
}

pub async fn find(
    connection: &mut PgConnection,
    program_id: ProgramId,
) -> StorageResult<Option<EventStream>> {
    Ok(fetch_optional!(
        connection,
        EventStream,
        r#"SELECT since, last_read_at > now() - interval '1 hour' AS "is_noted!" FROM event_streams WHERE program_id = $1"#,
        program_id.get(),
    ))
}

/// Turns the stream on: from the commit on, the program's events are written for the stream. Returns when the
/// stream was turned on, and whether this call did it.
pub async fn turn_on(
    connection: &mut PgConnection,
    program_id: ProgramId,
) -> StorageResult<(DateTime<Utc>, bool)> {
    // The program is locked first, as for every change of a program. The foreign key of the row below takes a
    // weaker lock on the program than the later update needs. A concurrent change in between would deadlock.
    program_settings::lock(connection, program_id).await?;
    let turned_on = fetch_optional_scalar!(
        &mut *connection,
        "INSERT INTO event_streams (program_id, since, last_read_at) VALUES ($1, now(), now())
         ON CONFLICT (program_id) DO NOTHING RETURNING since",
        program_id.get(),
    );
    if let Some(since) = turned_on {
        execute!(
            connection,
            "UPDATE programs SET wanted_events = wanted_events | $2 WHERE id = $1",
            program_id.get(),
            WantedEvents::NONE.with_stream().bits(),
        );
        return Ok((since, true));
    }
    let since = fetch_scalar!(
        connection,
        "SELECT since FROM event_streams WHERE program_id = $1",
        program_id.get(),
    );
    Ok((since, false))
}

/// Records that the stream is read, at most once an hour.
pub async fn note_read(connection: &mut PgConnection, program_id: ProgramId) -> StorageResult<()> {
    execute!(
        connection,
        "UPDATE event_streams SET last_read_at = now() WHERE program_id = $1 AND last_read_at <= now() - interval '1 hour'",
        program_id.get(),
    );
    Ok(())
}

/// Turns off up to `limit` streams without a read since `horizon`. Returns how many. Webhook endpoints of
/// their programs still receive events.
pub async fn turn_off_unread(pool: &PgPool, horizon: DateTime<Utc>, limit: i64) -> StorageResult<u64> {
    let mut transaction = pool.begin().await?;
    let programs = fetch_scalars!(
        &mut *transaction,
        "DELETE FROM event_streams
         WHERE program_id = ANY(ARRAY(SELECT program_id FROM event_streams WHERE last_read_at < $1
                                      ORDER BY program_id LIMIT $2 FOR UPDATE SKIP LOCKED))
         RETURNING program_id",
        horizon,
        limit,
    );
    // The programs are locked before their endpoints are read: every change of an endpoint takes this lock.
    fetch_all!(
        &mut *transaction,
        "SELECT id FROM programs WHERE id = ANY($1) ORDER BY id FOR NO KEY UPDATE",
        &programs,
    );
    for program_id in &programs {
        let types = fetch_scalars!(
            &mut *transaction,
            r#"SELECT DISTINCT unnest(event_types) AS "event_type!" FROM webhook_endpoints
               WHERE program_id = $1"#,
            program_id,
        );
        let wanted: WantedEvents = types
            .iter()
            .filter_map(|name| OutboundEventType::parse(name))
            .collect();
        execute!(
            &mut *transaction,
            "UPDATE programs SET wanted_events = $2 WHERE id = $1",
            program_id,
            wanted.bits(),
        );
    }
    transaction.commit().await?;
    Ok(programs.len() as u64)
}
