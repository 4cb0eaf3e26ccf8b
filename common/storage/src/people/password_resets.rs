//! `password_resets`: one-time links that replace a forgotten password.

use chrono::{DateTime, Utc};
use sqlx::{PgConnection, PgPool};

use crate::error::StorageResult;
use domain::ids::UserId;
use domain::token::TokenHash;

/// The links before it work on until they expire: whoever asks again and again cannot make the owner's link useless.
pub async fn create(
    connection: &mut PgConnection,
    user_id: UserId,
    token_hash: TokenHash,
    created_at: DateTime<Utc>,
    expires_at: DateTime<Utc>,
) -> StorageResult<()> {
    sqlx::query!(
        "INSERT INTO password_resets (user_id, token_hash, created_at, expires_at) VALUES ($1, $2, $3, $4)",
        user_id.get(),
        token_hash.as_bytes().as_slice(),
        created_at,
        expires_at,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// A link that works.
#[derive(Debug, Clone)]
pub struct OpenReset {
    pub user_id: UserId,
    pub expires_at: DateTime<Utc>,
    /// The account has a second factor, which is asked for.
    pub second_factor: bool,
}

/// `None` for an unknown token, for a link that has ended, and for that of a suspended account.
pub async fn find_open(
    connection: &mut PgConnection,
    token_hash: TokenHash,
    now: DateTime<Utc>,
) -> StorageResult<Option<OpenReset>> {
    let row = sqlx::query!(
        r#"SELECT r.user_id, r.expires_at,
                  EXISTS (SELECT FROM second_factors f WHERE f.user_id = r.user_id AND f.enabled_at IS NOT NULL) AS "second_factor!"
           FROM password_resets r JOIN users u ON u.id = r.user_id
           WHERE r.token_hash = $1 AND r.ended_at IS NULL AND r.expires_at > $2 AND u.status = 'active'"#,
        token_hash.as_bytes().as_slice(),
        now,
    )
    .fetch_optional(connection)
    .await?;
    Ok(row.map(|row| OpenReset {
        user_id: UserId::new(row.user_id),
        expires_at: row.expires_at,
        second_factor: row.second_factor,
    }))
}

/// Uses a link; `false` when it has ended since it was found, or another request was faster.
pub async fn take(
    connection: &mut PgConnection,
    token_hash: TokenHash,
    now: DateTime<Utc>,
) -> StorageResult<bool> {
    let taken = sqlx::query!(
        "UPDATE password_resets SET ended_at = $2 WHERE token_hash = $1 AND ended_at IS NULL AND expires_at > $2",
        token_hash.as_bytes().as_slice(),
        now,
    )
    .execute(connection)
    .await?;
    Ok(taken.rows_affected() == 1)
}

/// Ends the links of a user: their password has been changed.
pub async fn end_all(
    connection: &mut PgConnection,
    user_id: UserId,
    now: DateTime<Utc>,
) -> StorageResult<()> {
    sqlx::query!(
        "UPDATE password_resets SET ended_at = $2 WHERE user_id = $1 AND ended_at IS NULL",
        user_id.get(),
        now,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Forgets links that expired before `before`. Bounded.
pub async fn forget(pool: &PgPool, before: DateTime<Utc>, limit: i64) -> StorageResult<u64> {
    let forgotten = sqlx::query!(
        "DELETE FROM password_resets WHERE id IN (
             SELECT id FROM password_resets WHERE expires_at < $1 ORDER BY expires_at LIMIT $2)",
        before,
        limit,
    )
    .execute(pool)
    .await?;
    Ok(forgotten.rows_affected())
}
