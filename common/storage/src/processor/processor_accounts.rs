//! Ownership of processor accounts: an account belongs to one workspace, and an operator confirms it.

use chrono::{DateTime, NaiveDate, Utc};
use sha2::{Digest, Sha256};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::error::StorageResult;
use domain::ids::{ProgramId, WorkspaceId};
use domain::processors::processor::ProcessorId;

/// An account that is already connected to a program of another workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldElsewhere {
    /// The program whose claim is refused.
    pub program_id: ProgramId,
    pub held_by: ProgramId,
    pub account_id: ProcessorId,
}

impl HeldElsewhere {
    /// One notice a day: repeated claims must not fill the notifications of the account's holder.
    pub fn notice_id(&self, day: NaiveDate) -> Uuid {
        let of_day = format!("{} {} {} {day}", self.program_id, self.held_by, self.account_id);
        Uuid::from_bytes(Sha256::digest(of_day).first_chunk().copied().unwrap_or_default())
    }
}

/// Claims an account for a program. `None` when the program may connect it. Concurrent claims wait until the
/// transaction ends. An account belongs to its workspace until it is disconnected, in any status.
pub async fn claim(
    connection: &mut PgConnection,
    program_id: ProgramId,
    account_id: &ProcessorId,
) -> StorageResult<Option<HeldElsewhere>> {
    fetch_one!(
        &mut *connection,
        "SELECT pg_advisory_xact_lock(hashtextextended('processor account ' || $1::text, 0))",
        account_id.as_str(),
    );
    let held_by = fetch_optional_scalar!(
        connection,
        "SELECT c.program_id FROM processor_connections c JOIN programs p ON p.id = c.program_id
         WHERE c.account_id = $2 AND p.workspace_id <> (SELECT workspace_id FROM programs WHERE id = $1)
         ORDER BY c.confirmed_at IS NULL, c.program_id LIMIT 1",
        program_id.get(),
        account_id.as_str(),
    );
    Ok(held_by.map(|held_by| HeldElsewhere {
        program_id,
        held_by: ProgramId::new(held_by),
        account_id: account_id.clone(),
    }))
}

/// From now on the program receives the platform's events of the account.
pub async fn confirm(
    connection: &mut PgConnection,
    program_id: ProgramId,
    now: DateTime<Utc>,
) -> StorageResult<()> {
    execute!(
        connection,
        "UPDATE processor_connections SET confirmed_at = $2 WHERE program_id = $1",
        program_id.get(),
        now,
    );
    Ok(())
}

#[derive(Debug)]
pub struct ListedConnection {
    pub program_id: ProgramId,
    pub workspace_id: WorkspaceId,
    pub account_id: String,
    pub status: String,
    pub confirmed_at: Option<DateTime<Utc>>,
    pub updated_at: DateTime<Utc>,
}

/// Ordered by account.
pub async fn list(
    connection: &mut PgConnection,
    unconfirmed_only: bool,
    limit: i64,
) -> StorageResult<Vec<ListedConnection>> {
    Ok(fetch_all!(
        connection,
        ListedConnection,
        "SELECT c.program_id, p.workspace_id, c.account_id, c.status, c.confirmed_at, c.updated_at
         FROM processor_connections c JOIN programs p ON p.id = c.program_id
         WHERE NOT ($1 AND c.confirmed_at IS NOT NULL)
         ORDER BY c.account_id, c.program_id LIMIT $2",
        unconfirmed_only,
        limit,
    ))
}
