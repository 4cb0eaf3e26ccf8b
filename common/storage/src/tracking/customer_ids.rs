//! Customer ids come in leased blocks, so that a click needs no round trip to get one.

use std::ops::Range;

use sqlx::{PgConnection, PgPool};

use crate::error::StorageResult;

/// Ids in one block: minutes of clicks at full speed, and still two thousand million restarts until the 53
/// bits of a public id are used up.
pub const BLOCK_SIZE: i64 = 1 << 22;

/// Leases the next block. Ids that are never used are lost, which is harmless.
pub async fn lease(pool: &PgPool) -> StorageResult<Range<i64>> {
    let block = sqlx::query_scalar!(r#"SELECT nextval('customer_id_blocks') AS "block!""#)
        .fetch_one(pool)
        .await?;
    Ok(block * BLOCK_SIZE..(block + 1) * BLOCK_SIZE)
}

/// One past the highest id that can have been handed out. A click_id that decodes to more is forged.
pub async fn end_of_leased(connection: &mut PgConnection) -> StorageResult<i64> {
    let last = sqlx::query_scalar!(
        r#"SELECT CASE WHEN is_called THEN last_value ELSE 0 END AS "last!" FROM customer_id_blocks"#
    )
    .fetch_one(connection)
    .await?;
    Ok((last + 1) * BLOCK_SIZE)
}
