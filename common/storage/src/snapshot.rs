//! One moment of the database for several statements.

use sqlx::{Connection, PgConnection, Postgres, Transaction};

use crate::error::StorageResult;

/// A transaction that reads what was committed when its first statement began, whatever is committed meanwhile: for answers whose parts must
/// agree, such as a refund and what its sale has left.
pub async fn begin(connection: &mut PgConnection) -> StorageResult<Transaction<'_, Postgres>> {
    Ok(connection
        .begin_with("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        .await?)
}
