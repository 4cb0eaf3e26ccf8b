//! Deletes visitors: customers who only clicked. A visitor is deleted when their events are deleted and the
//! attribution and cookie windows of their program have passed.
//!
//! No row refers to a deleted visitor. With the same click_id they become new customers, as the contract says
//! for an unknown click_id. Nearly all customers are visitors: a hundred gigabytes a day at thousands of
//! clicks a second.
//!
//! The worker reads all customers in rounds, in the order of their ids; `visitor_retention` has the last id
//! that it read. Ids ascend with time only within a leased block. When a slice has only newer customers, the
//! rest of its block is skipped.

use chrono::{DateTime, NaiveDate, NaiveTime, TimeDelta, Utc};
use sqlx::{PgConnection, PgPool};

use crate::error::StorageResult;
use crate::tracking::customer_ids::BLOCK_SIZE;

/// Time between rounds, because a round reads the rows of all remaining customers.
const ROUNDS_APART: TimeDelta = TimeDelta::days(1);

/// Deletes the visitors among the next `limit` customers whose last click was before `horizon`, the first day
/// whose events are kept. Returns how many. `None` when no customer is left in this round, or another process
/// is running.
///
/// Skips locked rows. A transaction that waits for a deleted row's lock finds no customer, as if the delete
/// had come first.
pub async fn drop_some(
    pool: &PgPool,
    now: DateTime<Utc>,
    horizon: NaiveDate,
    limit: i64,
) -> StorageResult<Option<u64>> {
    let mut transaction = pool.begin().await?;
    let events_kept_since = first_day(&mut transaction)
        .await?
        .map_or(horizon, |first| first.min(horizon));
    let events_kept_since = events_kept_since.and_time(NaiveTime::MIN).and_utc();
    let Some(after) = due(&mut transaction, now).await? else {
        return Ok(None);
    };
    let slice = fetch_one!(
        &mut *transaction,
        "SELECT max(id) AS last, min(first_click_at) AS oldest
         FROM (SELECT id, first_click_at FROM customers WHERE id > $1 ORDER BY id LIMIT $2) s",
        after,
        limit,
    );
    let Some((last, oldest)) = slice.last.zip(slice.oldest) else {
        start_again(&mut transaction, now + ROUNDS_APART).await?;
        transaction.commit().await?;
        return Ok(None);
    };
    let (dropped, reached) = if oldest >= events_kept_since {
        (0, end_of_block(last))
    } else {
        let locked = lock_visitors(&mut transaction, (after, last), now, events_kept_since).await?;
        (drop_unreferenced(&mut transaction, &locked).await?, last)
    };
    execute!(
        &mut *transaction,
        "UPDATE visitor_retention SET after = $1",
        reached
    );
    transaction.commit().await?;
    Ok(Some(dropped))
}

/// The first day with stored clicks. A monthly partition is dropped whole, later than its days would be.
async fn first_day(connection: &mut PgConnection) -> StorageResult<Option<NaiveDate>> {
    Ok(fetch_scalar!(
        connection,
        "SELECT min(first_day) FROM event_partitions WHERE parent = 'click_events'"
    ))
}

/// The id after which the next slice begins.
async fn due(connection: &mut PgConnection, now: DateTime<Utc>) -> StorageResult<Option<i64>> {
    Ok(fetch_optional_scalar!(
        connection,
        "SELECT after FROM visitor_retention WHERE next_round_at <= $1 FOR UPDATE SKIP LOCKED",
        now
    ))
}

async fn start_again(connection: &mut PgConnection, at: DateTime<Utc>) -> StorageResult<()> {
    execute!(
        connection,
        "UPDATE visitor_retention SET after = 0, next_round_at = $1",
        at
    );
    Ok(())
}

/// Locks customers whose rows show clicks alone, and whose last click is older than the stored events and than
/// the attribution and cookie windows of their program.
async fn lock_visitors(
    connection: &mut PgConnection,
    (after, last): (i64, i64),
    now: DateTime<Utc>,
    events_kept_since: DateTime<Utc>,
) -> StorageResult<Vec<i64>> {
    Ok(fetch_scalars!(
        connection,
        "SELECT c.id FROM customers c JOIN programs p ON p.id = c.program_id
         WHERE c.id > $1 AND c.id <= $2 AND c.status = 'click'
           AND num_nonnulls(c.customer_key, c.proposed_customer_key, c.email_hash, c.signup_date, c.first_purchase_date) = 0
           AND (SELECT max(at) FROM UNNEST(c.touched_at) AS at)
               < least($3, $4::timestamptz - make_interval(days => greatest(p.attribution_window_days, p.cookie_window_days)))
         ORDER BY c.id
         FOR UPDATE OF c SKIP LOCKED",
        after,
        last,
        events_kept_since,
        now,
    ))
}

/// Deletes visitors without other stored rows. A separate statement after the lock, so that it sees all rows
/// committed before the lock.
async fn drop_unreferenced(connection: &mut PgConnection, visitors: &[i64]) -> StorageResult<u64> {
    if visitors.is_empty() {
        return Ok(0);
    }
    Ok(execute!(
        connection,
        "DELETE FROM customers c
         WHERE c.id = ANY($1)
           -- A bot's clicks that do not count are in no journey.
           AND NOT EXISTS (SELECT FROM click_events e WHERE e.customer_id = c.id AND NOT e.counted)
           AND NOT EXISTS (SELECT FROM lead_events e WHERE e.customer_id = c.id)
           AND NOT EXISTS (SELECT FROM sale_events s WHERE s.customer_id = c.id)
           AND NOT EXISTS (SELECT FROM processor_customers k WHERE k.program_id = c.program_id AND k.click_id = c.click_id)",
        visitors,
    ))
}

/// The last id of the block that contains an id.
const fn end_of_block(id: i64) -> i64 {
    (id / BLOCK_SIZE + 1) * BLOCK_SIZE - 1
}
