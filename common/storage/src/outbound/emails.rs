//! `emails`: one row for each e-mail. The row is written in the transaction of the event that it reports, and
//! a worker sends it. `stopped_addresses`: addresses that receive no e-mails.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::Value;
use sqlx::types::Json;
use sqlx::{PgConnection, PgPool};
use uuid::Uuid;

use crate::batch::array_literal;
use crate::error::{StorageError, StorageResult};
use domain::ids::WorkspaceId;
use domain::people::account::EmailAddress;
use domain::people::email_content::EmailContent;
use domain::tracking::lead::EmailHash;

/// Maximum number of e-mails of one kind to one address within an hour: strangers can cause some of them.
const AN_HOUR: i64 = 5;
/// Maximum number of invitations to one address within an hour, of which one workspace may send [`AN_HOUR`].
/// So one workspace neither uses up the limit of the others nor learns about their invitations.
const INVITATIONS_AN_HOUR: i64 = 20;

#[derive(Debug)]
pub struct NewEmail<'a> {
    /// Generated when the e-mail is written.
    pub message_id: Uuid,
    pub recipient: &'a EmailAddress,
    /// One hash for each key, the current key first.
    pub recipient_hashes: &'a [EmailHash],
    pub content: &'a EmailContent,
    pub token_sealed: Option<&'a [u8]>,
    /// The inviting workspace, for invitations.
    pub invited_by: Option<WorkspaceId>,
    pub created_at: DateTime<Utc>,
}

/// Writes an e-mail that will be sent. `false` when the address is stopped, or has reached its hourly limit
/// for this kind. Must run in a transaction.
pub async fn add(connection: &mut PgConnection, new: &NewEmail<'_>) -> StorageResult<bool> {
    let hashes = texts(new.recipient_hashes);
    let most = if new.invited_by.is_some() {
        INVITATIONS_AN_HOUR
    } else {
        AN_HOUR
    };
    // One transaction at a time for each address: two concurrent counts could both pass the limit.
    execute!(
        &mut *connection,
        "SELECT pg_advisory_xact_lock(hashtextextended('e-mails to ' || $1::text, 0))",
        hashes.first(),
    );
    Ok(execute!(
        connection,
        "INSERT INTO emails (message_id, kind, recipient, recipient_hash, content, token_sealed, created_at, expires_at, due_at, workspace_id)
         SELECT $1, $2, $3, $4, $5, $6, $7, $8, $7, $11
         WHERE NOT EXISTS (SELECT FROM stopped_addresses WHERE recipient_hash = ANY($9))
           AND (SELECT count(*) < $12 AND count(*) FILTER (WHERE workspace_id = $11) < $13
                FROM emails WHERE recipient_hash = ANY($9) AND kind = $2 AND created_at > $10)",
        new.message_id,
        new.content.kind().as_str(),
        new.recipient.as_str(),
        hashes.first(),
        Json(new.content) as _,
        new.token_sealed,
        new.created_at,
        new.content.worth_sending_until(new.created_at),
        &hashes,
        new.created_at - TimeDelta::hours(1),
        new.invited_by.map(WorkspaceId::get),
        most,
        AN_HOUR,
    ) == 1)
}

/// Writes a batch of e-mails that no outsider can cause, so they have no hourly limit. Stopped addresses are
/// left out. Returns how many e-mails will be sent.
pub async fn add_batch(connection: &mut PgConnection, emails: &[NewEmail<'_>]) -> StorageResult<u64> {
    if emails.is_empty() {
        return Ok(0);
    }
    let contents = emails
        .iter()
        .map(|new| serde_json::to_value(new.content))
        .collect::<Result<Vec<Value>, _>>()
        .map_err(|error| sqlx::Error::Encode(error.into()))?;
    let rows: Vec<_> = emails.iter().zip(&contents).collect();
    Ok(write_batch!(
        connection,
        "INSERT INTO emails (message_id, kind, recipient, recipient_hash, content, token_sealed, created_at, expires_at, due_at)
         SELECT n.message_id, n.kind, n.recipient, n.hashes[1], n.content, n.token_sealed, n.created_at, n.expires_at, n.created_at
         FROM (SELECT message_id, kind, recipient, hashes::text[], content, token_sealed, created_at, expires_at
               FROM UNNEST($1::uuid[], $2::text[], $3::text[], $4::text[], $5::jsonb[], $6::bytea[], $7::timestamptz[], $8::timestamptz[])
                    AS b (message_id, kind, recipient, hashes, content, token_sealed, created_at, expires_at)) n
         WHERE NOT EXISTS (SELECT FROM stopped_addresses s WHERE s.recipient_hash = ANY(n.hashes))",
        (new, content) in rows =>
            message_ids: Uuid = new.message_id,
            kinds: &str = new.content.kind().as_str(),
            recipients: &str = new.recipient.as_str(),
            hashes: String = array_literal(texts(new.recipient_hashes)),
            contents: &Value = content,
            tokens: Option<&[u8]> = new.token_sealed,
            created: DateTime<Utc> = new.created_at,
            expire: DateTime<Utc> = new.content.worth_sending_until(new.created_at)
    ))
}

#[derive(Debug)]
pub struct DueEmail {
    pub id: i64,
    pub message_id: Uuid,
    pub recipient: EmailAddress,
    pub recipient_hash: EmailHash,
    pub content: EmailContent,
    pub token_sealed: Option<Vec<u8>>,
    pub created_at: DateTime<Utc>,
    pub expires_at: DateTime<Utc>,
    /// Includes this attempt.
    pub attempts: i16,
    /// The address was stopped after the e-mail had been written.
    pub stopped: bool,
}

/// Leases due e-mails, oldest first. After `lease` they are due again, even if the sender crashed.
pub async fn take_due(
    pool: &PgPool,
    now: DateTime<Utc>,
    lease: Duration,
    limit: i64,
) -> StorageResult<Vec<StorageResult<DueEmail>>> {
    Ok(sqlx::query!(
        r#"UPDATE emails e SET due_at = $1 + make_interval(secs => $2), attempts = attempts + 1
           WHERE id IN (SELECT id FROM emails WHERE state = 'waiting' AND due_at <= $1 ORDER BY due_at, id LIMIT $3
                        FOR UPDATE SKIP LOCKED)
           RETURNING id, message_id, recipient AS "recipient!", recipient_hash, content AS "content!", token_sealed, created_at,
                     expires_at, attempts,
                     EXISTS (SELECT FROM stopped_addresses s WHERE s.recipient_hash = e.recipient_hash) AS "stopped!""#,
        now,
        lease.as_secs_f64(),
        limit,
    )
    .map(|row| {
        let corrupt = |column| StorageError::corrupt("emails", column, row.id);
        Ok(DueEmail {
            id: row.id,
            message_id: row.message_id,
            recipient: EmailAddress::parse(&row.recipient).map_err(|_| corrupt("recipient"))?,
            recipient_hash: EmailHash::try_from(row.recipient_hash).map_err(|_| corrupt("recipient_hash"))?,
            content: serde_json::from_value(row.content).map_err(|_| corrupt("content"))?,
            token_sealed: row.token_sealed,
            created_at: row.created_at,
            expires_at: row.expires_at,
            attempts: row.attempts,
            stopped: row.stopped,
        })
    })
    .fetch_all(pool)
    .await?)
}

domain::text_enum! {
    pub enum EmailEnd {
        Sent = "sent",
        /// No attempt succeeded in time, or the mail server refused the content.
        GivenUp = "given_up",
        Stopped = "stopped",
    }
}

/// Ends an e-mail and deletes its recipient and content.
pub async fn finish(
    pool: &PgPool,
    id: i64,
    end: EmailEnd,
    reply_code: Option<i16>,
    now: DateTime<Utc>,
) -> StorageResult<()> {
    execute!(
        pool,
        "UPDATE emails SET state = $2, reply_code = $3, finished_at = $4, recipient = NULL, content = NULL, token_sealed = NULL
         WHERE id = $1 AND state = 'waiting'",
        id,
        end.as_str(),
        reply_code,
        now,
    );
    Ok(())
}

pub async fn postpone(
    pool: &PgPool,
    id: i64,
    due_at: DateTime<Utc>,
    reply_code: Option<i16>,
) -> StorageResult<()> {
    execute!(
        pool,
        "UPDATE emails SET due_at = $2, reply_code = coalesce($3, reply_code) WHERE id = $1 AND state = 'waiting'",
        id,
        due_at,
        reply_code,
    );
    Ok(())
}

/// Ends an e-mail whose address the mail server refused, and stops the address.
pub async fn stop(
    pool: &PgPool,
    id: i64,
    recipient_hash: &EmailHash,
    reply_code: i16,
    now: DateTime<Utc>,
) -> StorageResult<()> {
    let mut transaction = pool.begin().await?;
    execute!(
        &mut *transaction,
        "INSERT INTO stopped_addresses (recipient_hash, stopped_at, reply_code) VALUES ($1, $2, $3)
         ON CONFLICT (recipient_hash) DO UPDATE SET stopped_at = excluded.stopped_at, reply_code = excluded.reply_code",
        recipient_hash.as_str(),
        now,
        reply_code,
    );
    execute!(
        &mut *transaction,
        "UPDATE emails SET state = 'stopped', reply_code = $2, finished_at = $3, recipient = NULL, content = NULL, token_sealed = NULL
         WHERE id = $1 AND state = 'waiting'",
        id,
        reply_code,
        now,
    );
    Ok(transaction.commit().await?)
}

/// Allows e-mails to an address again. `false` when the address was not stopped.
pub async fn lift(connection: &mut PgConnection, recipient_hashes: &[EmailHash]) -> StorageResult<bool> {
    Ok(execute!(
        connection,
        "DELETE FROM stopped_addresses WHERE recipient_hash = ANY($1)",
        &texts(recipient_hashes)
    ) > 0)
}

/// Counts of e-mails that wait, and of finished ones that are still stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmailStatus {
    pub waiting: i64,
    pub oldest_waiting: Option<DateTime<Utc>>,
    /// Failed attempts of the e-mails that still wait.
    pub failed_attempts: i64,
    pub sent: i64,
    pub given_up: i64,
    pub stopped: i64,
    pub stopped_addresses: i64,
}

pub async fn status(connection: &mut PgConnection) -> StorageResult<EmailStatus> {
    Ok(fetch_one!(
        connection,
        EmailStatus,
        r#"SELECT count(*) FILTER (WHERE state = 'waiting') AS "waiting!",
                  min(created_at) FILTER (WHERE state = 'waiting') AS oldest_waiting,
                  coalesce(sum(attempts) FILTER (WHERE state = 'waiting'), 0) AS "failed_attempts!",
                  count(*) FILTER (WHERE state = 'sent') AS "sent!",
                  count(*) FILTER (WHERE state = 'given_up') AS "given_up!",
                  count(*) FILTER (WHERE state = 'stopped') AS "stopped!",
                  (SELECT count(*) FROM stopped_addresses) AS "stopped_addresses!"
           FROM emails"#
    ))
}

/// For metrics.
#[derive(Debug, Clone, Copy)]
pub struct WaitingEmails {
    pub waiting: i64,
    pub oldest: Option<DateTime<Utc>>,
}

pub async fn waiting(connection: &mut PgConnection) -> StorageResult<WaitingEmails> {
    Ok(fetch_one!(
        connection,
        WaitingEmails,
        r#"SELECT count(*) AS "waiting!", min(created_at) AS oldest FROM emails WHERE state = 'waiting'"#
    ))
}

/// Gives up expired e-mails that no process is sending, so that none of their content is kept. Bounded.
pub async fn give_up_expired(pool: &PgPool, now: DateTime<Utc>, limit: i64) -> StorageResult<u64> {
    Ok(execute!(
        pool,
        "UPDATE emails SET state = 'given_up', finished_at = $1, recipient = NULL, content = NULL, token_sealed = NULL
         WHERE id IN (SELECT id FROM emails WHERE state = 'waiting' AND expires_at <= $1 AND due_at <= $1 ORDER BY id LIMIT $2
                      FOR UPDATE SKIP LOCKED)",
        now,
        limit,
    ))
}

pub async fn forget(pool: &PgPool, before: DateTime<Utc>, limit: i64) -> StorageResult<u64> {
    forget!(
        pool,
        "emails",
        "id",
        "state <> 'waiting' AND finished_at < $1 ORDER BY finished_at",
        before,
        limit
    )
}

fn texts(hashes: &[EmailHash]) -> Vec<String> {
    hashes.iter().map(|hash| hash.as_str().to_owned()).collect()
}
