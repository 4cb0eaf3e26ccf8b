//! Audit log entries for the actions of an operator.

use chrono::{DateTime, Utc};
use domain::ids::{ProgramId, WorkspaceId};
use serde_json::Value;
use sqlx::PgConnection;
use storage::StorageResult;
use storage::operations::audit_log::{self, AuditActor, NewAuditEntry};
use storage::program::program_settings::StoredProgram;

pub struct Done {
    pub at: DateTime<Utc>,
    pub workspace_id: WorkspaceId,
    pub program_id: Option<ProgramId>,
    /// `<noun>.<what happened>`.
    pub action: &'static str,
    /// `None` for a subject without a numeric id; the details name it.
    pub subject_id: Option<i64>,
    /// Never contains a secret.
    pub details: Value,
}

impl Done {
    /// An action that concerns a workspace and no program.
    pub fn in_workspace(
        workspace_id: WorkspaceId,
        at: DateTime<Utc>,
        action: &'static str,
        subject_id: i64,
        details: Value,
    ) -> Self {
        Self {
            at,
            workspace_id,
            program_id: None,
            action,
            subject_id: Some(subject_id),
            details,
        }
    }

    /// An action on a program.
    pub fn to_program(
        program: &StoredProgram,
        at: DateTime<Utc>,
        action: &'static str,
        details: Value,
    ) -> Self {
        Self {
            at,
            workspace_id: program.workspace_id,
            program_id: Some(program.program_id),
            action,
            subject_id: Some(program.program_id.get()),
            details,
        }
    }
}

/// Appends the entry in the transaction of the action.
pub async fn append(connection: &mut PgConnection, done: Done) -> StorageResult<()> {
    let entry = NewAuditEntry {
        created_at: done.at,
        workspace_id: done.workspace_id,
        program_id: done.program_id,
        actor: AuditActor::Operator,
        action: done.action,
        subject_id: done.subject_id,
        details: done.details,
        address: None,
        request_id: None,
    };
    audit_log::append(connection, &entry).await
}
