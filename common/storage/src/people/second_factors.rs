//! `second_factors`, `recovery_codes`: authenticator apps and recovery codes of users.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::error::StorageResult;
use domain::ids::UserId;
use domain::people::second_factor::RecoveryCode;
use domain::token::TokenHash;

/// An authenticator app, enabled or being set up.
#[derive(Debug)]
pub struct SecondFactor {
    /// See [`AuthenticatorSecret::open`](domain::people::second_factor::AuthenticatorSecret::open).
    pub secret_sealed: Vec<u8>,
    /// `None` while the app is being set up and not required yet.
    pub enabled_at: Option<DateTime<Utc>>,
    /// The latest 30-second step whose code was used.
    pub last_step: i64,
}

/// An enabled app, as its owner sees it.
#[derive(Debug)]
pub struct EnabledFactor {
    pub enabled_at: DateTime<Utc>,
    pub recovery_codes_left: i64,
}

/// `None` when no app is enabled.
pub async fn enabled(connection: &mut PgConnection, user_id: UserId) -> StorageResult<Option<EnabledFactor>> {
    Ok(fetch_optional!(
        connection,
        EnabledFactor,
        r#"SELECT enabled_at AS "enabled_at!",
                  (SELECT count(*) FROM recovery_codes c WHERE c.user_id = f.user_id AND used_at IS NULL) AS "recovery_codes_left!"
           FROM second_factors f WHERE user_id = $1 AND enabled_at IS NOT NULL"#,
        user_id.get(),
    ))
}

/// A user's factors besides the password.
#[derive(Debug, Clone, Copy)]
pub struct OwnFactors {
    pub has_app: bool,
    pub passkeys: i64,
}

/// Locks the account until the transaction ends. Changes of its factors are serialised: two concurrent
/// requests cannot each remove one of the last two factors.
pub async fn lock_own(connection: &mut PgConnection, user_id: UserId) -> StorageResult<OwnFactors> {
    fetch_optional!(
        &mut *connection,
        "SELECT id FROM users WHERE id = $1 FOR NO KEY UPDATE",
        user_id.get()
    );
    Ok(fetch_one!(
        connection,
        OwnFactors,
        r#"SELECT EXISTS (SELECT FROM second_factors WHERE user_id = $1 AND enabled_at IS NOT NULL) AS "has_app!",
                  (SELECT count(*) FROM passkeys WHERE user_id = $1) AS "passkeys!""#,
        user_id.get(),
    ))
}

/// Finds and locks the app: of concurrent requests with the same code, only one succeeds.
pub async fn lock(connection: &mut PgConnection, user_id: UserId) -> StorageResult<Option<SecondFactor>> {
    Ok(fetch_optional!(
        connection,
        SecondFactor,
        "SELECT secret_sealed, enabled_at, last_step FROM second_factors WHERE user_id = $1 FOR UPDATE",
        user_id.get(),
    ))
}

/// Starts a set-up and replaces an unfinished one. `false` when an app is already enabled.
pub async fn begin(
    connection: &mut PgConnection,
    user_id: UserId,
    secret_sealed: &[u8],
    now: DateTime<Utc>,
) -> StorageResult<bool> {
    Ok(execute!(
        connection,
        "INSERT INTO second_factors AS f (user_id, secret_sealed, created_at) VALUES ($1, $2, $3)
         ON CONFLICT (user_id) DO UPDATE SET secret_sealed = $2, created_at = $3, last_step = 0 WHERE f.enabled_at IS NULL",
        user_id.get(),
        secret_sealed,
        now,
    ) == 1)
}

pub async fn enable(connection: &mut PgConnection, user_id: UserId, now: DateTime<Utc>) -> StorageResult<()> {
    execute!(
        connection,
        "UPDATE second_factors SET enabled_at = $2 WHERE user_id = $1 AND enabled_at IS NULL",
        user_id.get(),
        now,
    );
    Ok(())
}

pub async fn take_step(connection: &mut PgConnection, user_id: UserId, step: i64) -> StorageResult<()> {
    execute!(
        connection,
        "UPDATE second_factors SET last_step = $2 WHERE user_id = $1",
        user_id.get(),
        step,
    );
    Ok(())
}

/// Uses up a recovery code. Returns whether it was on the list and unused.
pub async fn take_recovery_code(
    connection: &mut PgConnection,
    user_id: UserId,
    code_hash: TokenHash,
    now: DateTime<Utc>,
) -> StorageResult<bool> {
    Ok(execute!(
        connection,
        "UPDATE recovery_codes SET used_at = $3 WHERE user_id = $1 AND code_hash = $2 AND used_at IS NULL",
        user_id.get(),
        code_hash.as_bytes().as_slice(),
        now,
    ) == 1)
}

pub async fn set_recovery_codes(
    connection: &mut PgConnection,
    user_id: UserId,
    codes: &[RecoveryCode],
) -> StorageResult<()> {
    execute!(
        &mut *connection,
        "DELETE FROM recovery_codes WHERE user_id = $1",
        user_id.get()
    );
    let hashes: Vec<Vec<u8>> = codes.iter().map(|code| code.hash().as_bytes().to_vec()).collect();
    execute!(
        connection,
        "INSERT INTO recovery_codes (user_id, code_hash) SELECT $1, unnest($2::bytea[])",
        user_id.get(),
        &hashes,
    );
    Ok(())
}

/// `true` when the user had an app, enabled or being set up.
pub async fn remove(connection: &mut PgConnection, user_id: UserId) -> StorageResult<bool> {
    Ok(execute!(
        connection,
        "DELETE FROM second_factors WHERE user_id = $1",
        user_id.get()
    ) == 1)
}
