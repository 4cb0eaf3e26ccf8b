//! `tracking_tokens`: additional tokens of a program, one for each server, and the program's own token from
//! before a regeneration. `token_uses`: when each token was last used.

use chrono::{DateTime, Utc};
use sqlx::{PgConnection, PgPool};

use crate::error::StorageResult;
use domain::ids::{ProgramId, TrackingTokenId, UserId};
use domain::programs::key_rotation::KeyRotation;
use domain::programs::tracking_token::{TokenName, TokenScopes};
use domain::token::{ProgramToken, TokenHash};

/// A stored token: its masked form, not the token itself.
#[derive(Debug, Clone)]
pub struct StoredToken {
    pub kind: TokenKind,
    pub token_masked: String,
    pub scopes: TokenScopes,
    pub rotation: Option<KeyRotation>,
    pub created_at: DateTime<Utc>,
    pub creator_name: Option<String>,
    /// Precise to the hour.
    pub last_used_at: Option<DateTime<Utc>>,
}

#[derive(Debug, Clone)]
pub enum TokenKind {
    Own,
    /// The program's own token from before a regeneration.
    Previous(TrackingTokenId),
    Named(TrackingTokenId, String),
}

#[derive(Debug)]
pub struct NewToken<'a> {
    pub program_id: ProgramId,
    pub name: &'a TokenName,
    pub scopes: TokenScopes,
    /// Only its hash and its masked form are stored.
    pub token: &'a ProgramToken,
    /// `None` when a management key created it.
    pub created_by: Option<UserId>,
    pub created_at: DateTime<Utc>,
}

pub async fn create(connection: &mut PgConnection, new: &NewToken<'_>) -> StorageResult<TrackingTokenId> {
    let hash = new.token.hash();
    Ok(fetch_scalar!(
        connection,
        r#"INSERT INTO tracking_tokens (program_id, name, token_hash, token_masked, scopes, created_by, created_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7)
         RETURNING id AS "id: TrackingTokenId""#,
        new.program_id.get(),
        new.name.as_str(),
        hash.as_bytes().as_slice(),
        new.token.masked(),
        &scope_names(new.scopes),
        new.created_by.map(UserId::get),
        new.created_at,
    ))
}

/// The program's tokens: its own first, then in order of creation; expired ones until they are revoked.
pub async fn list(connection: &mut PgConnection, program_id: ProgramId) -> StorageResult<Vec<StoredToken>> {
    Ok(sqlx::query!(
        r#"SELECT t.id AS "id?: TrackingTokenId", t.name AS "name?", t.token_masked AS "token_masked!",
                  t.scopes AS "scopes!: TokenScopes",
                  t.marked_at, t.rotate_by, t.created_at AS "created_at!", u.name AS "creator_name?",
                  s.last_used_at AS "last_used_at?"
           FROM (
               SELECT NULL::bigint AS id, NULL AS name, api_token_hash AS token_hash, api_token_masked AS token_masked,
                      $2::text[] AS scopes, key_rotation_marked_at AS marked_at, key_rotation_rotate_by AS rotate_by,
                      NULL::bigint AS created_by, api_token_created_at AS created_at
               FROM programs WHERE id = $1
               UNION ALL
               SELECT id, name, token_hash, token_masked, scopes, marked_at, rotate_by, created_by, created_at
               FROM tracking_tokens WHERE program_id = $1 AND revoked_at IS NULL
           ) t
           LEFT JOIN users u ON u.id = t.created_by
           LEFT JOIN token_uses s ON s.token_hash = t.token_hash
           ORDER BY t.id NULLS FIRST"#,
        program_id.get(),
        &scope_names(TokenScopes::ALL),
    )
    .map(|row| StoredToken {
        kind: match (row.id, row.name) {
            (None, _) => TokenKind::Own,
            (Some(id), None) => TokenKind::Previous(id),
            (Some(id), Some(name)) => TokenKind::Named(id, name),
        },
        token_masked: row.token_masked,
        scopes: row.scopes,
        rotation: KeyRotation::of(row.marked_at, row.rotate_by),
        created_at: row.created_at,
        creator_name: row.creator_name,
        last_used_at: row.last_used_at,
    })
    .fetch_all(connection)
    .await?)
}

/// Revokes the token. Returns whether it was still accepted.
pub async fn revoke(
    connection: &mut PgConnection,
    program_id: ProgramId,
    tracking_token_id: TrackingTokenId,
    now: DateTime<Utc>,
) -> StorageResult<bool> {
    Ok(execute!(
        connection,
        "UPDATE tracking_tokens SET revoked_at = $3 WHERE id = $1 AND program_id = $2 AND revoked_at IS NULL",
        tracking_token_id.get(),
        program_id.get(),
        now,
    ) == 1)
}

/// Replaces the program's own token. A mark for rotation is removed with the old token.
///
/// With `keep_previous`, the old token is accepted until that time, marked for rotation; otherwise it is
/// refused from now on. An earlier previous token is refused: a program has at most two own tokens.
pub async fn replace_own(
    connection: &mut PgConnection,
    program_id: ProgramId,
    token: &ProgramToken,
    keep_previous: Option<KeyRotation>,
    now: DateTime<Utc>,
) -> StorageResult<()> {
    execute!(
        &mut *connection,
        "UPDATE tracking_tokens SET revoked_at = $2 WHERE program_id = $1 AND name IS NULL AND revoked_at IS NULL",
        program_id.get(),
        now,
    );
    if let Some(rotation) = keep_previous {
        execute!(
            &mut *connection,
            "INSERT INTO tracking_tokens (program_id, token_hash, token_masked, scopes, marked_at, rotate_by, created_at)
             SELECT id, api_token_hash, api_token_masked, $2, $3, $4, api_token_created_at FROM programs WHERE id = $1",
            program_id.get(),
            &scope_names(TokenScopes::ALL),
            rotation.marked_at,
            rotation.rotate_by,
        );
    }
    let hash = token.hash();
    execute!(
        connection,
        "UPDATE programs SET api_token_hash = $2, api_token_masked = $3, key_rotation_marked_at = NULL,
             key_rotation_rotate_by = NULL
         WHERE id = $1",
        program_id.get(),
        hash.as_bytes().as_slice(),
        token.masked(),
    );
    Ok(())
}

pub async fn note_uses(pool: &PgPool, hashes: &[TokenHash], at: DateTime<Utc>) -> StorageResult<()> {
    let hashes: Vec<&[u8]> = hashes.iter().map(|hash| hash.as_bytes().as_slice()).collect();
    execute!(
        pool,
        "INSERT INTO token_uses (token_hash, last_used_at)
         SELECT hash, $2 FROM unnest($1::bytea[]) hash ORDER BY hash
         ON CONFLICT (token_hash) DO UPDATE SET last_used_at = greatest(token_uses.last_used_at, excluded.last_used_at)",
        &hashes as &[&[u8]],
        at,
    );
    Ok(())
}

fn scope_names(scopes: TokenScopes) -> Vec<String> {
    scopes.names().into_iter().map(str::to_owned).collect()
}
