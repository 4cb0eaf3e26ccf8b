//! `management_keys`: keys with which backends and scripts manage programs.

use chrono::{DateTime, TimeDelta, Utc};
use sqlx::PgConnection;

use crate::error::StorageResult;
use crate::page::{Whole, Window, page};
use domain::ids::{ManagementKeyId, ProgramId, UserId, WorkspaceId};
use domain::name::Name;
use domain::people::management_key::{KeySettings, KeyStatus};
use domain::people::permission::{ProgramScope, Scopes};
use domain::sorting::{KeyColumn, Sorting};
use domain::token::{ManagementKey, TokenHash};

/// A key that was valid when it was looked up.
#[derive(Debug, Clone)]
pub struct UsableKey {
    pub key_id: ManagementKeyId,
    pub workspace_id: WorkspaceId,
    pub scopes: Scopes,
    pub program_scope: ProgramScope,
    /// The workspace requires a second factor, and the key's creator has neither app nor passkey.
    pub lacks_second_factor: bool,
}

/// A stored key: its display prefix and hash, never the key itself.
#[derive(Debug, Clone)]
pub struct StoredKey {
    pub key_id: ManagementKeyId,
    pub workspace_id: WorkspaceId,
    pub settings: KeySettings,
    pub prefix: String,
    pub key_masked: String,
    pub status: KeyStatus,
    pub created_at: DateTime<Utc>,
    pub created_by: UserId,
    pub creator_name: String,
    /// Recorded at intervals of [`USE_IS_NOTED`].
    pub last_used_at: Option<DateTime<Utc>>,
}

/// Minimum time between recorded uses of a key. The record shows which keys are in use, not each call.
const USE_IS_NOTED: TimeDelta = TimeDelta::hours(1);

#[derive(Debug)]
pub struct NewKey<'a> {
    pub workspace_id: WorkspaceId,
    pub settings: &'a KeySettings,
    /// Only its hash, its prefix and its masked form are stored.
    pub key: &'a ManagementKey,
    pub created_by: UserId,
    pub created_at: DateTime<Utc>,
}

pub async fn create(connection: &mut PgConnection, new: &NewKey<'_>) -> StorageResult<ManagementKeyId> {
    let (hash, programs) = (new.key.hash(), new.settings.program_scope.ids());
    Ok(fetch_scalar!(
        connection,
        r#"INSERT INTO management_keys (workspace_id, name, key_hash, prefix, key_masked, scopes, program_scope,
             expires_at, created_by, created_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
         RETURNING id AS "id: ManagementKeyId""#,
        new.workspace_id.get(),
        new.settings.name.as_str(),
        hash.as_bytes().as_slice(),
        new.key.prefix(),
        new.key.masked(),
        &scope_names(&new.settings.scopes),
        programs.as_deref(),
        new.settings.expires_at,
        new.created_by.get(),
        new.created_at,
    ))
}

/// Finds a key for a call that uses it. `None` for an unknown, revoked or expired key, and for a key whose
/// creator no longer runs the workspace.
pub async fn find_used(
    connection: &mut PgConnection,
    key_hash: TokenHash,
    now: DateTime<Utc>,
) -> StorageResult<Option<UsableKey>> {
    let row = fetch_optional!(
        &mut *connection,
        r#"SELECT k.id AS "id: ManagementKeyId", k.workspace_id AS "workspace_id: WorkspaceId", k.scopes AS "scopes: Scopes",
                  k.program_scope AS "program_scope: Vec<ProgramId>", k.last_used_at,
                  w.second_factor_required
                  AND NOT EXISTS (SELECT FROM second_factors f WHERE f.user_id = k.created_by AND f.enabled_at IS NOT NULL)
                  AND NOT EXISTS (SELECT FROM passkeys p WHERE p.user_id = k.created_by) AS "lacks_second_factor!"
           FROM management_keys k JOIN workspaces w ON w.id = k.workspace_id
           WHERE k.key_hash = $1 AND k.status = 'active' AND (k.expires_at IS NULL OR k.expires_at > $2)
             AND creator_runs_workspace(k)"#,
        key_hash.as_bytes().as_slice(),
        now,
    );
    let noted = row.as_ref().and_then(|row| row.last_used_at);
    if let Some(row) = &row
        && noted.is_none_or(|noted| noted + USE_IS_NOTED <= now)
    {
        execute!(
            connection,
            "UPDATE management_keys SET last_used_at = $2
             WHERE id = $1 AND last_used_at IS NOT DISTINCT FROM $3",
            row.id.get(),
            now,
            noted,
        );
    }
    Ok(row.map(|row| UsableKey {
        key_id: row.id,
        workspace_id: row.workspace_id,
        scopes: row.scopes,
        program_scope: ProgramScope::new(row.program_scope),
        lacks_second_factor: row.lacks_second_factor,
    }))
}

/// Finds and locks the key until the transaction ends: a change must not restore a key that is being revoked.
pub async fn lock(
    connection: &mut PgConnection,
    key_id: ManagementKeyId,
) -> StorageResult<Option<StoredKey>> {
    let row = fetch_optional!(
        connection,
        KeyRow,
        r#"SELECT k.id, k.workspace_id, k.name AS "name: _", scopes AS "scopes: _", program_scope AS "program_scope: _", expires_at,
                  prefix, key_masked, k.status AS "status: _", k.created_at, k.created_by, u.name AS creator_name, k.last_used_at
           FROM management_keys k JOIN users u ON u.id = k.created_by WHERE k.id = $1 FOR UPDATE OF k"#,
        key_id.get(),
    );
    Ok(row.map(Into::into))
}

#[derive(Debug, Clone, Default)]
pub struct KeyFilter {
    pub status: Option<KeyStatus>,
    /// Searched in the key's name and its creator's name, ignoring case.
    pub text: Option<Name>,
}

/// A page of a workspace's keys, revoked ones included, newest first unless sorted; and the total number.
pub async fn list(
    connection: &mut PgConnection,
    workspace_id: WorkspaceId,
    filter: &KeyFilter,
    sorting: Option<Sorting<KeyColumn>>,
    window: Window,
) -> StorageResult<(Vec<StoredKey>, Whole)> {
    let (rows, total) = page!(
        connection,
        window,
        KeyRow,
        select r#"SELECT k.id, k.workspace_id, k.name AS "name: _", scopes AS "scopes: _", program_scope AS "program_scope: _",
                  expires_at, prefix, key_masked, k.status AS "status: _", k.created_at, k.created_by, u.name AS creator_name,
                  k.last_used_at"#,
        of "FROM management_keys k JOIN users u ON u.id = k.created_by
            WHERE k.workspace_id = $1 AND ($2::text IS NULL OR k.status = $2)
              AND ($3::text IS NULL OR strpos(folded(k.name), folded($3)) > 0 OR strpos(folded(u.name), folded($3)) > 0)
              AND k.id <= $4",
        order "k.id DESC",
        or by sorting: "CASE $7::text WHEN 'last_used_at' THEN extract(epoch FROM k.last_used_at) WHEN 'expires_at' THEN extract(epoch FROM k.expires_at)
         END * $8::integer NULLS LAST,
         CASE WHEN $7 = 'name' AND $8 > 0 THEN folded(k.name) END COLLATE \"und-x-icu\",
         CASE WHEN $7 = 'name' AND $8 < 0 THEN folded(k.name) END COLLATE \"und-x-icu\" DESC,
         k.id DESC",
        part "OFFSET $5 LIMIT $6",
        whole r#"SELECT count(*) AS "count!", max(k.id) AS up_to"#,
        workspace_id.get(),
        filter.status.map(KeyStatus::as_str),
        filter.text.as_ref().map(Name::as_str),
    );
    Ok((rows.into_iter().map(Into::into).collect(), total))
}

pub async fn update(
    connection: &mut PgConnection,
    key_id: ManagementKeyId,
    settings: &KeySettings,
) -> StorageResult<()> {
    let programs = settings.program_scope.ids();
    execute!(
        connection,
        "UPDATE management_keys SET name = $2, scopes = $3, program_scope = $4, expires_at = $5
         WHERE id = $1 AND status = 'active'",
        key_id.get(),
        settings.name.as_str(),
        &scope_names(&settings.scopes),
        programs.as_deref(),
        settings.expires_at,
    );
    Ok(())
}

/// Revokes the key and keeps its row. Returns whether the key was still active.
pub async fn revoke(
    connection: &mut PgConnection,
    key_id: ManagementKeyId,
    now: DateTime<Utc>,
) -> StorageResult<bool> {
    Ok(execute!(
        connection,
        "UPDATE management_keys SET status = 'revoked', revoked_at = $2 WHERE id = $1 AND status = 'active'",
        key_id.get(),
        now,
    ) == 1)
}

/// Active keys that a user created, with their workspaces. They work while the user runs the workspace.
pub async fn active_of_creator(
    connection: &mut PgConnection,
    user_id: UserId,
    now: DateTime<Utc>,
) -> StorageResult<Vec<(ManagementKeyId, WorkspaceId)>> {
    let rows = fetch_all!(
        connection,
        r#"SELECT id AS "id: ManagementKeyId", workspace_id AS "workspace_id: WorkspaceId" FROM management_keys
           WHERE created_by = $1 AND status = 'active' AND (expires_at IS NULL OR expires_at > $2) ORDER BY id"#,
        user_id.get(),
        now,
    );
    Ok(rows.into_iter().map(|row| (row.id, row.workspace_id)).collect())
}

/// Revokes active keys whose creator no longer runs the workspace, and returns their ids.
pub async fn revoke_unsupported(
    connection: &mut PgConnection,
    workspace_id: WorkspaceId,
    now: DateTime<Utc>,
) -> StorageResult<Vec<ManagementKeyId>> {
    Ok(fetch_scalars!(
        connection,
        r#"UPDATE management_keys k SET status = 'revoked', revoked_at = $2
         WHERE workspace_id = $1 AND status = 'active' AND NOT creator_runs_workspace(k)
         RETURNING id AS "id: ManagementKeyId""#,
        workspace_id.get(),
        now,
    ))
}

fn scope_names(scopes: &Scopes) -> Vec<String> {
    scopes.names().into_iter().map(str::to_owned).collect()
}

struct KeyRow {
    id: ManagementKeyId,
    workspace_id: WorkspaceId,
    name: Name,
    scopes: Scopes,
    program_scope: Option<Vec<ProgramId>>,
    expires_at: Option<DateTime<Utc>>,
    prefix: String,
    key_masked: String,
    status: KeyStatus,
    created_at: DateTime<Utc>,
    created_by: UserId,
    creator_name: String,
    last_used_at: Option<DateTime<Utc>>,
}

impl From<KeyRow> for StoredKey {
    fn from(row: KeyRow) -> Self {
        Self {
            key_id: row.id,
            workspace_id: row.workspace_id,
            settings: KeySettings {
                name: row.name,
                scopes: row.scopes,
                program_scope: ProgramScope::new(row.program_scope),
                expires_at: row.expires_at,
            },
            prefix: row.prefix,
            key_masked: row.key_masked,
            status: row.status,
            created_at: row.created_at,
            created_by: row.created_by,
            creator_name: row.creator_name,
            last_used_at: row.last_used_at,
        }
    }
}
