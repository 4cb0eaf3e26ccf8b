//! Reseals all sealed secrets of an installation: authenticator apps, processors' webhook secrets, signing
//! secrets of webhook endpoints, and links in unsent e-mails.
//!
//! Each transaction reseals [`AT_ONCE`] rows in the order of their ids. A concurrent change of one of these
//! secrets waits until the transaction ends. An interrupted run can be repeated.

use sqlx::{PgConnection, PgPool};

use crate::batch::unnest;
use crate::error::StorageResult;
use domain::ids::{ProgramId, UserId, WebhookEndpointId};
use domain::people::email_content::token_purpose;
use domain::people::second_factor::AuthenticatorSecret;
use domain::processors::processor::WebhookSecret;
use domain::programs::webhook::SigningSecret;
use domain::sealed::{NONCE_BYTES, SealingKeys};

const AT_ONCE: i64 = 500;

/// The result of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Resealed {
    pub resealed: u64,
    /// Already sealed with the current key.
    pub current: u64,
    /// No key opens these secrets. They stay as they are.
    pub unreadable: u64,
}

/// Seals every secret with the current key. `nonce` returns a random value at each call.
pub async fn reseal(
    pool: &PgPool,
    keys: &SealingKeys,
    mut nonce: impl FnMut() -> [u8; NONCE_BYTES],
) -> StorageResult<Resealed> {
    let mut run = Run {
        keys,
        nonce: &mut nonce,
        found: Resealed::default(),
    };
    let mut after = i64::MIN;
    while let Some(last) = run.second_factors(pool, after).await? {
        after = last;
    }
    let mut after = i64::MIN;
    while let Some(last) = run.webhook_secrets(pool, after).await? {
        after = last;
    }
    let mut after = i64::MIN;
    while let Some(last) = run.signing_secrets(pool, after).await? {
        after = last;
    }
    let mut after = i64::MIN;
    while let Some(last) = run.email_tokens(pool, after).await? {
        after = last;
    }
    Ok(run.found)
}

struct Run<'a> {
    keys: &'a SealingKeys,
    nonce: &'a mut dyn FnMut() -> [u8; NONCE_BYTES],
    found: Resealed,
}

impl Run<'_> {
    /// The secret to store, if the sealed form changes.
    fn reseal(&mut self, sealed: &[u8], purpose: &[u8]) -> Option<Vec<u8>> {
        match self.keys.reseal(sealed, purpose, (self.nonce)()) {
            Ok(Some(resealed)) => {
                self.found.resealed += 1;
                Some(resealed)
            }
            Ok(None) => {
                self.found.current += 1;
                None
            }
            Err(_) => {
                self.found.unreadable += 1;
                None
            }
        }
    }

    /// Reseals secrets of users after this id. Returns the last user's id, `None` when no users are left.
    async fn second_factors(&mut self, pool: &PgPool, after: i64) -> StorageResult<Option<i64>> {
        let mut transaction = pool.begin().await?;
        let rows = sqlx::query!(
            "SELECT user_id, secret_sealed FROM second_factors WHERE user_id > $1 ORDER BY user_id LIMIT $2 FOR UPDATE",
            after,
            AT_ONCE,
        )
        .fetch_all(&mut *transaction)
        .await?;
        let resealed: Vec<(i64, Vec<u8>)> = rows
            .iter()
            .filter_map(|row| {
                let purpose = AuthenticatorSecret::purpose(UserId::new(row.user_id));
                Some((row.user_id, self.reseal(&row.secret_sealed, &purpose)?))
            })
            .collect();
        unnest!(
            query,
            "UPDATE second_factors f SET secret_sealed = r.sealed
             FROM UNNEST($1::bigint[], $2::bytea[]) AS r (user_id, sealed) WHERE f.user_id = r.user_id",
            (user_id, sealed) in resealed =>
                users: i64 = *user_id,
                secrets: &[u8] = sealed.as_slice()
        )
        .execute(&mut *transaction)
        .await?;
        transaction.commit().await?;
        Ok(rows.last().map(|row| row.user_id))
    }

    /// Reseals secrets of e-mails after this id. Returns the last e-mail's id, `None` when no e-mails are
    /// left.
    async fn email_tokens(&mut self, pool: &PgPool, after: i64) -> StorageResult<Option<i64>> {
        let mut transaction = pool.begin().await?;
        let rows = sqlx::query!(
            r#"SELECT id, message_id, token_sealed AS "token_sealed!" FROM emails
               WHERE id > $1 AND token_sealed IS NOT NULL ORDER BY id LIMIT $2 FOR UPDATE"#,
            after,
            AT_ONCE,
        )
        .fetch_all(&mut *transaction)
        .await?;
        let resealed: Vec<(i64, Vec<u8>)> = rows
            .iter()
            .filter_map(|row| {
                let purpose = token_purpose(row.message_id);
                Some((row.id, self.reseal(&row.token_sealed, &purpose)?))
            })
            .collect();
        unnest!(
            query,
            "UPDATE emails e SET token_sealed = r.sealed
             FROM UNNEST($1::bigint[], $2::bytea[]) AS r (id, sealed) WHERE e.id = r.id",
            (id, sealed) in resealed =>
                ids: i64 = *id,
                tokens: &[u8] = sealed.as_slice()
        )
        .execute(&mut *transaction)
        .await?;
        transaction.commit().await?;
        Ok(rows.last().map(|row| row.id))
    }

    /// Reseals secrets of programs after this id. Returns the last program's id, `None` when no programs are
    /// left.
    async fn webhook_secrets(&mut self, pool: &PgPool, after: i64) -> StorageResult<Option<i64>> {
        let mut transaction = pool.begin().await?;
        let rows = sqlx::query!(
            "SELECT program_id, webhook_secret_sealed, previous_webhook_secret_sealed
             FROM processor_connections WHERE program_id > $1 ORDER BY program_id LIMIT $2 FOR UPDATE",
            after,
            AT_ONCE,
        )
        .fetch_all(&mut *transaction)
        .await?;
        for row in &rows {
            let purpose = WebhookSecret::purpose(ProgramId::new(row.program_id));
            let mut resealed =
                |sealed: &Option<Vec<u8>>| sealed.as_ref().and_then(|sealed| self.reseal(sealed, &purpose));
            let secret = resealed(&row.webhook_secret_sealed);
            let previous = resealed(&row.previous_webhook_secret_sealed);
            if secret.is_some() || previous.is_some() {
                replace(&mut transaction, row.program_id, secret, previous).await?;
            }
        }
        transaction.commit().await?;
        Ok(rows.last().map(|row| row.program_id))
    }

    /// Reseals secrets of endpoints after this id. Returns the last endpoint's id, `None` when no endpoints
    /// are left.
    async fn signing_secrets(&mut self, pool: &PgPool, after: i64) -> StorageResult<Option<i64>> {
        let mut transaction = pool.begin().await?;
        let rows = sqlx::query!(
            "SELECT id, secret_sealed, previous_secret_sealed
             FROM webhook_endpoints WHERE id > $1 ORDER BY id LIMIT $2 FOR NO KEY UPDATE",
            after,
            AT_ONCE,
        )
        .fetch_all(&mut *transaction)
        .await?;
        let mut resealed = Vec::new();
        for row in &rows {
            let purpose = SigningSecret::purpose(WebhookEndpointId::new(row.id));
            let secret = self.reseal(&row.secret_sealed, &purpose);
            let previous = row.previous_secret_sealed.as_ref();
            let previous = previous.and_then(|sealed| self.reseal(sealed, &purpose));
            if secret.is_some() || previous.is_some() {
                resealed.push((row.id, secret, previous));
            }
        }
        unnest!(
            query,
            "UPDATE webhook_endpoints w
             SET secret_sealed = coalesce(r.secret, w.secret_sealed),
                 previous_secret_sealed = coalesce(r.previous, w.previous_secret_sealed)
             FROM UNNEST($1::bigint[], $2::bytea[], $3::bytea[]) AS r (endpoint_id, secret, previous) WHERE w.id = r.endpoint_id",
            (endpoint_id, secret, previous) in resealed =>
                endpoints: i64 = *endpoint_id,
                secrets: Option<&[u8]> = secret.as_deref(),
                previous_secrets: Option<&[u8]> = previous.as_deref()
        )
        .execute(&mut *transaction)
        .await?;
        transaction.commit().await?;
        Ok(rows.last().map(|row| row.id))
    }
}

/// Stores resealed secrets. `None` leaves a secret as it is.
async fn replace(
    connection: &mut PgConnection,
    program_id: i64,
    secret: Option<Vec<u8>>,
    previous: Option<Vec<u8>>,
) -> StorageResult<()> {
    sqlx::query!(
        "UPDATE processor_connections
         SET webhook_secret_sealed = coalesce($2, webhook_secret_sealed),
             previous_webhook_secret_sealed = coalesce($3, previous_webhook_secret_sealed)
         WHERE program_id = $1",
        program_id,
        secret,
        previous,
    )
    .execute(connection)
    .await?;
    Ok(())
}
