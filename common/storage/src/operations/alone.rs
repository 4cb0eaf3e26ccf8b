//! A transaction with exclusive write access to tables, for recomputing them.

use sqlx::{AssertSqlSafe, PgPool, Postgres, Transaction};

use crate::error::StorageResult;

/// A transaction with exclusive write access to these tables; reads go on. Waits for another one like it, then ten seconds for writers
/// and row locks. Without a statement timeout.
pub(crate) async fn begin_alone(
    pool: &PgPool,
    tables: &'static str,
) -> StorageResult<Transaction<'static, Postgres>> {
    let mut transaction = pool.begin().await?;
    // Other writers queue behind the second wait; of two that queued for two tables, one would deadlock with them.
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
