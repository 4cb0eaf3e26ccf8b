//! `password_resets` and `address_verifications`: links that are e-mailed to an account's owner and work
//! once, for a limited time. Only hashes of their tokens are stored. The tables have the same columns.

use chrono::{DateTime, Utc};
use sqlx::{PgConnection, PgPool};

use crate::error::StorageResult;
use domain::ids::UserId;
use domain::token::TokenHash;

/// The purpose of a link. Each purpose has a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkPurpose {
    /// Replaces a forgotten password.
    PasswordReset,
    /// Verifies that the account's address belongs to its owner.
    AddressVerification,
}

impl LinkPurpose {
    pub const ALL: [Self; 2] = [Self::PasswordReset, Self::AddressVerification];
}

/// Runs a statement on the table of a purpose. The table's name is inserted between the pieces of SQL.
macro_rules! on_table {
    ($purpose:expr, $run:ident($connection:expr), $query:ident!($($row:ident,)? $first:literal $(, table, $piece:literal)+; $($argument:expr),+)) => {
        match $purpose {
            LinkPurpose::PasswordReset => {
                sqlx::$query!($($row,)? $first $(+ " password_resets " + $piece)+, $($argument),+).$run($connection).await?
            }
            LinkPurpose::AddressVerification => {
                sqlx::$query!($($row,)? $first $(+ " address_verifications " + $piece)+, $($argument),+).$run($connection).await?
            }
        }
    };
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
    on_table!(
        new.purpose,
        execute(connection),
        query!(
            "INSERT INTO", table, "(user_id, token_hash, created_at, expires_at) VALUES ($1, $2, $3, $4)";
            new.user_id.get(), new.token_hash.as_bytes().as_slice(), new.created_at, new.expires_at
        )
    );
    Ok(())
}

/// A valid link.
#[derive(Debug, Clone)]
pub struct OpenLink {
    pub user_id: UserId,
    /// The account's address.
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
    Ok(on_table!(
        purpose,
        fetch_optional(connection),
        query_as!(
            OpenLink,
            "SELECT l.user_id, u.email, l.expires_at FROM", table,
            "l JOIN users u ON u.id = l.user_id
             WHERE l.token_hash = $1 AND l.ended_at IS NULL AND l.expires_at > $2 AND u.status = 'active'";
            token_hash.as_bytes().as_slice(), now
        )
    ))
}

/// Uses a link. `false` when it ended after it was found, or another request was faster.
pub async fn take(
    connection: &mut PgConnection,
    purpose: LinkPurpose,
    token_hash: TokenHash,
    now: DateTime<Utc>,
) -> StorageResult<bool> {
    let taken = on_table!(
        purpose,
        execute(connection),
        query!(
            "UPDATE", table, "SET ended_at = $2 WHERE token_hash = $1 AND ended_at IS NULL AND expires_at > $2";
            token_hash.as_bytes().as_slice(), now
        )
    );
    Ok(taken.rows_affected() == 1)
}

/// Ends all of a user's links of a purpose, once the purpose is fulfilled. Returns how many were still open.
pub async fn end_all(
    connection: &mut PgConnection,
    purpose: LinkPurpose,
    user_id: UserId,
    now: DateTime<Utc>,
) -> StorageResult<u64> {
    let ended = on_table!(
        purpose,
        execute(connection),
        query!("UPDATE", table, "SET ended_at = $2 WHERE user_id = $1 AND ended_at IS NULL"; user_id.get(), now)
    );
    Ok(ended.rows_affected())
}

/// Deletes links that expired before `before`. Bounded.
pub async fn forget(
    pool: &PgPool,
    purpose: LinkPurpose,
    before: DateTime<Utc>,
    limit: i64,
) -> StorageResult<u64> {
    let forgotten = on_table!(
        purpose,
        execute(pool),
        query!(
            "DELETE FROM", table, "WHERE id IN (SELECT id FROM", table, "WHERE expires_at < $1 ORDER BY expires_at LIMIT $2)";
            before, limit
        )
    );
    Ok(forgotten.rows_affected())
}
