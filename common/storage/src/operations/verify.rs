//! Checks the invariants of money and of the pipeline. Each row that a check selects describes one violation.
//!
//! - [`violations`] runs all checks in one snapshot, so concurrent traffic causes no violation. It is for
//!   tests and small databases: a snapshot that stays open for hours keeps dead rows from being removed and
//!   slows everything down.
//! - [`divided`] runs check by check and slice by slice, each in its own snapshot.
//! - [`continuous`] does the same as a slow background task of the worker, which resumes where it stopped.

pub mod continuous;
pub mod divided;
mod division;
mod invariants;

use sqlx::{AssertSqlSafe, PgConnection, PgPool};

pub use self::invariants::{INVARIANTS, Invariant};
use crate::error::StorageResult;
use crate::snapshot;

/// Violations of an invariant: at most [`SHOWN`] rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    pub invariant: &'static str,
    pub rows: Vec<String>,
}

const SHOWN: usize = 20;

pub async fn violations(pool: &PgPool) -> StorageResult<Vec<Violation>> {
    let mut connection = pool.acquire().await?;
    let mut snapshot = snapshot::begin(&mut connection).await?;
    sqlx::query("SET LOCAL statement_timeout = 0")
        .execute(&mut *snapshot)
        .await?;
    violations_on(&mut snapshot).await
}

pub async fn violations_on(snapshot: &mut PgConnection) -> StorageResult<Vec<Violation>> {
    let mut violations = Vec::new();
    for invariant in INVARIANTS.iter() {
        let mut rows: Vec<String> = Vec::new();
        for check in invariant.checks {
            let query = format!("{} LIMIT {SHOWN}", check.of_all());
            rows.extend(
                sqlx::query_scalar::<_, String>(AssertSqlSafe(query))
                    .fetch_all(&mut *snapshot)
                    .await?,
            );
        }
        violations.extend(violation(invariant, rows));
    }
    Ok(violations)
}

fn violation(invariant: &Invariant, mut rows: Vec<String>) -> Option<Violation> {
    rows.truncate(SHOWN);
    (!rows.is_empty()).then_some(Violation {
        invariant: invariant.name,
        rows,
    })
}
