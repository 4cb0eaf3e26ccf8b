//! `users`: people who sign in.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use super::{StorageError, StorageResult};
use crate::domain::account::{EmailAddress, PasswordHash, UserKind};
use crate::domain::ids::UserId;

#[derive(Debug, Clone)]
pub struct User {
    pub user_id: UserId,
    pub kind: UserKind,
    pub name: String,
    pub email: String,
    pub suspended: bool,
    /// It was shown that the address is theirs.
    pub verified: bool,
    pub password_hash: PasswordHash,
}

#[derive(Debug)]
pub struct NewUser<'a> {
    pub kind: UserKind,
    pub name: &'a str,
    pub email: &'a EmailAddress,
    pub password_hash: &'a PasswordHash,
    /// `None`: nothing shows yet that the address is theirs.
    pub verified_at: Option<DateTime<Utc>>,
}

/// `None` when the address has an account already, whatever the case of its letters.
pub async fn create(connection: &mut PgConnection, new: &NewUser<'_>) -> StorageResult<Option<UserId>> {
    let id = sqlx::query_scalar!(
        "INSERT INTO users (kind, name, email, password_hash, verified_at) VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT (lower(email)) DO NOTHING
         RETURNING id",
        new.kind.as_str(),
        new.name,
        new.email.as_str(),
        new.password_hash.as_str(),
        new.verified_at,
    )
    .fetch_optional(connection)
    .await?;
    Ok(id.map(UserId::new))
}

pub async fn find_by_email(
    connection: &mut PgConnection,
    email: &EmailAddress,
) -> StorageResult<Option<User>> {
    let row = sqlx::query_as!(
        UserRow,
        r#"SELECT id, kind, name, email, status, verified_at IS NOT NULL AS "verified!", password_hash
           FROM users WHERE lower(email) = lower($1)"#,
        email.as_str(),
    )
    .fetch_optional(connection)
    .await?;
    row.map(TryInto::try_into).transpose()
}

pub async fn find(connection: &mut PgConnection, user_id: UserId) -> StorageResult<Option<User>> {
    let row = sqlx::query_as!(
        UserRow,
        r#"SELECT id, kind, name, email, status, verified_at IS NOT NULL AS "verified!", password_hash
           FROM users WHERE id = $1"#,
        user_id.get(),
    )
    .fetch_optional(connection)
    .await?;
    row.map(TryInto::try_into).transpose()
}

pub async fn set_password(
    connection: &mut PgConnection,
    user_id: UserId,
    password_hash: &PasswordHash,
) -> StorageResult<()> {
    sqlx::query!(
        "UPDATE users SET password_hash = $2 WHERE id = $1",
        user_id.get(),
        password_hash.as_str(),
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Notes that the address is theirs; whether that was not known before.
pub async fn verify(
    connection: &mut PgConnection,
    user_id: UserId,
    now: DateTime<Utc>,
) -> StorageResult<bool> {
    let verified = sqlx::query!(
        "UPDATE users SET verified_at = $2 WHERE id = $1 AND verified_at IS NULL",
        user_id.get(),
        now,
    )
    .execute(connection)
    .await?;
    Ok(verified.rows_affected() == 1)
}

/// Suspends somebody, or lets them in again. Their sessions are [`revoked`](super::sessions::revoke_all) by the caller.
pub async fn set_suspended(
    connection: &mut PgConnection,
    user_id: UserId,
    suspended: bool,
) -> StorageResult<()> {
    sqlx::query!(
        "UPDATE users SET status = CASE WHEN $2 THEN 'suspended' ELSE 'active' END WHERE id = $1",
        user_id.get(),
        suspended,
    )
    .execute(connection)
    .await?;
    Ok(())
}

struct UserRow {
    id: i64,
    kind: String,
    name: String,
    email: String,
    status: String,
    verified: bool,
    password_hash: String,
}

impl TryFrom<UserRow> for User {
    type Error = StorageError;

    fn try_from(row: UserRow) -> StorageResult<Self> {
        Ok(Self {
            user_id: UserId::new(row.id),
            kind: UserKind::parse(&row.kind).ok_or_else(|| StorageError::corrupt("users", "kind", row.id))?,
            name: row.name,
            email: row.email,
            suspended: row.status == "suspended",
            verified: row.verified,
            password_hash: PasswordHash::stored(row.password_hash),
        })
    }
}
