//! Checks the invariants of money and of the pipeline.
//!
//! The queries run in one `REPEATABLE READ` snapshot, so that traffic in the meantime is no violation. Each row they return
//! describes in words what is wrong with it.

mod invariants;

use sqlx::{PgConnection, PgPool, Row};

pub use self::invariants::{INVARIANTS, Invariant};
use crate::error::StorageResult;

/// Violations of a rule; at most [`SHOWN`] rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    pub invariant: &'static str,
    pub rows: Vec<String>,
}

const SHOWN: usize = 20;

/// Runs every invariant and returns those that do not hold.
pub async fn violations(pool: &PgPool) -> StorageResult<Vec<Violation>> {
    violations_with_progress(pool, |_| {}).await
}

/// [`violations`], calling `checking` with the name of each invariant before its query runs: on much data each takes its time.
pub async fn violations_with_progress(
    pool: &PgPool,
    checking: impl FnMut(&'static str),
) -> StorageResult<Vec<Violation>> {
    let mut snapshot = pool.begin().await?;
    sqlx::query("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        .execute(&mut *snapshot)
        .await?;
    sqlx::query("SET LOCAL statement_timeout = 0")
        .execute(&mut *snapshot)
        .await?;
    violations_on(&mut snapshot, checking).await
}

/// [`violations_with_progress`], as one transaction sees the database.
pub async fn violations_on(
    snapshot: &mut PgConnection,
    mut checking: impl FnMut(&'static str),
) -> StorageResult<Vec<Violation>> {
    let mut violations = Vec::new();
    for invariant in INVARIANTS {
        checking(invariant.name);
        let rows = sqlx::query(sqlx::AssertSqlSafe(format!("{} LIMIT {SHOWN}", invariant.query)))
            .fetch_all(&mut *snapshot)
            .await?;
        if !rows.is_empty() {
            let rows = rows
                .iter()
                .map(|row| row.try_get::<String, _>(0))
                .collect::<Result<_, _>>()?;
            violations.push(Violation {
                invariant: invariant.name,
                rows,
            });
        }
    }
    Ok(violations)
}
