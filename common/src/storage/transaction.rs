//! How a worker's transaction begins.

use sqlx::{PgPool, Postgres, Transaction};

use super::StorageResult;

/// Batches of no more records are small.
const SMALL: usize = 16;

/// A transaction for a batch of so many records.
///
/// `PostgreSQL` would plan each statement anew for the arrays it is given, which for a record or two takes as long as
/// running it: small batches use the plan that is there. Large ones are worth a plan of their own, because the one that is
/// there was made for ten rows, and compares lists with each other row by row.
pub async fn begin(pool: &PgPool, records: usize) -> StorageResult<Transaction<'static, Postgres>> {
    if records <= SMALL {
        Ok(pool
            .begin_with("BEGIN; SET LOCAL plan_cache_mode = force_generic_plan")
            .await?)
    } else {
        Ok(pool.begin().await?)
    }
}
