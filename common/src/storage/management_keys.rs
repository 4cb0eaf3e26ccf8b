//! `management_keys`: what backends and scripts manage programs with.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use super::{StorageError, StorageResult};
use crate::domain::ids::{ManagementKeyId, ProgramId, WorkspaceId};
use crate::domain::permission::{ProgramScope, Scopes};
use crate::domain::token::TokenHash;

/// A key that is good at the moment it was looked up.
#[derive(Debug, Clone)]
pub struct UsableKey {
    pub key_id: ManagementKeyId,
    pub workspace_id: WorkspaceId,
    pub scopes: Scopes,
    pub program_scope: ProgramScope,
}

/// `None` for a key of nobody, a revoked one and one past its time.
pub async fn find_usable(
    connection: &mut PgConnection,
    key_hash: TokenHash,
    now: DateTime<Utc>,
) -> StorageResult<Option<UsableKey>> {
    let row = sqlx::query!(
        "SELECT id, workspace_id, scopes, program_scope FROM management_keys
         WHERE key_hash = $1 AND status = 'active' AND (expires_at IS NULL OR expires_at > $2)",
        key_hash.as_bytes().as_slice(),
        now,
    )
    .fetch_optional(connection)
    .await?;
    row.map(|row| {
        Ok(UsableKey {
            key_id: ManagementKeyId::new(row.id),
            workspace_id: WorkspaceId::new(row.workspace_id),
            scopes: Scopes::parse(row.scopes.iter().map(String::as_str))
                .map_err(|_| StorageError::corrupt("management_keys", "scopes", row.id))?,
            program_scope: ProgramScope::new(
                row.program_scope
                    .map(|programs| programs.into_iter().map(ProgramId::new)),
            ),
        })
    })
    .transpose()
}
