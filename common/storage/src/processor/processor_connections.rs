//! `processor_connections`: a program's account at its payment processor. Its secrets are stored sealed.

use std::collections::HashSet;

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::error::{StorageError, StorageResult};
use domain::ids::{EventId, ProgramId};
use domain::processors::processor::{ConnectionStatus, ProcessorId, WebhookSecret};
use domain::sealed::{SealError, SealingKeys};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Connection {
    pub account_id: ProcessorId,
    pub webhook_endpoint_id: Option<ProcessorId>,
    pub status: ConnectionStatus,
    pub charges_enabled: bool,
    pub payouts_enabled: bool,
    pub connected_at: Option<DateTime<Utc>>,
    /// When an operator confirmed that the account belongs to the program. Before that the program does not
    /// receive the platform's events.
    pub confirmed_at: Option<DateTime<Utc>>,
    pub secret: Option<SealedSecret>,
    /// The previous secret, and until when it is accepted.
    pub previous: Option<(SealedSecret, DateTime<Utc>)>,
}

impl Connection {
    /// The secrets that may have signed a webhook now: the current and, while accepted, the previous one.
    pub fn accepted_secrets(
        &self,
        keys: &SealingKeys,
        program_id: ProgramId,
        now: DateTime<Utc>,
    ) -> StorageResult<Vec<WebhookSecret>> {
        let previous = self
            .previous
            .as_ref()
            .filter(|(_, until)| now < *until)
            .map(|(secret, _)| secret);
        self.secret
            .iter()
            .chain(previous)
            .map(|secret| secret.open(keys, program_id))
            .collect()
    }
}

/// A webhook secret that only the installation's keys open, and only for its program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SealedSecret(Vec<u8>);

impl SealedSecret {
    /// `nonce` is random.
    pub fn seal(
        keys: &SealingKeys,
        program_id: ProgramId,
        secret: &WebhookSecret,
        nonce: [u8; 24],
    ) -> Result<Self, SealError> {
        let purpose = WebhookSecret::purpose(program_id);
        keys.seal(secret.expose().as_bytes(), &purpose, nonce).map(Self)
    }

    /// Fails for a secret of another program, and for one sealed with a key that was removed.
    pub fn open(&self, keys: &SealingKeys, program_id: ProgramId) -> StorageResult<WebhookSecret> {
        let unreadable =
            || StorageError::corrupt("processor_connections", "webhook_secret_sealed", program_id.get());
        let opened = keys
            .open(&self.0, &WebhookSecret::purpose(program_id))
            .map_err(|_| unreadable())?;
        let text = String::from_utf8(opened).map_err(|_| unreadable())?;
        WebhookSecret::parse(&text).map_err(|_| unreadable())
    }
}

struct Row {
    program_id: i64,
    account_id: String,
    webhook_endpoint_id: Option<String>,
    status: String,
    charges_enabled: bool,
    payouts_enabled: bool,
    connected_at: Option<DateTime<Utc>>,
    confirmed_at: Option<DateTime<Utc>>,
    webhook_secret_sealed: Option<Vec<u8>>,
    previous_webhook_secret_sealed: Option<Vec<u8>>,
    previous_webhook_secret_until: Option<DateTime<Utc>>,
}

impl Row {
    fn connection(self) -> StorageResult<Connection> {
        let corrupt = |column| StorageError::corrupt("processor_connections", column, self.program_id);
        Ok(Connection {
            account_id: ProcessorId::parse(&self.account_id).map_err(|_| corrupt("account_id"))?,
            webhook_endpoint_id: self
                .webhook_endpoint_id
                .map(|id| ProcessorId::parse(&id).map_err(|_| corrupt("webhook_endpoint_id")))
                .transpose()?,
            status: ConnectionStatus::parse(&self.status).ok_or_else(|| corrupt("status"))?,
            charges_enabled: self.charges_enabled,
            payouts_enabled: self.payouts_enabled,
            connected_at: self.connected_at,
            confirmed_at: self.confirmed_at,
            secret: self.webhook_secret_sealed.map(SealedSecret),
            previous: self
                .previous_webhook_secret_sealed
                .map(SealedSecret)
                .zip(self.previous_webhook_secret_until),
        })
    }
}

pub async fn find(connection: &mut PgConnection, program_id: ProgramId) -> StorageResult<Option<Connection>> {
    let mut found = find_all(connection, &[program_id]).await?;
    found.pop().map(|(_, connection)| connection).transpose()
}

/// The connections of these programs. An unreadable row is an error of its own program only.
pub async fn find_all(
    connection: &mut PgConnection,
    program_ids: &[ProgramId],
) -> StorageResult<Vec<(ProgramId, StorageResult<Connection>)>> {
    let ids: Vec<i64> = program_ids.iter().map(|program_id| program_id.get()).collect();
    let rows = fetch_all!(
        connection,
        Row,
        "SELECT program_id, account_id, webhook_endpoint_id, status, charges_enabled, payouts_enabled, connected_at,
                confirmed_at, webhook_secret_sealed, previous_webhook_secret_sealed, previous_webhook_secret_until
         FROM processor_connections WHERE program_id = ANY($1)",
        &ids,
    );
    Ok(rows
        .into_iter()
        .map(|row| (ProgramId::new(row.program_id), row.connection()))
        .collect())
}

/// Serialises changes of a program's connection, even if there is none yet: the second sees the first.
pub async fn lock(connection: &mut PgConnection, program_id: ProgramId) -> StorageResult<()> {
    fetch_optional!(
        connection,
        "SELECT id FROM programs WHERE id = $1 FOR NO KEY UPDATE",
        program_id.get()
    );
    Ok(())
}

pub async fn save(
    connection: &mut PgConnection,
    program_id: ProgramId,
    new: &Connection,
    now: DateTime<Utc>,
) -> StorageResult<()> {
    let (previous, until) = new
        .previous
        .as_ref()
        .map(|(secret, until)| (secret.0.as_slice(), *until))
        .unzip();
    execute!(
        connection,
        "INSERT INTO processor_connections (program_id, account_id, webhook_endpoint_id, status, charges_enabled,
             payouts_enabled, connected_at, confirmed_at, webhook_secret_sealed, previous_webhook_secret_sealed,
             previous_webhook_secret_until, updated_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
         ON CONFLICT (program_id) DO UPDATE SET account_id = excluded.account_id,
             webhook_endpoint_id = excluded.webhook_endpoint_id, status = excluded.status,
             charges_enabled = excluded.charges_enabled, payouts_enabled = excluded.payouts_enabled,
             connected_at = excluded.connected_at, confirmed_at = excluded.confirmed_at,
             webhook_secret_sealed = excluded.webhook_secret_sealed,
             previous_webhook_secret_sealed = excluded.previous_webhook_secret_sealed,
             previous_webhook_secret_until = excluded.previous_webhook_secret_until,
             updated_at = excluded.updated_at,
             account_told_at = CASE WHEN processor_connections.account_id = excluded.account_id
                                    THEN processor_connections.account_told_at END",
        program_id.get(),
        new.account_id.as_str(),
        new.webhook_endpoint_id.as_ref().map(ProcessorId::as_str),
        new.status.as_str(),
        new.charges_enabled,
        new.payouts_enabled,
        new.connected_at,
        new.confirmed_at,
        new.secret.as_ref().map(|secret| secret.0.as_slice()),
        previous,
        until,
        now,
    );
    Ok(())
}

/// Deletes the account and its secrets. `false` when the program had no connection.
pub async fn remove(connection: &mut PgConnection, program_id: ProgramId) -> StorageResult<bool> {
    Ok(execute!(
        connection,
        "DELETE FROM processor_connections WHERE program_id = $1",
        program_id.get()
    ) > 0)
}

/// The state of a program's account, as the processor reports it.
#[derive(Debug, Clone)]
pub struct AccountReport {
    pub event_id: EventId,
    pub program_id: ProgramId,
    pub reported_at: DateTime<Utc>,
    pub status: ConnectionStatus,
    pub charges_enabled: bool,
    pub payouts_enabled: bool,
    pub details_submitted: bool,
}

/// Records a report, unless a newer one is stored or the program now has another account.
pub async fn record(connection: &mut PgConnection, report: &AccountReport) -> StorageResult<()> {
    execute!(
        connection,
        "UPDATE processor_connections c
         SET status = $3, charges_enabled = $4, payouts_enabled = $5, details_submitted = $6, account_told_at = $7,
             connected_at = CASE WHEN $8 THEN coalesce(c.connected_at, $7) END
         WHERE c.program_id = $1 AND (c.account_told_at IS NULL OR c.account_told_at < $7)
           AND NOT EXISTS (SELECT 1 FROM processor_events e WHERE e.event_id = $2 AND e.account_id <> c.account_id)",
        report.program_id.get(),
        report.event_id.get(),
        report.status.as_str(),
        report.charges_enabled,
        report.payouts_enabled,
        report.details_submitted,
        report.reported_at,
        report.status == ConnectionStatus::Connected,
    );
    Ok(())
}

/// The secrets that may have signed a program's webhook at this time: the current one, and the previous one
/// while it is accepted. Empty when the program has no connection, or no secret.
pub async fn secrets(
    connection: &mut PgConnection,
    keys: &SealingKeys,
    program_id: ProgramId,
    now: DateTime<Utc>,
) -> StorageResult<Vec<WebhookSecret>> {
    match find(connection, program_id).await? {
        Some(found) => found.accepted_secrets(keys, program_id, now),
        None => Ok(Vec::new()),
    }
}

/// The programs that receive the platform's events of an account: connected and confirmed, ascending.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BoundPrograms {
    pub taking_sales: Vec<ProgramId>,
    /// Archived programs. Their sales can still be refunded.
    pub archived: Vec<ProgramId>,
}

pub async fn programs_of(
    connection: &mut PgConnection,
    account_id: &ProcessorId,
) -> StorageResult<BoundPrograms> {
    let programs = fetch_all!(
        connection,
        r#"SELECT program_id AS "program_id!", archived AS "archived!"
           FROM receiving_connections WHERE account_id = $1 ORDER BY program_id"#,
        account_id.as_str(),
    );
    let mut bound = BoundPrograms::default();
    for row in programs {
        let among = if row.archived {
            &mut bound.archived
        } else {
            &mut bound.taking_sales
        };
        among.push(ProgramId::new(row.program_id));
    }
    Ok(bound)
}

/// The programs that receive the platform's events of their accounts.
pub async fn receiving(
    connection: &mut PgConnection,
    program_ids: &[ProgramId],
) -> StorageResult<HashSet<ProgramId>> {
    let ids: Vec<i64> = program_ids.iter().map(|program_id| program_id.get()).collect();
    let receiving = fetch_scalars!(
        connection,
        r#"SELECT program_id AS "program_id!" FROM receiving_connections WHERE program_id = ANY($1)"#,
        &ids,
    );
    Ok(receiving.into_iter().map(ProgramId::new).collect())
}
