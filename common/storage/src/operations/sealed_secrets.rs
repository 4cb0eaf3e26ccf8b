//! Reseals all sealed secrets of an installation: authenticator apps, processors' webhook secrets, signing
//! secrets of webhook endpoints, and links in unsent e-mails.
//!
//! Each transaction reseals [`AT_ONCE`] rows in the order of their ids. A concurrent change of one of these
//! secrets waits until the transaction ends. An interrupted run can be repeated.

use sqlx::PgPool;

use crate::error::StorageResult;
use domain::ids::{ProgramId, UserId, WebhookEndpointId};
use domain::people::email_content::token_purpose;
use domain::people::second_factor::AuthenticatorSecret;
use domain::processors::processor::WebhookSecret;
use domain::programs::webhook::SigningSecret;
use domain::sealed::{NONCE_BYTES, SealingKeys};

const AT_ONCE: i64 = 500;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Resealed {
    pub resealed: u64,
    /// Already sealed with the current key.
    pub current: u64,
    /// No key opens these secrets. They stay as they are.
    pub unreadable: u64,
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
}

/// Reseals the secrets in one column of a table. `selected` are the columns that identify the secret's
/// purpose; the first of them is the table's key, and is named `id`.
macro_rules! reseal_column {
    ($run:expr, $pool:expr, $table:literal, $key:literal, $column:literal, $selected:literal,
     $row:ident => $purpose:expr) => {{
        let mut after = Some(i64::MIN);
        while let Some(id) = after {
            let mut transaction = $pool.begin().await?;
            let rows = fetch_all!(
                &mut *transaction,
                "SELECT " + $selected + ", " + $column + r#" AS "sealed!" FROM "# + $table
                    + " WHERE " + $key + " > $1 AND " + $column + " IS NOT NULL ORDER BY " + $key
                    + " LIMIT $2 FOR NO KEY UPDATE",
                id,
                AT_ONCE,
            );
            let resealed: Vec<(i64, Vec<u8>)> = rows
                .iter()
                .filter_map(|$row| Some(($row.id, $run.reseal(&$row.sealed, &$purpose)?)))
                .collect();
            columns!((id, sealed) in resealed =>
                ids: i64 = *id,
                secrets: &[u8] = sealed.as_slice()
            );
            execute!(
                &mut *transaction,
                "UPDATE " + $table + " t SET " + $column
                    + " = r.sealed FROM UNNEST($1::bigint[], $2::bytea[]) AS r (id, sealed) WHERE t." + $key + " = r.id",
                &ids,
                &secrets as &[&[u8]],
            );
            transaction.commit().await?;
            after = rows.last().map(|row| row.id);
        }
    }};
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
    reseal_column!(run, pool, "second_factors", "user_id", "secret_sealed", "user_id AS id",
        row => AuthenticatorSecret::purpose(UserId::new(row.id)));
    reseal_column!(run, pool, "processor_connections", "program_id", "webhook_secret_sealed", "program_id AS id",
        row => WebhookSecret::purpose(ProgramId::new(row.id)));
    reseal_column!(run, pool, "processor_connections", "program_id", "previous_webhook_secret_sealed", "program_id AS id",
        row => WebhookSecret::purpose(ProgramId::new(row.id)));
    reseal_column!(run, pool, "webhook_endpoints", "id", "secret_sealed", "id",
        row => SigningSecret::purpose(WebhookEndpointId::new(row.id)));
    reseal_column!(run, pool, "webhook_endpoints", "id", "previous_secret_sealed", "id",
        row => SigningSecret::purpose(WebhookEndpointId::new(row.id)));
    reseal_column!(run, pool, "emails", "id", "token_sealed", "id, message_id",
        row => token_purpose(row.message_id));
    Ok(run.found)
}
