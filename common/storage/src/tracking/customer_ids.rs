//! Customer ids come in leased blocks, so that a click needs no round trip to get one.

use std::ops::Range;

use sqlx::{PgConnection, PgPool};

use crate::error::StorageResult;

/// Ids in one block: minutes of clicks at full speed, and still two thousand million restarts until the 53
/// bits of a public id are used up.
pub const BLOCK_SIZE: i64 = 1 << 22;

/// Blocks that are left out, at least, where an unknown number of them was leased: a month of clicks at 10⁵ a second, or 32,768
/// starts of edges. At most twice as many are, so that the ids last for 16,384 times.
const AHEAD: i64 = 1 << 16;

/// The counter before it was moved, and after.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Advanced {
    pub from: i64,
    pub to: i64,
}

/// Leases the next block. Ids that are never used are lost, which is harmless.
pub async fn lease(pool: &PgPool) -> StorageResult<Range<i64>> {
    let mut transaction = pool.begin().await?;
    advance(&mut transaction, false).await?;
    let block = sqlx::query_scalar!(r#"SELECT nextval('customer_id_blocks') AS "block!""#)
        .fetch_one(&mut *transaction)
        .await?;
    transaction.commit().await?;
    Ok(block * BLOCK_SIZE..(block + 1) * BLOCK_SIZE)
}

/// Moves the counter beyond whatever was leased, where blocks may be in use that this database has forgotten: the first time on a
/// timeline of PostgreSQL's, which a restore, a promotion and a copy begin, or whenever `anyway`.
///
/// By a random distance: of two restores of one backup, the second must not lease the blocks of the first.
pub async fn advance(connection: &mut PgConnection, anyway: bool) -> StorageResult<Option<Advanced>> {
    // The insert waits for whoever moves the counter at the same time.
    let began = sqlx::query!(
        "INSERT INTO customer_id_timelines (timeline) VALUES (current_timeline()) ON CONFLICT DO NOTHING"
    )
    .execute(&mut *connection)
    .await?;
    if began.rows_affected() == 0 && !anyway {
        return Ok(None);
    }
    // A sequence that was copied by logical replication is behind even what is stored.
    let advanced = sqlx::query_as!(
        Advanced,
        r#"SELECT last_value AS "from!",
                  setval('customer_id_blocks', greatest(last_value, (SELECT max(id) FROM customers) / $1)
                      + $2 + floor(random() * $2)::bigint) AS "to!"
           FROM customer_id_blocks"#,
        BLOCK_SIZE,
        AHEAD,
    )
    .fetch_one(connection)
    .await?;
    Ok(Some(advanced))
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
