//! `users`: people who sign in.

use chrono::{DateTime, TimeDelta, Utc};
use sqlx::PgConnection;

use crate::error::StorageResult;
use domain::ids::UserId;
use domain::people::account::{EmailAddress, PasswordHash, UserKind};

/// Minimum time between audit log entries about failed sign-ins at an account.
const FAILURES_ARE_NOTED: TimeDelta = TimeDelta::hours(1);

#[derive(Debug, Clone)]
pub struct User {
    pub user_id: UserId,
    pub kind: UserKind,
    pub name: String,
    pub email: String,
    pub suspended: bool,
    pub verified: bool,
    pub password_hash: PasswordHash,
}

#[derive(Debug)]
pub struct NewUser<'a> {
    pub kind: UserKind,
    pub name: &'a str,
    pub email: &'a EmailAddress,
    pub password_hash: &'a PasswordHash,
    /// `None` while the address is not verified.
    pub verified_at: Option<DateTime<Utc>>,
}

/// `None` when an account with this address already exists, compared without case.
pub async fn create(connection: &mut PgConnection, new: &NewUser<'_>) -> StorageResult<Option<UserId>> {
    Ok(fetch_optional_scalar!(
        connection,
        r#"INSERT INTO users (kind, name, email, password_hash, verified_at) VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT (lower(email)) DO NOTHING
         RETURNING id AS "id: UserId""#,
        new.kind.as_str(),
        new.name,
        new.email.as_str(),
        new.password_hash.as_str(),
        new.verified_at,
    ))
}

pub async fn find_by_email(
    connection: &mut PgConnection,
    email: &EmailAddress,
) -> StorageResult<Option<User>> {
    Ok(fetch_optional!(
        connection,
        User,
        r#"SELECT id AS user_id, kind AS "kind: _", name, email, status = 'suspended' AS "suspended!",
                  verified_at IS NOT NULL AS "verified!", password_hash AS "password_hash: _"
           FROM users WHERE lower(email) = lower($1)"#,
        email.as_str(),
    ))
}

pub async fn find(connection: &mut PgConnection, user_id: UserId) -> StorageResult<Option<User>> {
    Ok(fetch_optional!(
        connection,
        User,
        r#"SELECT id AS user_id, kind AS "kind: _", name, email, status = 'suspended' AS "suspended!",
                  verified_at IS NOT NULL AS "verified!", password_hash AS "password_hash: _"
           FROM users WHERE id = $1"#,
        user_id.get(),
    ))
}

pub async fn set_password(
    connection: &mut PgConnection,
    user_id: UserId,
    password_hash: &PasswordHash,
) -> StorageResult<()> {
    execute!(
        connection,
        "UPDATE users SET password_hash = $2 WHERE id = $1",
        user_id.get(),
        password_hash.as_str(),
    );
    Ok(())
}

/// Replaces the password, if it is still the one that `user` had when it was read. Returns whether it was.
pub async fn replace_password(
    connection: &mut PgConnection,
    user: &User,
    password_hash: &PasswordHash,
) -> StorageResult<bool> {
    Ok(execute!(
        connection,
        "UPDATE users SET password_hash = $2 WHERE id = $1 AND password_hash = $3",
        user.user_id.get(),
        password_hash.as_str(),
        user.password_hash.as_str(),
    ) == 1)
}

/// Counts a failed sign-in. Returns whether an hour has passed since the last audit log entry about failures.
pub async fn count_failed_sign_in(
    connection: &mut PgConnection,
    user_id: UserId,
    now: DateTime<Utc>,
) -> StorageResult<bool> {
    let began = execute!(
        &mut *connection,
        "INSERT INTO failed_sign_ins (user_id, failed, noted_at) VALUES ($1, 0, $2) ON CONFLICT DO NOTHING",
        user_id.get(),
        now,
    );
    let to_note = fetch_scalar!(
        connection,
        r#"WITH before AS (SELECT noted_at <= $3 AS long_ago FROM failed_sign_ins WHERE user_id = $1 FOR UPDATE)
           UPDATE failed_sign_ins SET failed = failed + 1, noted_at = CASE WHEN long_ago THEN $2 ELSE noted_at END
           FROM before WHERE user_id = $1 RETURNING long_ago AS "long_ago!""#,
        user_id.get(),
        now,
        now - FAILURES_ARE_NOTED,
    );
    Ok(to_note || began == 1)
}

/// Returns the failed attempts since the last sign-in, and resets the counter.
pub async fn take_failed_sign_ins(connection: &mut PgConnection, user_id: UserId) -> StorageResult<i32> {
    let failed = fetch_optional_scalar!(
        connection,
        "WITH before AS (SELECT failed FROM failed_sign_ins WHERE user_id = $1 FOR UPDATE)
         UPDATE failed_sign_ins SET failed = 0 FROM before WHERE user_id = $1 RETURNING before.failed",
        user_id.get(),
    );
    Ok(failed.unwrap_or(0))
}

/// Marks the address as verified. Returns whether it was unverified before.
pub async fn verify(
    connection: &mut PgConnection,
    user_id: UserId,
    now: DateTime<Utc>,
) -> StorageResult<bool> {
    Ok(execute!(
        connection,
        "UPDATE users SET verified_at = $2 WHERE id = $1 AND verified_at IS NULL",
        user_id.get(),
        now,
    ) == 1)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WantedEmails {
    pub weekly_summary: bool,
    pub program_notices: bool,
}

pub async fn wanted_emails(connection: &mut PgConnection, user_id: UserId) -> StorageResult<WantedEmails> {
    Ok(fetch_one!(
        connection,
        WantedEmails,
        "SELECT weekly_summary, program_notices FROM users WHERE id = $1",
        user_id.get(),
    ))
}

/// `None` leaves a choice unchanged. Returns the resulting choices, and whether any changed.
pub async fn want_emails(
    connection: &mut PgConnection,
    user_id: UserId,
    weekly_summary: Option<bool>,
    program_notices: Option<bool>,
) -> StorageResult<(WantedEmails, bool)> {
    let row = fetch_one!(
        connection,
        r#"WITH before AS (SELECT weekly_summary, program_notices FROM users WHERE id = $1 FOR UPDATE)
           UPDATE users u SET weekly_summary = coalesce($2, u.weekly_summary), program_notices = coalesce($3, u.program_notices)
           FROM before b WHERE u.id = $1
           RETURNING u.weekly_summary, u.program_notices,
                     (u.weekly_summary, u.program_notices) IS DISTINCT FROM (b.weekly_summary, b.program_notices) AS "changed!""#,
        user_id.get(),
        weekly_summary,
        program_notices,
    );
    let wanted = WantedEmails {
        weekly_summary: row.weekly_summary,
        program_notices: row.program_notices,
    };
    Ok((wanted, row.changed))
}

/// Suspends or reactivates a user. The caller [revokes](crate::people::sessions::revoke_all) the sessions.
pub async fn set_suspended(
    connection: &mut PgConnection,
    user_id: UserId,
    suspended: bool,
) -> StorageResult<()> {
    execute!(
        connection,
        "UPDATE users SET status = CASE WHEN $2 THEN 'suspended' ELSE 'active' END WHERE id = $1",
        user_id.get(),
        suspended,
    );
    Ok(())
}
