//! Monthly partitions of the event tables.

use chrono::NaiveDate;
use sqlx::PgPool;

use super::StorageResult;

/// Makes sure that the partitions of `months` UTC calendar months from `first_day` on exist.
pub async fn ensure(pool: &PgPool, first_day: NaiveDate, months: i32) -> StorageResult<()> {
    sqlx::query!("SELECT ensure_event_partitions($1, $2)", first_day, months)
        .fetch_one(pool)
        .await?;
    Ok(())
}
