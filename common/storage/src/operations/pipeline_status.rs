//! Unfinished work of the pipeline. It shows whether the workers keep up.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::error::StorageResult;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waiting {
    pub count: i64,
    pub oldest: Option<DateTime<Utc>>,
}

impl Waiting {
    const fn of(count: i64, oldest: Option<DateTime<Utc>>) -> Self {
        Self { count, oldest }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PipelineStatus {
    /// The time of the database's clock, which also wrote the times below.
    pub now: DateTime<Utc>,
    /// Claimed sales that are neither recorded nor refused.
    pub open_claims: Waiting,
    /// Sales that could not be processed. Each has a dead letter.
    pub dead_claims: i64,
    /// Messages that follow a commit and have not been sent.
    pub outbox: Waiting,
    pub parked_refunds: Waiting,
    pub dead_letters: Waiting,
}

pub async fn read(connection: &mut PgConnection) -> StorageResult<PipelineStatus> {
    let row = fetch_one!(
        connection,
        r#"SELECT now() AS "now!", c.rows AS "open!", c.oldest AS open_oldest, k.rows AS "dead!",
                  o.rows AS "outbox!", o.oldest AS outbox_oldest, r.rows AS "parked!", r.oldest AS parked_oldest,
                  d.rows AS "letters!", d.oldest AS letters_oldest
           FROM (SELECT count(*) AS rows, min(claimed_at) AS oldest FROM transaction_claims WHERE state = 'open') c,
                (SELECT count(*) AS rows FROM transaction_claims WHERE state = 'dead') k,
                (SELECT count(*) AS rows, min(created_at) AS oldest FROM outbox) o,
                (SELECT count(*) AS rows, min(parked_at) AS oldest FROM parked_refunds) r,
                (SELECT count(*) AS rows, min(created_at) AS oldest FROM dead_letters WHERE replayed_at IS NULL) d"#,
    );
    Ok(PipelineStatus {
        now: row.now,
        open_claims: Waiting::of(row.open, row.open_oldest),
        dead_claims: row.dead,
        outbox: Waiting::of(row.outbox, row.outbox_oldest),
        parked_refunds: Waiting::of(row.parked, row.parked_oldest),
        dead_letters: Waiting::of(row.letters, row.letters_oldest),
    })
}

/// Unfinished rows, read from partial indexes: cheap enough for several queries a minute at any size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Backlog {
    /// The time of the database's clock, which also wrote the times below.
    pub now: DateTime<Utc>,
    pub open_claims: Waiting,
    pub dead_claims: i64,
    pub outbox: Waiting,
    /// By NATS subject.
    pub dead_letters: Vec<(String, i64)>,
    /// By state.
    pub processor_events: Vec<(String, i64)>,
    pub oldest: Oldest,
}

/// Times of the oldest rows that background tasks handle, by the database's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Oldest {
    /// End of the hold period of a commission that needs no approval by hand.
    pub held_until: Option<DateTime<Utc>>,
    pub refused_at: Option<DateTime<Utc>>,
    /// Of a finished processor event.
    pub received_at: Option<DateTime<Utc>>,
}

pub async fn backlog(connection: &mut PgConnection) -> StorageResult<Backlog> {
    let row = fetch_one!(
        &mut *connection,
        r#"SELECT now() AS "now!", c.rows AS "open!", c.oldest AS open_oldest, d.rows AS "dead!",
                  o.rows AS "outbox!", o.oldest AS outbox_oldest
           FROM (SELECT count(*) AS rows, min(claimed_at) AS oldest FROM transaction_claims WHERE state = 'open') c,
                (SELECT count(*) AS rows FROM transaction_claims WHERE state = 'dead') d,
                (SELECT count(*) AS rows, min(created_at) AS oldest FROM outbox) o"#,
    );
    let letters = fetch_all!(
        &mut *connection,
        r#"SELECT subject, count(*) AS "rows!" FROM dead_letters WHERE replayed_at IS NULL GROUP BY subject"#,
    );
    let events = fetch_all!(
        &mut *connection,
        r#"SELECT state, count(*) AS "rows!" FROM processor_events
           WHERE state IN ('open', 'parked', 'review', 'stuck') GROUP BY state"#,
    );
    Ok(Backlog {
        oldest: oldest(connection).await?,
        now: row.now,
        open_claims: Waiting::of(row.open, row.open_oldest),
        dead_claims: row.dead,
        outbox: Waiting::of(row.outbox, row.outbox_oldest),
        dead_letters: letters.into_iter().map(|row| (row.subject, row.rows)).collect(),
        processor_events: events.into_iter().map(|row| (row.state, row.rows)).collect(),
    })
}

async fn oldest(connection: &mut PgConnection) -> StorageResult<Oldest> {
    Ok(fetch_one!(
        connection,
        Oldest,
        "SELECT (SELECT min(held.hold_until)
                 FROM programs p
                 CROSS JOIN LATERAL (
                     SELECT c.hold_until FROM commissions c
                     WHERE c.program_id = p.id AND c.status = 'pending' AND c.hold_until <= now() AND hold_ended(c, p.needs_approval, now())
                     ORDER BY c.hold_until LIMIT 1) held
                 WHERE p.needs_approval <> 'all') AS held_until,
                (SELECT min(refused_at) FROM refused_events) AS refused_at,
                (SELECT min(received_at) FROM processor_events WHERE state IN ('done', 'ignored')) AS received_at",
    ))
}
