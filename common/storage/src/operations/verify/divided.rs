//! Verification in slices. A slice is one statement and so one snapshot: the rows that it compares were
//! written by whole transactions. Rows that are stored later belong to a later slice or to the next run.

use chrono::{DateTime, Utc};
use sqlx::{AssertSqlSafe, Connection, PgConnection, Postgres, Transaction};

use super::division::Walk;
use super::invariants::Check;
use super::{INVARIANTS, SHOWN, Violation, violation};
use crate::error::StorageResult;

#[derive(Debug, Default)]
pub struct Verified {
    pub violations: Vec<Violation>,
    /// Invariants with a check that has no limit by day. A run with such a limit leaves the check out.
    pub left_out: Vec<&'static str>,
}

/// Verifies everything; with `since`, what was stored since then and all small data. Calls `checking` with
/// the name of each invariant before it is verified, and again with the key after which each slice begins.
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

/// With `since`, also verifies rows that were changed since then.
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
                // The slices of two walks may share a row.
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

/// A transaction without a timeout. Each of its statements has its own snapshot.
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

/// The last key of the slice that begins after this key. `None` when there are no more rows.
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

/// Rows with keys greater than `after`, up to and including `last`.
#[derive(Clone, Copy)]
pub(super) struct Slice<'a> {
    pub walk: &'a Walk,
    pub after: &'a str,
    pub last: &'a str,
}

/// Descriptions of violations, in a slice of the rows or in all of them.
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
