//! A transaction with exclusive write access to tables, for recomputing them.

use sqlx::{AssertSqlSafe, PgPool, Postgres, Transaction};

use crate::error::StorageResult;

/// A transaction with exclusive write access to these tables; reads go on. Waits ten seconds for writers and row locks. Without a
/// statement timeout.
pub(crate) async fn begin_alone(
    pool: &PgPool,
    tables: &'static str,
) -> StorageResult<Transaction<'static, Postgres>> {
    let mut transaction = pool.begin().await?;
    // Other writers queue behind this wait.
    let lock = format!(
        "SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = '10s'; LOCK TABLE {tables} IN EXCLUSIVE MODE"
    );
    sqlx::raw_sql(AssertSqlSafe(lock))
        .execute(&mut *transaction)
        .await?;
    Ok(transaction)
}
