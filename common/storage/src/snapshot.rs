//! One snapshot of the database for several statements.

use sqlx::{Connection, PgConnection, Postgres, Transaction};

use crate::error::StorageResult;

/// Begins a transaction that reads the state at its first statement, whatever is committed later. For answers
/// whose parts must agree, such as a refund and the remainder of its sale.
pub async fn begin(connection: &mut PgConnection) -> StorageResult<Transaction<'_, Postgres>> {
    Ok(connection
        .begin_with("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        .await?)
}
