//! `one_time_links`: links that are e-mailed to an account's owner and work once, for a limited time. Only
//! hashes of their tokens are stored.

use chrono::{DateTime, Utc};
use sqlx::{PgConnection, PgPool};

use crate::error::StorageResult;
use domain::ids::UserId;
use domain::token::TokenHash;

domain::text_enum! {
    pub enum LinkPurpose {
        PasswordReset = "password_reset",
        /// Verifies that the account's address belongs to its owner.
        AddressVerification = "address_verification",
    }
}

#[derive(Debug)]
pub struct NewLink {
    pub purpose: LinkPurpose,
    pub user_id: UserId,
    pub token_hash: TokenHash,
    pub created_at: DateTime<Utc>,
    pub expires_at: DateTime<Utc>,
}

/// Earlier links stay valid until they expire: e-mails may arrive in any order, and repeated requests must
/// not invalidate the owner's link.
pub async fn create(connection: &mut PgConnection, new: &NewLink) -> StorageResult<()> {
    execute!(
        connection,
        "INSERT INTO one_time_links (purpose, user_id, token_hash, created_at, expires_at) VALUES ($1, $2, $3, $4, $5)",
        new.purpose.as_str(),
        new.user_id.get(),
        new.token_hash.as_bytes().as_slice(),
        new.created_at,
        new.expires_at,
    );
    Ok(())
}

#[derive(Debug, Clone)]
pub struct OpenLink {
    pub user_id: UserId,
    pub email: String,
    pub expires_at: DateTime<Utc>,
}

/// `None` for an unknown token, an ended link, and a link of a suspended account.
pub async fn find_open(
    connection: &mut PgConnection,
    purpose: LinkPurpose,
    token_hash: TokenHash,
    now: DateTime<Utc>,
) -> StorageResult<Option<OpenLink>> {
    Ok(fetch_optional!(
        connection,
        OpenLink,
        "SELECT l.user_id, u.email, l.expires_at FROM one_time_links l JOIN users u ON u.id = l.user_id
         WHERE l.purpose = $1 AND l.token_hash = $2 AND l.ended_at IS NULL AND l.expires_at > $3 AND u.status = 'active'",
        purpose.as_str(),
        token_hash.as_bytes().as_slice(),
        now,
    ))
}

/// Uses a link. `false` when it ended after it was found, or another request was faster.
pub async fn take(
    connection: &mut PgConnection,
    purpose: LinkPurpose,
    token_hash: TokenHash,
    now: DateTime<Utc>,
) -> StorageResult<bool> {
    Ok(execute!(
        connection,
        "UPDATE one_time_links SET ended_at = $3
         WHERE purpose = $1 AND token_hash = $2 AND ended_at IS NULL AND expires_at > $3",
        purpose.as_str(),
        token_hash.as_bytes().as_slice(),
        now,
    ) == 1)
}

/// Ends all of a user's links of a purpose, once the purpose is fulfilled. Returns how many were still open.
pub async fn end_all(
    connection: &mut PgConnection,
    purpose: LinkPurpose,
    user_id: UserId,
    now: DateTime<Utc>,
) -> StorageResult<u64> {
    Ok(execute!(
        connection,
        "UPDATE one_time_links SET ended_at = $3 WHERE purpose = $1 AND user_id = $2 AND ended_at IS NULL",
        purpose.as_str(),
        user_id.get(),
        now,
    ))
}

pub async fn forget(pool: &PgPool, before: DateTime<Utc>, limit: i64) -> StorageResult<u64> {
    forget!(
        pool,
        "one_time_links",
        "id",
        "expires_at < $1 ORDER BY expires_at",
        before,
        limit
    )
}
