//! Verification in slices. A slice is one statement, and so one snapshot: what it compares was written by whole transactions, and whatever is
//! stored after it is in a later slice, or is verified by the next run.

use chrono::{DateTime, Utc};
use sqlx::{AssertSqlSafe, Connection, PgConnection, Postgres, Transaction};

use super::division::Walk;
use super::invariants::Check;
use super::{INVARIANTS, SHOWN, Violation, violation};
use crate::error::StorageResult;

/// What a run found.
#[derive(Debug, Default)]
pub struct Verified {
    pub violations: Vec<Violation>,
    /// Invariants with a check that knows no time, and was left out of a run since a day.
    pub left_out: Vec<&'static str>,
}

/// Verifies everything, or what was stored since a moment, and what is little. `checking` is told each invariant before it is verified, and
/// how far it is: the key after which a slice begins.
pub async fn divided(
    connection: &mut PgConnection,
    since: Option<DateTime<Utc>>,
    mut checking: impl FnMut(&'static str, &str),
) -> StorageResult<Verified> {
    let mut verified = Verified::default();
    for invariant in INVARIANTS.iter() {
        checking(invariant.name, "");
        let mut rows = Vec::new();
        for check in invariant.checks {
            if since.is_some() && !check.division.has_since() {
                if !verified.left_out.contains(&invariant.name) {
                    verified.left_out.push(invariant.name);
                }
                continue;
            }
            rows.extend(run(connection, check, since, |key| checking(invariant.name, key)).await?);
        }
        verified.violations.extend(violation(invariant, rows));
    }
    Ok(verified)
}

/// Since a moment, also the rows that were changed since.
async fn run(
    connection: &mut PgConnection,
    check: &Check,
    since: Option<DateTime<Utc>>,
    mut reached: impl FnMut(&str),
) -> StorageResult<Vec<String>> {
    let walks = check.division.walks();
    let Some(complete) = walks.get(..1) else {
        let mut snapshot = snapshot(connection).await?;
        let found = rows(&mut snapshot, check, None).await?;
        snapshot.rollback().await?;
        return Ok(found);
    };
    let mut found = Vec::new();
    for walk in if since.is_some() { walks } else { complete } {
        let mut after = match since.filter(|_| walk.grows) {
            Some(since) => key_since(connection, walk, since).await?,
            None => walk.start.to_owned(),
        };
        while found.len() < SHOWN {
            reached(&after);
            let mut snapshot = snapshot(connection).await?;
            let Some(last) = next(&mut snapshot, walk, &after, false).await? else {
                break;
            };
            let slice = Slice {
                walk,
                after: &after,
                last: &last,
            };
            for row in rows(&mut snapshot, check, Some(slice)).await? {
                // One row may be in slices of two walks.
                if !found.contains(&row) {
                    found.push(row);
                }
            }
            snapshot.rollback().await?;
            after = last;
        }
    }
    Ok(found)
}

/// A transaction without a timeout, whose statements each see their own moment.
async fn snapshot(connection: &mut PgConnection) -> StorageResult<Transaction<'_, Postgres>> {
    let mut transaction = connection.begin().await?;
    sqlx::query("SET LOCAL statement_timeout = 0")
        .execute(&mut *transaction)
        .await?;
    Ok(transaction)
}

async fn key_since(
    connection: &mut PgConnection,
    walk: &Walk,
    since: DateTime<Utc>,
) -> StorageResult<String> {
    Ok(sqlx::query_scalar(AssertSqlSafe(walk.since()))
        .bind(since)
        .fetch_one(connection)
        .await?)
}

/// The last key of the slice that begins after this one. `None`: there are no more rows.
pub(super) async fn next(
    connection: &mut PgConnection,
    walk: &Walk,
    after: &str,
    settled: bool,
) -> StorageResult<Option<String>> {
    let next: Option<Option<String>> = sqlx::query_scalar(AssertSqlSafe(walk.next(settled)))
        .bind(after)
        .fetch_optional(connection)
        .await?;
    Ok(next.flatten())
}

/// Rows with a key after the first and up to the last.
#[derive(Clone, Copy)]
pub(super) struct Slice<'a> {
    pub walk: &'a Walk,
    pub after: &'a str,
    pub last: &'a str,
}

/// Descriptions of what breaks the invariant, in a slice of the rows or in all of them.
pub(super) async fn rows(
    connection: &mut PgConnection,
    check: &Check,
    slice: Option<Slice<'_>>,
) -> StorageResult<Vec<String>> {
    let Some(Slice { walk, after, last }) = slice else {
        let query = format!("{} LIMIT {SHOWN}", check.of_all());
        return Ok(sqlx::query_scalar(AssertSqlSafe(query))
            .fetch_all(connection)
            .await?);
    };
    let query = format!("{} LIMIT {SHOWN}", check.of_rows(walk.rows));
    let bounds: Vec<&str> = if walk.is_of_days() {
        last.split(' ').collect()
    } else {
        vec![after, last]
    };
    let query = bounds
        .into_iter()
        .fold(sqlx::query_scalar(AssertSqlSafe(query)), |query, bound| {
            query.bind(bound)
        });
    Ok(query.fetch_all(connection).await?)
}
