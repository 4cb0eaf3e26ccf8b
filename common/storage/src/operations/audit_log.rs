//! `audit_log`: who did what to which credential, setting or payout. Append-only.

use chrono::{DateTime, Utc};
use serde_json::Value;
use sqlx::PgConnection;

use crate::error::{StorageError, StorageResult};
use crate::page::{Whole, Window, page};
use domain::ids::{ManagementKeyId, ProgramId, UserId, WorkspaceId};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuditActor {
    User(UserId),
    Key(ManagementKeyId),
    /// A caller with the program's own key.
    Program(ProgramId),
    /// An operator on the installation's command line.
    Operator,
}

impl AuditActor {
    fn stored(actor: &str, id: Option<i64>) -> Option<Self> {
        match (actor, id) {
            ("user", Some(id)) => Some(Self::User(UserId::new(id))),
            ("key", Some(id)) => Some(Self::Key(ManagementKeyId::new(id))),
            ("program", Some(id)) => Some(Self::Program(ProgramId::new(id))),
            ("operator", None) => Some(Self::Operator),
            _ => None,
        }
    }

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::User(_) => "user",
            Self::Key(_) => "key",
            Self::Program(_) => "program",
            Self::Operator => "operator",
        }
    }

    pub const fn id(self) -> Option<i64> {
        match self {
            Self::User(user_id) => Some(user_id.get()),
            Self::Key(key_id) => Some(key_id.get()),
            Self::Program(program_id) => Some(program_id.get()),
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
    /// Old and new values; never a secret.
    pub details: Value,
    /// Where the request came from.
    pub address: Option<&'a str>,
    pub request_id: Option<&'a str>,
}

/// The caller's transaction also makes the change: no change without its entry, no entry without its change.
pub async fn append(connection: &mut PgConnection, new: &NewAuditEntry<'_>) -> StorageResult<()> {
    execute!(
        connection,
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
    );
    Ok(())
}

#[derive(Debug)]
pub struct AuditEntry {
    pub id: i64,
    pub created_at: DateTime<Utc>,
    pub program_id: Option<ProgramId>,
    pub actor: AuditActor,
    /// The current name of the user, key or program.
    pub actor_name: Option<String>,
    pub action: String,
    pub subject_id: Option<i64>,
    pub details: Value,
    pub address: Option<String>,
    pub request_id: Option<String>,
}

#[derive(Debug, Clone)]
pub struct AuditFilter {
    pub program_id: Option<ProgramId>,
    /// `user`, `key`, `program` or `operator`.
    pub actor: Option<&'static str>,
    pub actor_id: Option<i64>,
    /// An action, or its noun, which selects all actions of that noun.
    pub action: Option<String>,
    /// `from` is included, `until` excluded.
    pub from: DateTime<Utc>,
    pub until: DateTime<Utc>,
}

/// A page of a workspace's entries, newest first, and the total number.
pub async fn list(
    connection: &mut PgConnection,
    workspace_id: WorkspaceId,
    filter: &AuditFilter,
    window: Window,
) -> StorageResult<(Vec<AuditEntry>, Whole)> {
    let (rows, total) = page!(
        connection,
        window,
        Row,
        select "SELECT a.id, a.created_at, a.program_id, a.actor, a.actor_id, coalesce(u.name, k.name, p.name) AS actor_name,
                  a.action, a.subject_id, a.details, a.address, a.request_id
           FROM audit_log a
           LEFT JOIN users u ON a.actor = 'user' AND u.id = a.actor_id
           LEFT JOIN management_keys k ON a.actor = 'key' AND k.id = a.actor_id
           LEFT JOIN programs p ON a.actor = 'program' AND p.id = a.actor_id",
        of "WHERE a.workspace_id = $1 AND ($2::bigint IS NULL OR a.program_id = $2) AND ($3::text IS NULL OR a.actor = $3)
              AND ($4::bigint IS NULL OR a.actor_id = $4)
              AND ($5::text IS NULL OR a.action = $5 OR split_part(a.action, '.', 1) = $5)
              AND a.created_at >= $6 AND a.created_at < $7 AND a.id <= $8",
        order "a.id DESC",
        part "OFFSET $9 LIMIT $10",
        whole r#"SELECT count(*) AS "count!", max(a.id) AS up_to FROM audit_log a"#,
        workspace_id.get(),
        filter.program_id.map(ProgramId::get),
        filter.actor,
        filter.actor_id,
        filter.action.as_deref(),
        filter.from,
        filter.until,
    );
    let entries = rows.into_iter().map(Row::entry).collect::<StorageResult<_>>()?;
    Ok((entries, total))
}

/// A workspace's entries after an id, oldest first: a part of an export.
pub async fn following(
    connection: &mut PgConnection,
    workspace_id: WorkspaceId,
    filter: &AuditFilter,
    after: i64,
    limit: i64,
) -> StorageResult<Vec<AuditEntry>> {
    let rows = fetch_all!(
        connection,
        Row,
        r#"SELECT a.id, a.created_at, a.program_id, a.actor, a.actor_id, coalesce(u.name, k.name, p.name) AS actor_name,
                  a.action, a.subject_id, a.details, a.address, a.request_id
           FROM audit_log a
           LEFT JOIN users u ON a.actor = 'user' AND u.id = a.actor_id
           LEFT JOIN management_keys k ON a.actor = 'key' AND k.id = a.actor_id
           LEFT JOIN programs p ON a.actor = 'program' AND p.id = a.actor_id
           WHERE a.workspace_id = $1 AND ($2::bigint IS NULL OR a.program_id = $2) AND ($3::text IS NULL OR a.actor = $3)
             AND ($4::bigint IS NULL OR a.actor_id = $4)
             AND ($5::text IS NULL OR a.action = $5 OR split_part(a.action, '.', 1) = $5)
             AND a.created_at >= $6 AND a.created_at < $7 AND a.id > $8
           ORDER BY a.id LIMIT $9"#,
        workspace_id.get(),
        filter.program_id.map(ProgramId::get),
        filter.actor,
        filter.actor_id,
        filter.action.as_deref(),
        filter.from,
        filter.until,
        after,
        limit,
    );
    rows.into_iter().map(Row::entry).collect()
}

struct Row {
    id: i64,
    created_at: DateTime<Utc>,
    program_id: Option<i64>,
    actor: String,
    actor_id: Option<i64>,
    actor_name: Option<String>,
    action: String,
    subject_id: Option<i64>,
    details: Value,
    address: Option<String>,
    request_id: Option<String>,
}

impl Row {
    fn entry(self) -> StorageResult<AuditEntry> {
        Ok(AuditEntry {
            id: self.id,
            created_at: self.created_at,
            program_id: self.program_id.map(ProgramId::new),
            actor: AuditActor::stored(&self.actor, self.actor_id)
                .ok_or_else(|| StorageError::corrupt("audit_log", "actor", self.id))?,
            actor_name: self.actor_name,
            action: self.action,
            subject_id: self.subject_id,
            details: self.details,
            address: self.address,
            request_id: self.request_id,
        })
    }
}
