//! `audit_log`: who did what to which credential, setting or payout. Append-only.

use chrono::{DateTime, Utc};
use serde_json::Value;
use sqlx::PgConnection;

use super::StorageResult;
use crate::domain::ids::{ManagementKeyId, ProgramId, UserId, WorkspaceId};

/// Who acted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuditActor {
    User(UserId),
    Key(ManagementKeyId),
    /// Somebody at the installation's own command line.
    Operator,
}

impl AuditActor {
    const fn as_str(self) -> &'static str {
        match self {
            Self::User(_) => "user",
            Self::Key(_) => "key",
            Self::Operator => "operator",
        }
    }

    const fn id(self) -> Option<i64> {
        match self {
            Self::User(user_id) => Some(user_id.get()),
            Self::Key(key_id) => Some(key_id.get()),
            Self::Operator => None,
        }
    }
}

#[derive(Debug)]
pub struct NewAuditEntry<'a> {
    pub created_at: DateTime<Utc>,
    pub workspace_id: WorkspaceId,
    pub program_id: Option<ProgramId>,
    pub actor: AuditActor,
    /// `<noun>.<what happened>`, such as `api_key.revoked`.
    pub action: &'static str,
    pub subject_id: Option<i64>,
    /// What changed to what; never a secret.
    pub details: Value,
    /// Where the request came from.
    pub address: Option<&'a str>,
    pub request_id: Option<&'a str>,
}

/// Belongs into the transaction of what it tells of: no change without its entry, no entry without its change.
pub async fn append(connection: &mut PgConnection, new: &NewAuditEntry<'_>) -> StorageResult<()> {
    sqlx::query!(
        "INSERT INTO audit_log (created_at, workspace_id, program_id, actor, actor_id, action, subject_id, details,
             address, request_id)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
        new.created_at,
        new.workspace_id.get(),
        new.program_id.map(ProgramId::get),
        new.actor.as_str(),
        new.actor.id(),
        new.action,
        new.subject_id,
        new.details,
        new.address,
        new.request_id,
    )
    .execute(connection)
    .await?;
    Ok(())
}
