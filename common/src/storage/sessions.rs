//! `sessions`: signed-in browsers and command lines.

use chrono::{DateTime, Utc};
use sqlx::{PgConnection, PgPool};

use super::{StorageError, StorageResult};
use crate::domain::account::UserKind;
use crate::domain::ids::{SessionId, UserId, WorkspaceId};
use crate::domain::token::TokenHash;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionKind {
    Dashboard,
    /// Good for the command line's routes only, and for one workspace.
    Cli(WorkspaceId),
}

impl SessionKind {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Dashboard => "dashboard",
            Self::Cli(_) => "cli",
        }
    }

    fn workspace_id(self) -> Option<i64> {
        match self {
            Self::Dashboard => None,
            Self::Cli(workspace_id) => Some(workspace_id.get()),
        }
    }
}

/// A session that is good at the moment it was looked up.
#[derive(Debug, Clone, Copy)]
pub struct Session {
    pub session_id: SessionId,
    pub kind: SessionKind,
    pub user_id: UserId,
    pub user_kind: UserKind,
    /// Its owner is: the session is worth nothing, but for saying so.
    pub suspended: bool,
}

#[derive(Debug)]
pub struct NewSession {
    pub user_id: UserId,
    pub kind: SessionKind,
    pub token_hash: TokenHash,
    pub created_at: DateTime<Utc>,
    pub expires_at: DateTime<Utc>,
}

pub async fn open(connection: &mut PgConnection, new: &NewSession) -> StorageResult<SessionId> {
    let id = sqlx::query_scalar!(
        "INSERT INTO sessions (user_id, kind, token_hash, created_at, expires_at, workspace_id)
         VALUES ($1, $2, $3, $4, $5, $6)
         RETURNING id",
        new.user_id.get(),
        new.kind.as_str(),
        new.token_hash.as_bytes().as_slice(),
        new.created_at,
        new.expires_at,
        new.kind.workspace_id(),
    )
    .fetch_one(connection)
    .await?;
    Ok(SessionId::new(id))
}

/// `None` for a token of nobody, or of a session that has ended.
pub async fn find(
    connection: &mut PgConnection,
    token_hash: TokenHash,
    now: DateTime<Utc>,
) -> StorageResult<Option<Session>> {
    let row = sqlx::query!(
        r#"SELECT s.id, s.kind, s.workspace_id, s.user_id, u.kind AS user_kind, u.status = 'suspended' AS "suspended!"
           FROM sessions s JOIN users u ON u.id = s.user_id
           WHERE s.token_hash = $1 AND s.revoked_at IS NULL AND s.expires_at > $2"#,
        token_hash.as_bytes().as_slice(),
        now,
    )
    .fetch_optional(connection)
    .await?;
    row.map(|row| {
        Ok(Session {
            session_id: SessionId::new(row.id),
            kind: match (row.kind.as_str(), row.workspace_id) {
                ("dashboard", None) => SessionKind::Dashboard,
                ("cli", Some(workspace_id)) => SessionKind::Cli(WorkspaceId::new(workspace_id)),
                _ => return Err(StorageError::corrupt("sessions", "kind", row.id)),
            },
            user_id: UserId::new(row.user_id),
            user_kind: UserKind::parse(&row.user_kind)
                .ok_or_else(|| StorageError::corrupt("users", "kind", row.user_id))?,
            suspended: row.suspended,
        })
    })
    .transpose()
}

/// Whether a session that was found is still good.
pub async fn is_good(
    connection: &mut PgConnection,
    session_id: SessionId,
    now: DateTime<Utc>,
) -> StorageResult<bool> {
    let is_good = sqlx::query_scalar!(
        r#"SELECT EXISTS (
               SELECT 1 FROM sessions s JOIN users u ON u.id = s.user_id
               WHERE s.id = $1 AND s.revoked_at IS NULL AND s.expires_at > $2 AND u.status = 'active') AS "is_good!""#,
        session_id.get(),
        now,
    )
    .fetch_one(connection)
    .await?;
    Ok(is_good)
}

pub async fn revoke(
    connection: &mut PgConnection,
    session_id: SessionId,
    now: DateTime<Utc>,
) -> StorageResult<()> {
    sqlx::query!(
        "UPDATE sessions SET revoked_at = $2 WHERE id = $1 AND revoked_at IS NULL",
        session_id.get(),
        now,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Ends every session of somebody; returns how many.
pub async fn revoke_all(
    connection: &mut PgConnection,
    user_id: UserId,
    now: DateTime<Utc>,
) -> StorageResult<u64> {
    let ended = sqlx::query!(
        "UPDATE sessions SET revoked_at = $2 WHERE user_id = $1 AND revoked_at IS NULL",
        user_id.get(),
        now,
    )
    .execute(connection)
    .await?;
    Ok(ended.rows_affected())
}

/// Forgets sessions that ended before `before`. Bounded.
pub async fn forget(pool: &PgPool, before: DateTime<Utc>, limit: i64) -> StorageResult<u64> {
    let forgotten = sqlx::query!(
        "DELETE FROM sessions WHERE id IN (
             SELECT id FROM sessions WHERE expires_at < $1 OR revoked_at < $1 ORDER BY id LIMIT $2)",
        before,
        limit,
    )
    .execute(pool)
    .await?;
    Ok(forgotten.rows_affected())
}
