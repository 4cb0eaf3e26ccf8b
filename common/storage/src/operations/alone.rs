//! Transactions with exclusive write access to tables, for recomputing them.

use sqlx::{AssertSqlSafe, PgPool, Postgres, Transaction};

use crate::error::StorageResult;

/// Begins a transaction with exclusive write access to these tables. Reads continue. It first waits for any
/// other such transaction, then up to ten seconds for writers and row locks. It has no statement timeout.
pub(crate) async fn begin_alone(
    pool: &PgPool,
    tables: &'static str,
) -> StorageResult<Transaction<'static, Postgres>> {
    let mut transaction = pool.begin().await?;
    // The advisory lock comes first: two transactions that both queue for two tables could deadlock with the
    // writers behind them.
    let lock = format!(
        "SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0;
         SELECT pg_advisory_xact_lock(hashtextextended('alone', 0));
         SET LOCAL lock_timeout = '10s'; LOCK TABLE {tables} IN EXCLUSIVE MODE"
    );
    sqlx::raw_sql(AssertSqlSafe(lock))
        .execute(&mut *transaction)
        .await?;
    Ok(transaction)
}
