//! A transaction with exclusive write access to tables, for recomputing them.

use sqlx::{AssertSqlSafe, PgPool, Postgres, Transaction};

use crate::error::StorageResult;

/// A transaction that has these tables to itself, but for those who only read: whoever writes to them, or has locked a row, is waited
/// for, within reason. It may take as long as it takes.
pub(crate) async fn begin_alone(
    pool: &PgPool,
    tables: &'static str,
) -> StorageResult<Transaction<'static, Postgres>> {
    let mut transaction = pool.begin().await?;
    // Everybody else queues behind this wait.
    let lock = format!(
        "SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = '10s'; LOCK TABLE {tables} IN EXCLUSIVE MODE"
    );
    sqlx::raw_sql(AssertSqlSafe(lock))
        .execute(&mut *transaction)
        .await?;
    Ok(transaction)
}
