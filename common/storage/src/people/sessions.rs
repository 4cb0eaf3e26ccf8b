//! `sessions`: signed-in browsers and command lines.

use std::net::IpAddr;

use chrono::{DateTime, TimeDelta, Utc};
use sqlx::{PgConnection, PgPool};

use crate::error::StorageResult;
use domain::ids::{SessionId, UserId, WorkspaceId};
use domain::people::account::UserKind;
use domain::token::TokenHash;
use domain::tracking::visitor::CountryCode;

/// Minimum time between recorded uses of a session.
const USE_IS_NOTED: TimeDelta = TimeDelta::minutes(1);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionKind {
    Dashboard,
    /// Valid for the command line's routes only, and for one workspace.
    Cli(WorkspaceId),
}

impl SessionKind {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Dashboard => "dashboard",
            Self::Cli(_) => "cli",
        }
    }

    /// A constraint of the table allows a workspace for command-line sessions only, and requires it there.
    fn stored(workspace_id: Option<WorkspaceId>) -> Self {
        workspace_id.map_or(Self::Dashboard, Self::Cli)
    }

    /// A session ends when it is unused for this long: longer for command lines, which are used rarely.
    const fn idle(self) -> TimeDelta {
        match self {
            Self::Dashboard => TimeDelta::days(3),
            Self::Cli(_) => TimeDelta::days(30),
        }
    }

    fn workspace_id(self) -> Option<i64> {
        match self {
            Self::Dashboard => None,
            Self::Cli(workspace_id) => Some(workspace_id.get()),
        }
    }
}

/// A session that was valid when it was looked up.
#[derive(Debug, Clone, Copy)]
pub struct Session {
    pub session_id: SessionId,
    pub kind: SessionKind,
    pub user_id: UserId,
    pub user_kind: UserKind,
    /// The owner is suspended. The session gives no access; it only serves to report the suspension.
    pub suspended: bool,
    /// When the owner last gave the password in this session.
    pub proved_at: Option<DateTime<Utc>>,
    /// A passkey opened or confirmed this session, and its owner still has a passkey.
    pub by_passkey: bool,
    /// One of the owner's workspaces requires a second factor, and the owner has none.
    pub lacks_second_factor: bool,
}

#[derive(Debug, Clone, Default)]
pub struct Whereabouts {
    pub address: Option<IpAddr>,
    pub country: Option<CountryCode>,
    /// The User-Agent of the client, of bounded length.
    pub user_agent: Option<String>,
}

impl Whereabouts {
    pub(super) fn address(&self) -> Option<String> {
        self.address.map(|address| address.to_canonical().to_string())
    }

    fn country(&self) -> Option<&str> {
        self.country.as_ref().map(CountryCode::as_str)
    }
}

#[derive(Debug)]
pub struct NewSession<'a> {
    pub user_id: UserId,
    pub kind: SessionKind,
    pub token_hash: TokenHash,
    pub created_at: DateTime<Utc>,
    pub expires_at: DateTime<Utc>,
    pub whereabouts: &'a Whereabouts,
    /// A passkey opens the session, instead of password and code.
    pub by_passkey: bool,
}

/// An active session, as its user sees it.
#[derive(Debug)]
pub struct ListedSession {
    pub session_id: SessionId,
    pub kind: SessionKind,
    pub created_at: DateTime<Utc>,
    pub last_used_at: Option<DateTime<Utc>>,
    /// When the session ends if it is not used before.
    pub ends_at: DateTime<Utc>,
    pub address: Option<String>,
    pub country: Option<String>,
    pub user_agent: Option<String>,
}

pub async fn open(connection: &mut PgConnection, new: &NewSession<'_>) -> StorageResult<SessionId> {
    Ok(fetch_scalar!(
        connection,
        r#"INSERT INTO sessions (user_id, kind, token_hash, created_at, last_used_at, proved_at, expires_at, idle_ends_at, workspace_id,
                               address, country, user_agent, by_passkey)
         VALUES ($1, $2, $3, $4, $4, $4, $5, $6, $7, $8, $9, $10, $11)
         RETURNING id AS "id: SessionId""#,
        new.user_id.get(),
        new.kind.as_str(),
        new.token_hash.as_bytes().as_slice(),
        new.created_at,
        new.expires_at,
        new.created_at + new.kind.idle(),
        new.kind.workspace_id(),
        new.whereabouts.address(),
        new.whereabouts.country(),
        new.whereabouts.user_agent.as_deref(),
        new.by_passkey,
    ))
}

/// Whether the account had a session from the same address, or with the same browser in the same country.
pub async fn knows_place(
    connection: &mut PgConnection,
    user_id: UserId,
    whereabouts: &Whereabouts,
) -> StorageResult<bool> {
    Ok(fetch_scalar!(
        connection,
        r#"SELECT EXISTS (SELECT FROM sessions WHERE user_id = $1
                          AND (address = $2 OR country = $3 AND user_agent = $4)) AS "known!""#,
        user_id.get(),
        whereabouts.address(),
        whereabouts.country(),
        whereabouts.user_agent.as_deref(),
    ))
}

/// Finds an active session for a request that uses it. `None` for an unknown token or an ended session.
pub async fn find_used(
    connection: &mut PgConnection,
    token_hash: TokenHash,
    whereabouts: &Whereabouts,
    now: DateTime<Utc>,
) -> StorageResult<Option<Session>> {
    let Some((session, last_used_at)) = find_by(connection, None, Some(token_hash), now).await? else {
        return Ok(None);
    };
    if last_used_at.is_none_or(|noted| noted + USE_IS_NOTED <= now) {
        execute!(
            connection,
            "UPDATE sessions SET last_used_at = $2, idle_ends_at = $3, address = $4, country = $5, user_agent = $6
             WHERE id = $1 AND last_used_at IS NOT DISTINCT FROM $7",
            session.session_id.get(),
            now,
            now + session.kind.idle(),
            whereabouts.address(),
            whereabouts.country(),
            whereabouts.user_agent.as_deref(),
            last_used_at,
        );
    }
    Ok(Some(session))
}

/// The session as it is now; `None` once it has ended. This does not count as a use.
pub async fn find(
    connection: &mut PgConnection,
    session_id: SessionId,
    now: DateTime<Utc>,
) -> StorageResult<Option<Session>> {
    let found = find_by(connection, Some(session_id), None, now).await?;
    Ok(found.map(|(session, _)| session))
}

/// The session with this id or token, and when its use was last recorded.
async fn find_by(
    connection: &mut PgConnection,
    session_id: Option<SessionId>,
    token_hash: Option<TokenHash>,
    now: DateTime<Utc>,
) -> StorageResult<Option<(Session, Option<DateTime<Utc>>)>> {
    // A passkey counts while its owner still has a passkey.
    Ok(sqlx::query!(
        r#"SELECT s.id AS "id: SessionId", s.workspace_id AS "workspace_id: WorkspaceId", s.user_id AS "user_id: UserId",
                  u.kind AS "user_kind: UserKind", u.status = 'suspended' AS "suspended!", s.proved_at, s.last_used_at, own.by_passkey AS "by_passkey!",
                  NOT own.by_passkey AND NOT EXISTS (SELECT FROM second_factors f WHERE f.user_id = s.user_id AND f.enabled_at IS NOT NULL)
                  AND EXISTS (SELECT FROM workspace_members m JOIN workspaces w ON w.id = m.workspace_id
                              WHERE m.user_id = s.user_id AND w.second_factor_required) AS "lacks_second_factor!"
           FROM sessions s JOIN users u ON u.id = s.user_id
           CROSS JOIN LATERAL (
               SELECT s.by_passkey AND EXISTS (SELECT FROM passkeys p WHERE p.user_id = s.user_id) AS by_passkey) own
           WHERE (s.id = $1 OR s.token_hash = $2) AND s.revoked_at IS NULL AND LEAST(s.expires_at, s.idle_ends_at) > $3"#,
        session_id.map(SessionId::get),
        token_hash.as_ref().map(|hash| hash.as_bytes().as_slice()),
        now,
    )
    .map(|row| {
        let session = Session {
            session_id: row.id,
            kind: SessionKind::stored(row.workspace_id),
            user_id: row.user_id,
            user_kind: row.user_kind,
            suspended: row.suspended,
            proved_at: row.proved_at,
            by_passkey: row.by_passkey,
            lacks_second_factor: row.lacks_second_factor,
        };
        (session, row.last_used_at)
    })
    .fetch_optional(connection)
    .await?)
}

pub async fn revoke(
    connection: &mut PgConnection,
    session_id: SessionId,
    now: DateTime<Utc>,
) -> StorageResult<()> {
    execute!(
        connection,
        "UPDATE sessions SET revoked_at = $2 WHERE id = $1 AND revoked_at IS NULL",
        session_id.get(),
        now,
    );
    Ok(())
}

/// A user's active sessions, most recently used first. Bounded.
pub async fn of_user(
    connection: &mut PgConnection,
    user_id: UserId,
    now: DateTime<Utc>,
) -> StorageResult<Vec<ListedSession>> {
    Ok(sqlx::query!(
        r#"SELECT id AS "id: SessionId", workspace_id AS "workspace_id: WorkspaceId", created_at, last_used_at,
                  LEAST(expires_at, idle_ends_at) AS "ends_at!", address, country, user_agent
           FROM sessions WHERE user_id = $1 AND revoked_at IS NULL AND LEAST(expires_at, idle_ends_at) > $2
           ORDER BY last_used_at DESC NULLS LAST, id DESC LIMIT 200"#,
        user_id.get(),
        now,
    )
    .map(|row| ListedSession {
        session_id: row.id,
        kind: SessionKind::stored(row.workspace_id),
        created_at: row.created_at,
        last_used_at: row.last_used_at,
        ends_at: row.ends_at,
        address: row.address,
        country: row.country,
        user_agent: row.user_agent,
    })
    .fetch_all(connection)
    .await?)
}

/// Ends one of a user's own sessions; `true` when it was active.
pub async fn revoke_own(
    connection: &mut PgConnection,
    user_id: UserId,
    session_id: SessionId,
    now: DateTime<Utc>,
) -> StorageResult<bool> {
    Ok(execute!(
        connection,
        "UPDATE sessions SET revoked_at = $3 WHERE id = $1 AND user_id = $2 AND revoked_at IS NULL",
        session_id.get(),
        user_id.get(),
        now,
    ) == 1)
}

pub async fn revoke_others(
    connection: &mut PgConnection,
    user_id: UserId,
    kept: SessionId,
    now: DateTime<Utc>,
) -> StorageResult<()> {
    execute!(
        connection,
        "UPDATE sessions SET revoked_at = $3 WHERE user_id = $1 AND id <> $2 AND revoked_at IS NULL",
        user_id.get(),
        kept.get(),
        now,
    );
    Ok(())
}

/// Records that the owner gave the password again, or a passkey, which then is the second factor.
pub async fn prove(
    connection: &mut PgConnection,
    session_id: SessionId,
    by_passkey: bool,
    now: DateTime<Utc>,
) -> StorageResult<()> {
    execute!(
        connection,
        "UPDATE sessions SET proved_at = $2, by_passkey = by_passkey OR $3 WHERE id = $1",
        session_id.get(),
        now,
        by_passkey,
    );
    Ok(())
}

/// Ends CLI sessions of the workspace whose owner no longer runs it, and returns their ids.
pub async fn revoke_unsupported(
    connection: &mut PgConnection,
    workspace_id: WorkspaceId,
    now: DateTime<Utc>,
) -> StorageResult<Vec<SessionId>> {
    Ok(fetch_scalars!(
        connection,
        r#"UPDATE sessions s SET revoked_at = $2
         WHERE workspace_id = $1 AND revoked_at IS NULL AND LEAST(expires_at, idle_ends_at) > $2
           AND NOT EXISTS (SELECT FROM workspace_members m JOIN users u ON u.id = m.user_id AND u.status = 'active'
                           WHERE m.workspace_id = s.workspace_id AND m.user_id = s.user_id AND m.role IN ('owner', 'admin'))
         RETURNING id AS "id: SessionId""#,
        workspace_id.get(),
        now,
    ))
}

/// Ends a user's sessions, and the confirmed CLI logins without one. Returns the number of sessions.
pub async fn revoke_all(
    connection: &mut PgConnection,
    user_id: UserId,
    now: DateTime<Utc>,
) -> StorageResult<u64> {
    // Logins first: a login that is being handed over already has its session when its lock is released.
    execute!(
        &mut *connection,
        "UPDATE cli_logins SET expires_at = $2 WHERE user_id = $1 AND consumed_at IS NULL AND expires_at > $2",
        user_id.get(),
        now,
    );
    Ok(execute!(
        connection,
        "UPDATE sessions SET revoked_at = $2 WHERE user_id = $1 AND revoked_at IS NULL",
        user_id.get(),
        now,
    ))
}

pub async fn forget(pool: &PgPool, before: DateTime<Utc>, limit: i64) -> StorageResult<u64> {
    forget!(
        pool,
        "sessions",
        "id",
        "LEAST(expires_at, idle_ends_at, revoked_at) < $1 ORDER BY id",
        before,
        limit
    )
}
