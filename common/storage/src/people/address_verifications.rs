//! `address_verifications`: one-time links that show that an account's address is its owner's.

use chrono::{DateTime, Utc};
use sqlx::{PgConnection, PgPool};

use crate::error::StorageResult;
use domain::ids::UserId;
use domain::token::TokenHash;

/// Links before it work on until they expire: e-mails come in any order.
pub async fn create(
    connection: &mut PgConnection,
    user_id: UserId,
    token_hash: TokenHash,
    created_at: DateTime<Utc>,
    expires_at: DateTime<Utc>,
) -> StorageResult<()> {
    sqlx::query!(
        "INSERT INTO address_verifications (user_id, token_hash, created_at, expires_at) VALUES ($1, $2, $3, $4)",
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
pub struct OpenVerification {
    pub user_id: UserId,
    /// The account's.
    pub email: String,
    pub expires_at: DateTime<Utc>,
}

/// `None` for an unknown token, for a link that has ended, and for that of a suspended account.
pub async fn find_open(
    connection: &mut PgConnection,
    token_hash: TokenHash,
    now: DateTime<Utc>,
) -> StorageResult<Option<OpenVerification>> {
    let row = sqlx::query!(
        "SELECT v.user_id, u.email, v.expires_at FROM address_verifications v JOIN users u ON u.id = v.user_id
         WHERE v.token_hash = $1 AND v.ended_at IS NULL AND v.expires_at > $2 AND u.status = 'active'",
        token_hash.as_bytes().as_slice(),
        now,
    )
    .fetch_optional(connection)
    .await?;
    Ok(row.map(|row| OpenVerification {
        user_id: UserId::new(row.user_id),
        email: row.email,
        expires_at: row.expires_at,
    }))
}

/// Ends the links of a user: the address is verified. How many worked until now.
pub async fn end_all(
    connection: &mut PgConnection,
    user_id: UserId,
    now: DateTime<Utc>,
) -> StorageResult<u64> {
    let ended = sqlx::query!(
        "UPDATE address_verifications SET ended_at = $2 WHERE user_id = $1 AND ended_at IS NULL",
        user_id.get(),
        now,
    )
    .execute(connection)
    .await?;
    Ok(ended.rows_affected())
}

/// Forgets links that expired before `before`. Bounded.
pub async fn forget(pool: &PgPool, before: DateTime<Utc>, limit: i64) -> StorageResult<u64> {
    let forgotten = sqlx::query!(
        "DELETE FROM address_verifications WHERE id IN (
             SELECT id FROM address_verifications WHERE expires_at < $1 ORDER BY expires_at LIMIT $2)",
        before,
        limit,
    )
    .execute(pool)
    .await?;
    Ok(forgotten.rows_affected())
}
