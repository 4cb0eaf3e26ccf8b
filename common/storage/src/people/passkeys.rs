//! `passkeys`: public keys of devices that users sign in with. `passkey_challenges`: challenges that a device
//! was asked to sign; each is accepted once.
//!
//! Credentials and challenges are stored in the format of the ingest's WebAuthn library.

use chrono::{DateTime, Utc};
use serde_json::Value;
use sqlx::PgConnection;

use crate::error::StorageResult;
use domain::ids::{PasskeyId, UserId};
use domain::name::Name;
use domain::token::TokenHash;

#[derive(Debug)]
pub struct ListedPasskey {
    pub passkey_id: PasskeyId,
    pub name: String,
    pub created_at: DateTime<Utc>,
    pub last_used_at: Option<DateTime<Utc>>,
}

#[derive(Debug)]
pub struct ShownPasskey {
    pub passkey_id: PasskeyId,
    pub user_id: UserId,
    pub credential: Value,
}

#[derive(Debug)]
pub struct NewPasskey<'a> {
    pub user_id: UserId,
    pub name: &'a Name,
    pub credential_id: &'a [u8],
    pub credential: &'a Value,
    pub created_at: DateTime<Utc>,
}

#[derive(Debug)]
pub struct NewChallenge<'a> {
    pub handle_hash: TokenHash,
    /// The user who adds a passkey; `None` for a sign-in.
    pub user_id: Option<UserId>,
    pub state: &'a Value,
    pub expires_at: DateTime<Utc>,
}

pub async fn list(connection: &mut PgConnection, user_id: UserId) -> StorageResult<Vec<ListedPasskey>> {
    Ok(fetch_all!(
        connection,
        ListedPasskey,
        "SELECT id AS passkey_id, name, created_at, last_used_at FROM passkeys WHERE user_id = $1 ORDER BY id",
        user_id.get(),
    ))
}

/// The ids of a user's passkeys. A device that has one of them refuses to create a second.
pub async fn credential_ids(connection: &mut PgConnection, user_id: UserId) -> StorageResult<Vec<Vec<u8>>> {
    Ok(fetch_scalars!(
        connection,
        "SELECT credential_id FROM passkeys WHERE user_id = $1",
        user_id.get()
    ))
}

/// `None` when the credential is already stored.
pub async fn add(connection: &mut PgConnection, new: &NewPasskey<'_>) -> StorageResult<Option<PasskeyId>> {
    Ok(fetch_optional_scalar!(
        connection,
        r#"INSERT INTO passkeys (user_id, name, credential_id, credential, created_at) VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT (credential_id) DO NOTHING
         RETURNING id AS "id: PasskeyId""#,
        new.user_id.get(),
        new.name.as_str(),
        new.credential_id,
        new.credential,
        new.created_at,
    ))
}

/// Finds and locks a passkey. Of two answers with the same counter, the second sees the first's counter.
pub async fn lock(
    connection: &mut PgConnection,
    credential_id: &[u8],
) -> StorageResult<Option<ShownPasskey>> {
    Ok(fetch_optional!(
        connection,
        ShownPasskey,
        "SELECT id AS passkey_id, user_id, credential FROM passkeys WHERE credential_id = $1 FOR UPDATE",
        credential_id,
    ))
}

pub async fn note_use(
    connection: &mut PgConnection,
    passkey_id: PasskeyId,
    credential: &Value,
    now: DateTime<Utc>,
) -> StorageResult<()> {
    execute!(
        connection,
        "UPDATE passkeys SET credential = $2, last_used_at = $3 WHERE id = $1",
        passkey_id.get(),
        credential,
        now,
    );
    Ok(())
}

/// Returns whether the user had this passkey.
pub async fn remove(
    connection: &mut PgConnection,
    user_id: UserId,
    passkey_id: PasskeyId,
) -> StorageResult<bool> {
    Ok(execute!(
        connection,
        "DELETE FROM passkeys WHERE id = $1 AND user_id = $2",
        passkey_id.get(),
        user_id.get(),
    ) == 1)
}

/// Returns how many passkeys were removed.
pub async fn remove_all(connection: &mut PgConnection, user_id: UserId) -> StorageResult<u64> {
    Ok(execute!(
        connection,
        "DELETE FROM passkeys WHERE user_id = $1",
        user_id.get()
    ))
}

/// Stores a challenge, and deletes some of those that expired without an answer.
pub async fn keep_challenge(
    connection: &mut PgConnection,
    new: &NewChallenge<'_>,
    now: DateTime<Utc>,
) -> StorageResult<()> {
    execute!(
        &mut *connection,
        "DELETE FROM passkey_challenges WHERE handle_hash IN (
             SELECT handle_hash FROM passkey_challenges WHERE expires_at <= $1 LIMIT 100 FOR UPDATE SKIP LOCKED)",
        now,
    );
    execute!(
        connection,
        "INSERT INTO passkey_challenges (handle_hash, user_id, state, expires_at) VALUES ($1, $2, $3, $4)",
        new.handle_hash.as_bytes().as_slice(),
        new.user_id.map(UserId::get),
        new.state,
        new.expires_at,
    );
    Ok(())
}

/// Takes the state of a challenge, once. `None` if it was answered, has expired, or is another user's.
pub async fn take_challenge(
    connection: &mut PgConnection,
    handle_hash: TokenHash,
    user_id: Option<UserId>,
    now: DateTime<Utc>,
) -> StorageResult<Option<Value>> {
    Ok(fetch_optional_scalar!(
        connection,
        "DELETE FROM passkey_challenges
         WHERE handle_hash = $1 AND user_id IS NOT DISTINCT FROM $2 AND expires_at > $3
         RETURNING state",
        handle_hash.as_bytes().as_slice(),
        user_id.map(UserId::get),
        now,
    ))
}
