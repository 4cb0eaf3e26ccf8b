//! Events that wait for a person.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::error::StorageResult;
use domain::ids::ProgramId;

/// An event in review, or a stuck event: it had no effect.
#[derive(Debug)]
pub struct UnresolvedEvent {
    pub processor_event_id: String,
    /// The processor's type.
    pub kind: String,
    /// `review` or `stuck`.
    pub state: String,
    pub reason: Option<String>,
    pub received_at: DateTime<Utc>,
}

/// A program's unresolved events, latest first.
pub async fn unresolved(
    connection: &mut PgConnection,
    program_id: ProgramId,
    limit: i64,
) -> StorageResult<Vec<UnresolvedEvent>> {
    Ok(fetch_all!(
        connection,
        UnresolvedEvent,
        "SELECT processor_event_id, kind, state, reason, received_at FROM processor_events
         WHERE program_id = $1 AND state IN ('review', 'stuck') ORDER BY received_at DESC, event_id LIMIT $2",
        program_id.get(),
        limit,
    ))
}
