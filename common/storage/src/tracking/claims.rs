//! `transaction_claims`: which event first claimed a transaction_id, and the remaining work on its sale.

use std::collections::BTreeMap;
use std::time::Duration;

use chrono::{DateTime, Utc};
use sqlx::{PgConnection, PgExecutor, PgPool};
use uuid::Uuid;

use crate::error::{StorageError, StorageResult, expect_rows};
use domain::ids::{EventId, ProgramId, SaleId};

#[derive(Debug, Clone)]
pub struct NewClaim {
    pub transaction_id: String,
    pub program_id: ProgramId,
    pub event_id: EventId,
    /// The reply inbox that waits for the outcome, if any.
    pub reply_to: Option<String>,
    /// JSON text of the record to publish.
    pub payload: String,
}

/// Claims a batch in one statement, and returns for each claim whether it was won. If two claims in the batch
/// have the same transaction_id, the first wins.
///
/// The call may be repeated when it is unknown whether it committed: a row that this event already holds
/// counts as won. (That update touches only rows of this event, and no rows at the first call.)
pub async fn claim(executor: impl PgExecutor<'_>, claims: &[NewClaim]) -> StorageResult<Vec<bool>> {
    let mut first_of_id: Vec<&NewClaim> = claims.iter().collect();
    // A stable sort keeps arrival order within one id, and ascending ids avoid deadlocks between batches.
    first_of_id.sort_by(|a, b| a.transaction_id.cmp(&b.transaction_id));
    first_of_id.dedup_by(|later, earlier| later.transaction_id == earlier.transaction_id);
    let won = unnest!(
        query_scalar,
        "INSERT INTO transaction_claims (transaction_id, program_id, event_id, reply_to, payload)
         SELECT * FROM UNNEST($1::text[], $2::bigint[], $3::uuid[], $4::text[], $5::text[])
         ON CONFLICT (transaction_id) DO UPDATE SET reply_to = excluded.reply_to
         WHERE transaction_claims.event_id = excluded.event_id
         RETURNING event_id",
        claim in first_of_id =>
            transaction_ids: &str = claim.transaction_id.as_str(),
            programs: i64 = claim.program_id.get(),
            events: Uuid = claim.event_id.get(),
            replies: Option<&str> = claim.reply_to.as_deref(),
            payloads: &str = claim.payload.as_str()
    )
    .fetch_all(executor)
    .await?;
    let won: std::collections::HashSet<Uuid> = won.into_iter().collect();
    Ok(claims
        .iter()
        .map(|claim| won.contains(&claim.event_id.get()))
        .collect())
}

/// Claims lost to another program. Either the ids collide, or a program uses transaction_ids of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Conflicts {
    /// The program whose claims were lost.
    pub program_id: ProgramId,
    pub held_by: ProgramId,
    pub claims: i64,
}

/// Counts the lost claims that other programs hold, by both programs.
pub async fn conflicts(executor: impl PgExecutor<'_>, lost: &[&NewClaim]) -> StorageResult<Vec<Conflicts>> {
    if lost.is_empty() {
        return Ok(Vec::new());
    }
    Ok(unnest!(
        query_as,
        Conflicts,
        r#"SELECT lost.program_id AS "program_id!", held.program_id AS held_by, count(*) AS "claims!"
           FROM UNNEST($1::text[], $2::bigint[]) AS lost (transaction_id, program_id)
           JOIN transaction_claims held USING (transaction_id)
           WHERE held.program_id <> lost.program_id
           GROUP BY 1, 2
           ORDER BY 1, 2"#,
        claim in lost =>
            transaction_ids: &str = claim.transaction_id.as_str(),
            programs: i64 = claim.program_id.get()
    )
    .fetch_all(executor)
    .await?)
}

/// The existing claim of a transaction_id, for a caller that lost the claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    pub transaction_id: String,
    pub program_id: ProgramId,
    pub event_id: EventId,
    pub state: ClaimState,
    /// Also set when the claim is reopened.
    pub claimed_at: DateTime<Utc>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClaimState {
    /// A worker has it, or will receive it.
    Open,
    Recorded(SaleId),
    /// The sale could not be processed; it is in `dead_letters`.
    Dead,
}

/// Locks the existing claims of `transaction_ids`, in ascending order.
pub async fn lock(connection: &mut PgConnection, transaction_ids: &[&str]) -> StorageResult<Vec<Claim>> {
    let rows = fetch_all!(
        connection,
        "SELECT transaction_id, program_id, event_id, state, sale_id, claimed_at
         FROM transaction_claims
         WHERE transaction_id = ANY($1)
         ORDER BY transaction_id
         FOR UPDATE",
        transaction_ids as &[&str],
    );
    rows.into_iter()
        .map(|row| {
            let state = match (row.state.as_str(), row.sale_id) {
                ("open", None) => ClaimState::Open,
                ("recorded", Some(sale_id)) => ClaimState::Recorded(SaleId::new(sale_id)),
                ("dead", None) => ClaimState::Dead,
                _ => {
                    return Err(StorageError::corrupt(
                        "transaction_claims",
                        "state",
                        row.transaction_id,
                    ));
                }
            };
            Ok(Claim {
                transaction_id: row.transaction_id,
                program_id: ProgramId::new(row.program_id),
                event_id: EventId::new(row.event_id),
                state,
                claimed_at: row.claimed_at,
            })
        })
        .collect()
}

/// Reports about payments that arrived before their sales were recorded. Rare.
#[derive(Debug, Clone, Copy, Default)]
pub struct PendingFacts {
    /// The processor reported some of the payments' names.
    pub names: bool,
    /// Refunds are parked until the sale is recorded.
    pub refunds: bool,
}

/// Whether processor ids or refunds arrived before the sales of these locked claims. Later ones wait.
pub async fn pending_facts(
    connection: &mut PgConnection,
    claims: &[(ProgramId, &str)],
) -> StorageResult<PendingFacts> {
    Ok(unnest!(
        query_as,
        PendingFacts,
        r#"SELECT EXISTS (SELECT FROM UNNEST($1::bigint[], $2::text[]) AS c (program_id, transaction_id)
                          JOIN processor_refs r ON r.program_id = c.program_id AND r.reference = c.transaction_id)
                      AS "names!",
                  EXISTS (SELECT FROM parked_refunds WHERE transaction_id = ANY($2)) AS "refunds!""#,
        (program_id, transaction_id) in claims =>
            programs: i64 = program_id.get(),
            transaction_ids: &str = *transaction_id
    )
    .fetch_one(connection)
    .await?)
}

/// Closes claims of payments that are already recorded as a sale under another name.
/// ([`crate::tracking::sales::insert`] closes the claims of new sales.)
pub async fn record(connection: &mut PgConnection, sales: &[(&str, SaleId)]) -> StorageResult<()> {
    let updated = write_batch!(
        connection,
        "UPDATE transaction_claims c
         SET state = 'recorded', sale_id = s.sale_id, payload = NULL, reply_to = NULL
         FROM UNNEST($1::text[], $2::bigint[]) AS s (transaction_id, sale_id)
         WHERE c.transaction_id = s.transaction_id AND c.state <> 'recorded'",
        (transaction_id, sale_id) in sales =>
            transaction_ids: &str = *transaction_id,
            sale_ids: i64 = sale_id.get()
    );
    expect_rows("transaction_claims", sales.len(), updated)
}

/// Frees the transaction_ids of refused sales, so that a corrected call can follow.
pub async fn release(connection: &mut PgConnection, transaction_ids: &[&str]) -> StorageResult<()> {
    if transaction_ids.is_empty() {
        return Ok(());
    }
    let deleted = execute!(
        connection,
        "DELETE FROM transaction_claims WHERE transaction_id = ANY($1) AND state = 'open'",
        transaction_ids as &[&str],
    );
    expect_rows("transaction_claims", transaction_ids.len(), deleted)
}

/// Hides a claim from the relay once its record is in `dead_letters`.
pub async fn mark_dead(connection: &mut PgConnection, event_id: EventId) -> StorageResult<()> {
    execute!(
        connection,
        "UPDATE transaction_claims SET state = 'dead' WHERE event_id = $1 AND state = 'open'",
        event_id.get(),
    );
    Ok(())
}

/// Reopens the claim of a dead letter, so that the relay publishes it at once. No caller waits for its
/// outcome any more. `false` when this event has no dead claim.
pub async fn reopen(connection: &mut PgConnection, event_id: EventId) -> StorageResult<bool> {
    Ok(execute!(
        connection,
        "UPDATE transaction_claims
         SET state = 'open', reply_to = NULL, relays = 0, relay_after = now(), claimed_at = now()
         WHERE event_id = $1 AND state = 'dead'",
        event_id.get(),
    ) > 0)
}

/// Claims sales that a restored database has lost, in the order of their messages. Returns how many claims
/// were made. The relay takes none of them before [`open_rebuilt`]: a refused sale freed its transaction_id,
/// so the last record of an id counts.
///
/// Leaves out sales that are stored as refused, and transaction_ids that have a claim.
pub async fn rebuild(executor: impl PgExecutor<'_>, claims: &[NewClaim]) -> StorageResult<u64> {
    let last_of_id: BTreeMap<&str, &NewClaim> = claims
        .iter()
        .map(|claim| (claim.transaction_id.as_str(), claim))
        .collect();
    let lost: Vec<&NewClaim> = last_of_id.into_values().collect();
    let made = unnest!(
        query_scalar,
        r#"INSERT INTO transaction_claims AS held (transaction_id, program_id, event_id, payload, relay_after)
           SELECT lost.*, 'infinity'
           FROM UNNEST($1::text[], $2::bigint[], $3::uuid[], $4::text[])
                AS lost (transaction_id, program_id, event_id, payload)
           WHERE NOT EXISTS (SELECT FROM refused_events r WHERE r.event_id = lost.event_id)
           ON CONFLICT (transaction_id) DO UPDATE
           SET program_id = excluded.program_id, event_id = excluded.event_id, payload = excluded.payload
           WHERE held.state = 'open' AND held.relay_after = 'infinity' AND held.event_id <> excluded.event_id
           RETURNING (xmax = 0) AS "is_new!""#,
        claim in lost =>
            transaction_ids: &str = claim.transaction_id.as_str(),
            programs: i64 = claim.program_id.get(),
            events: Uuid = claim.event_id.get(),
            payloads: &str = claim.payload.as_str()
    )
    .fetch_all(executor)
    .await?;
    Ok(made.into_iter().filter(|is_new| *is_new).count() as u64)
}

/// Opens rebuilt claims for the relay, and returns how many: fewer than `limit` when none are left.
pub async fn open_rebuilt(executor: impl PgExecutor<'_>, limit: i64) -> StorageResult<u64> {
    Ok(execute!(
        executor,
        "UPDATE transaction_claims SET relay_after = now()
         WHERE transaction_id IN (
             SELECT transaction_id FROM transaction_claims
             WHERE state = 'open' AND relay_after = 'infinity'
             LIMIT $1 FOR UPDATE SKIP LOCKED)",
        limit,
    ))
}

#[derive(Debug)]
pub struct OpenClaim {
    pub reply_to: Option<String>,
    pub payload: String,
}

/// Takes due open claims, oldest first, and postpones their next attempt (doubling up to a minute). Skips
/// claims that another relay has locked. Claims are found by state, not by position, so a claim that
/// committed late is not missed.
pub async fn take_open(pool: &PgPool, limit: i64, pause: Duration) -> StorageResult<Vec<OpenClaim>> {
    Ok(fetch_all!(
        pool,
        OpenClaim,
        r#"WITH due AS (
             SELECT transaction_id FROM transaction_claims
             WHERE state = 'open' AND relay_after < now()
             ORDER BY relay_after
             LIMIT $1
             FOR UPDATE SKIP LOCKED
           )
           UPDATE transaction_claims c
           SET relays = least(c.relays + 1, 100),
               relay_after = now() + least(interval '1 minute', make_interval(secs => $2 * 2 ^ least(c.relays, 10)))
           FROM due WHERE c.transaction_id = due.transaction_id
           RETURNING c.reply_to, c.payload AS "payload!""#,
        limit,
        pause.as_secs_f64(),
    ))
}
