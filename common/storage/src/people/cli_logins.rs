//! `cli_logins`: CLI sign-ins that wait for confirmation in a browser.

use chrono::{DateTime, Utc};
use sqlx::{PgConnection, PgPool};

use crate::error::StorageResult;
use crate::people::sessions::Whereabouts;
use domain::ids::{UserId, WorkspaceId};
use domain::token::TokenHash;

#[derive(Debug)]
pub struct NewLogin<'a> {
    /// Hash of the code with which the command line polls.
    pub state: TokenHash,
    /// Hash of the code that the command line shows to its user.
    pub user_code: TokenHash,
    pub created_at: DateTime<Utc>,
    pub expires_at: DateTime<Utc>,
    pub whereabouts: &'a Whereabouts,
}

pub async fn start(connection: &mut PgConnection, new: &NewLogin<'_>) -> StorageResult<()> {
    execute!(
        connection,
        "INSERT INTO cli_logins (state_hash, user_code_hash, created_at, expires_at, address, user_agent)
         VALUES ($1, $2, $3, $4, $5, $6)",
        new.state.as_bytes().as_slice(),
        new.user_code.as_bytes().as_slice(),
        new.created_at,
        new.expires_at,
        new.whereabouts.address(),
        new.whereabouts.user_agent.as_deref(),
    );
    Ok(())
}

#[derive(Debug, Clone)]
pub struct CliLogin {
    pub expires_at: DateTime<Utc>,
    pub confirmed: Option<Confirmed>,
    /// The token was handed over.
    pub consumed: bool,
}

/// A login that waits for confirmation, as the confirming user sees it.
#[derive(Debug, Clone)]
pub struct WaitingLogin {
    pub id: i64,
    pub created_at: DateTime<Utc>,
    pub expires_at: DateTime<Utc>,
    pub address: Option<String>,
    pub user_agent: Option<String>,
    pub confirmed: bool,
}

/// `None` when no login has this code. The row is locked until the transaction ends.
pub async fn lock_by_user_code(
    connection: &mut PgConnection,
    user_code: TokenHash,
) -> StorageResult<Option<WaitingLogin>> {
    Ok(fetch_optional!(
        connection,
        WaitingLogin,
        r#"SELECT id, created_at, expires_at, address, user_agent, confirmed_at IS NOT NULL AS "confirmed!"
           FROM cli_logins WHERE user_code_hash = $1 FOR UPDATE"#,
        user_code.as_bytes().as_slice(),
    ))
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Confirmed {
    pub user_id: UserId,
    pub workspace_id: WorkspaceId,
}

/// Locks the login with this state, if there is one. Of two requests, the second sees the first's change.
pub async fn lock(connection: &mut PgConnection, state: TokenHash) -> StorageResult<Option<CliLogin>> {
    Ok(sqlx::query!(
        "SELECT expires_at, user_id, workspace_id, consumed_at FROM cli_logins WHERE state_hash = $1 FOR UPDATE",
        state.as_bytes().as_slice(),
    )
    .map(|row| CliLogin {
        expires_at: row.expires_at,
        confirmed: row
            .user_id
            .zip(row.workspace_id)
            .map(|(user_id, workspace_id)| Confirmed {
                user_id: UserId::new(user_id),
                workspace_id: WorkspaceId::new(workspace_id),
            }),
        consumed: row.consumed_at.is_some(),
    })
    .fetch_optional(connection)
    .await?)
}

/// The login must be locked and not confirmed.
pub async fn confirm(
    connection: &mut PgConnection,
    login_id: i64,
    by: &Confirmed,
    now: DateTime<Utc>,
) -> StorageResult<()> {
    execute!(
        connection,
        "UPDATE cli_logins SET user_id = $2, workspace_id = $3, confirmed_at = $4 WHERE id = $1",
        login_id,
        by.user_id.get(),
        by.workspace_id.get(),
        now,
    );
    Ok(())
}

/// The login must be locked and confirmed.
pub async fn consume(
    connection: &mut PgConnection,
    state: TokenHash,
    now: DateTime<Utc>,
) -> StorageResult<()> {
    execute!(
        connection,
        "UPDATE cli_logins SET consumed_at = $2 WHERE state_hash = $1",
        state.as_bytes().as_slice(),
        now,
    );
    Ok(())
}

/// Ends the workspace's confirmed logins whose token is not handed over and whose confirmer no longer runs
/// the workspace. Returns their ids.
pub async fn end_unsupported(
    connection: &mut PgConnection,
    workspace_id: WorkspaceId,
    now: DateTime<Utc>,
) -> StorageResult<Vec<i64>> {
    Ok(fetch_scalars!(
        connection,
        "UPDATE cli_logins l SET expires_at = $2
         WHERE workspace_id = $1 AND consumed_at IS NULL AND expires_at > $2
           AND NOT EXISTS (SELECT FROM workspace_members m JOIN users u ON u.id = m.user_id AND u.status = 'active'
                           WHERE m.workspace_id = l.workspace_id AND m.user_id = l.user_id AND m.role IN ('owner', 'admin'))
         RETURNING id",
        workspace_id.get(),
        now,
    ))
}

pub async fn forget(pool: &PgPool, before: DateTime<Utc>, limit: i64) -> StorageResult<u64> {
    forget!(
        pool,
        "cli_logins",
        "id",
        "expires_at < $1 ORDER BY expires_at",
        before,
        limit
    )
}
