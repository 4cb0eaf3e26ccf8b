//! Customer ids are leased in blocks, so that a click needs no round trip for its id.

use std::ops::Range;

use sqlx::{PgConnection, PgPool};

use crate::error::StorageResult;

/// Ids in one block: minutes at full speed. The 53 bits of a public id allow two thousand million restarts.
pub const BLOCK_SIZE: i64 = 1 << 22;

/// Minimum number of blocks to skip when the number of leased blocks is unknown: a month of clicks at 10⁵ a
/// second, or 32,768 starts of edges. At most twice as many are skipped: the ids last for 16,384 skips.
const AHEAD: i64 = 1 << 16;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Advanced {
    pub from: i64,
    pub to: i64,
}

/// Leases the next block. Unused ids are lost, which is harmless.
pub async fn lease(pool: &PgPool) -> StorageResult<Range<i64>> {
    let mut transaction = pool.begin().await?;
    advance(&mut transaction, false).await?;
    let block = fetch_scalar!(
        &mut *transaction,
        r#"SELECT nextval('customer_id_blocks') AS "block!""#
    );
    transaction.commit().await?;
    Ok(block * BLOCK_SIZE..(block + 1) * BLOCK_SIZE)
}

/// Moves the counter beyond all blocks that may be leased: the first time on a timeline of PostgreSQL, or
/// whenever `anyway`.
///
/// A restore, a promotion and a copy begin a timeline, and the database may then have lost leases of blocks
/// that are in use.
///
/// The distance is random: a second restore of the same backup must not lease the blocks of the first.
pub async fn advance(connection: &mut PgConnection, anyway: bool) -> StorageResult<Option<Advanced>> {
    // The insert waits for any other process that moves the counter at the same time.
    let began = execute!(
        &mut *connection,
        "INSERT INTO customer_id_timelines (timeline) VALUES (current_timeline()) ON CONFLICT DO NOTHING"
    );
    if began == 0 && !anyway {
        return Ok(None);
    }
    // A sequence copied by logical replication may be behind the stored rows.
    let advanced = fetch_one!(
        connection,
        Advanced,
        r#"SELECT last_value AS "from!",
                  setval('customer_id_blocks', greatest(last_value, (SELECT max(id) FROM customers) / $1)
                      + $2 + floor(random() * $2)::bigint) AS "to!"
           FROM customer_id_blocks"#,
        BLOCK_SIZE,
        AHEAD,
    );
    Ok(Some(advanced))
}

/// One past the highest id that may have been leased. A click_id that decodes to this or more is forged.
pub async fn end_of_leased(connection: &mut PgConnection) -> StorageResult<i64> {
    let last = fetch_scalar!(
        connection,
        r#"SELECT CASE WHEN is_called THEN last_value ELSE 0 END AS "last!" FROM customer_id_blocks"#
    );
    Ok((last + 1) * BLOCK_SIZE)
}
