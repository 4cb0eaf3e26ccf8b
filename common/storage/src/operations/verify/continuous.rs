//! Continuous verification, slice by slice. Growing data is verified from where the last slice ended. Small
//! data is verified again and again. The position is stored in `verifications`, so any worker can continue.
//!
//! A slice with a difference is verified again until the difference is repaired.

use std::sync::LazyLock;

use chrono::{DateTime, Utc};
use sqlx::{PgConnection, PgPool};

use super::INVARIANTS;
use super::divided::{Slice, next, rows};
use super::division::Walk;
use super::invariants::Check;
use crate::error::StorageResult;

/// A check with one walk over its rows. Without a walk the check is not divided.
struct Part {
    name: String,
    invariant: &'static str,
    check: &'static Check,
    walk: Option<&'static Walk>,
}

static PARTS: LazyLock<Vec<Part>> = LazyLock::new(|| {
    let mut parts = Vec::new();
    for invariant in INVARIANTS.iter() {
        let continuous = invariant.checks.iter().enumerate();
        for (number, check) in continuous.filter(|(_, check)| check.division.is_continuous()) {
            let walks: Vec<Option<&Walk>> = check.division.walks().iter().map(Some).collect();
            let walks = if walks.is_empty() { vec![None] } else { walks };
            parts.extend(walks.into_iter().map(|walk| Part {
                name: format!(
                    "{}, check {number}, by {}",
                    invariant.name,
                    walk.map_or("all", |walk| walk.name)
                ),
                invariant: invariant.name,
                check,
                walk,
            }));
        }
    }
    parts
});

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Nothing is due, or another process is verifying.
    Idle,
    Verified,
    Found {
        invariant: &'static str,
        rows: usize,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Status {
    pub now: DateTime<Utc>,
    /// All rows that had settled by this time are verified. `None`: verification has not begun.
    pub oldest: Option<DateTime<Utc>>,
    /// The number of checks that have stopped at a slice with a difference.
    pub differences: i64,
}

/// Advisory lock: only one process verifies at a time.
const VERIFYING: i64 = 0x7665_7269_6679;

/// Verifies the slice that has been due for longest.
pub async fn step(pool: &PgPool) -> StorageResult<Step> {
    let mut transaction = pool.begin().await?;
    let Some((part, mark)) = due(&mut transaction).await? else {
        // An explicit rollback: a dropped transaction keeps its lock until the pool ends it.
        transaction.rollback().await?;
        return Ok(Step::Idle);
    };
    match verify(&mut transaction, part, mark).await {
        Ok(step) => {
            transaction.commit().await?;
            Ok(step)
        }
        Err(error) => {
            transaction.rollback().await?;
            // Postpones the failed part, so that the other parts take their turns.
            execute!(
                pool,
                "UPDATE verifications SET due_at = now() + interval '10 minutes' WHERE part = $1",
                part.name
            );
            Err(error)
        }
    }
}

struct Mark {
    after: String,
}

async fn due(connection: &mut PgConnection) -> StorageResult<Option<(&'static Part, Mark)>> {
    let alone = fetch_scalar!(
        &mut *connection,
        r#"SELECT pg_try_advisory_xact_lock($1) AS "alone!""#,
        VERIFYING
    );
    if !alone {
        return Ok(None);
    }
    let names: Vec<&str> = PARTS.iter().map(|part| part.name.as_str()).collect();
    let starts: Vec<&str> = PARTS
        .iter()
        .map(|part| part.walk.map_or("", |walk| walk.start))
        .collect();
    execute!(
        &mut *connection,
        "INSERT INTO verifications (part, after) SELECT * FROM UNNEST($1::text[], $2::text[]) ON CONFLICT (part) DO NOTHING",
        &names as &[&str],
        &starts as &[&str],
    );
    let mark = fetch_optional!(
        connection,
        "SELECT part, after FROM verifications WHERE part = ANY($1) AND due_at <= now() ORDER BY due_at, part LIMIT 1",
        &names as &[&str],
    );
    Ok(mark.and_then(|mark| {
        let part = PARTS.iter().find(|part| part.name == mark.part)?;
        Some((part, Mark { after: mark.after }))
    }))
}

async fn verify(connection: &mut PgConnection, part: &Part, mark: Mark) -> StorageResult<Step> {
    sqlx::query("SET LOCAL statement_timeout = '10min'")
        .execute(&mut *connection)
        .await?;
    let Some(walk) = part.walk else {
        let found = rows(&mut *connection, part.check, None).await?;
        if found.is_empty() {
            end(connection, part).await?;
            return Ok(Step::Verified);
        }
        return different(connection, part, found.len()).await;
    };
    let Some(last) = next(&mut *connection, walk, &mark.after, true).await? else {
        end(connection, part).await?;
        return Ok(Step::Verified);
    };
    let slice = Slice {
        walk,
        after: &mark.after,
        last: &last,
    };
    let found = rows(&mut *connection, part.check, Some(slice)).await?;
    if !found.is_empty() {
        return different(connection, part, found.len()).await;
    }
    execute!(
        connection,
        "UPDATE verifications SET after = $2, due_at = clock_timestamp(), differences = 0 WHERE part = $1",
        part.name,
        last,
    );
    Ok(Step::Verified)
}

async fn different(connection: &mut PgConnection, part: &Part, rows: usize) -> StorageResult<Step> {
    execute!(
        connection,
        "UPDATE verifications SET differences = $2, due_at = now() + interval '10 minutes' WHERE part = $1",
        part.name,
        i64::try_from(rows).unwrap_or(i64::MAX),
    );
    Ok(Step::Found {
        invariant: part.invariant,
        rows,
    })
}

/// Ends a round of a part. A growing part continues from its position; any other part starts again.
async fn end(connection: &mut PgConnection, part: &Part) -> StorageResult<()> {
    let follows = part.walk.is_some_and(|walk| walk.grows);
    execute!(
        connection,
        "UPDATE verifications
         SET after = CASE WHEN $2 THEN after ELSE $3 END, differences = 0, round_began = now(),
             verified_at = CASE WHEN $2 THEN now() WHEN $4 THEN round_began ELSE now() END,
             due_at = now() + CASE WHEN $2 THEN interval '1 minute' ELSE interval '1 hour' END
         WHERE part = $1",
        part.name,
        follows,
        part.walk.map_or("", |walk| walk.start),
        part.walk.is_some(),
    );
    Ok(())
}

pub async fn status(connection: &mut PgConnection) -> StorageResult<Status> {
    let names: Vec<&str> = PARTS.iter().map(|part| part.name.as_str()).collect();
    Ok(fetch_one!(
        connection,
        Status,
        r#"SELECT now() AS "now!", min(verified_at) AS oldest, count(*) FILTER (WHERE differences > 0) AS "differences!"
           FROM verifications WHERE part = ANY($1)"#,
        &names as &[&str],
    ))
}
