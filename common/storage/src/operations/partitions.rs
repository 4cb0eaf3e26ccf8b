//! Partitions of the event tables, by month or day: created ahead, dropped when the retention period ends.

use chrono::{DateTime, NaiveDate, NaiveTime, Utc};
use sqlx::PgPool;

use crate::error::StorageResult;

/// Creates the missing partitions of `months` UTC calendar months from `first_day` on.
pub async fn ensure(pool: &PgPool, first_day: NaiveDate, months: i32) -> StorageResult<()> {
    fetch_one!(pool, "SELECT ensure_event_partitions($1, $2)", first_day, months);
    Ok(())
}

/// Creates the missing partitions of `days` UTC days from `first_day` on, except in months that have a
/// partition of their own.
pub async fn ensure_days(pool: &PgPool, first_day: NaiveDate, days: i32) -> StorageResult<()> {
    fetch_one!(pool, "SELECT ensure_event_days($1, $2)", first_day, days);
    Ok(())
}

/// Creates the missing partitions of outbound events and deliveries for `days` UTC days from `first_day` on.
pub async fn ensure_outbound_days(pool: &PgPool, first_day: NaiveDate, days: i32) -> StorageResult<()> {
    fetch_one!(pool, "SELECT ensure_outbound_days($1, $2)", first_day, days);
    Ok(())
}

/// Drops the oldest day of outbound events or deliveries before `horizon`. Returns its partition's name.
pub async fn retire_outbound_day(pool: &PgPool, horizon: NaiveDate) -> StorageResult<Option<String>> {
    Ok(fetch_scalar!(pool, "SELECT retire_outbound_day($1)", horizon))
}

/// Drops the oldest partition of click or lead events that ends before `horizon`. First it stores in
/// `retired_clicks` the sums that counters and rollups need. Returns the name of the partition.
pub async fn retire(pool: &PgPool, horizon: NaiveDate) -> StorageResult<Option<String>> {
    let mut transaction = pool.begin().await?;
    // Computing the sums may take long, and blocks only clicks of that period. The drop locks the whole table
    // for an instant, and every click waits behind it: so it has a short lock timeout and is retried.
    sqlx::query("SET LOCAL statement_timeout = 0")
        .execute(&mut *transaction)
        .await?;
    sqlx::query("SET LOCAL lock_timeout = '500ms'")
        .execute(&mut *transaction)
        .await?;
    let dropped = fetch_scalar!(&mut *transaction, "SELECT retire_event_partition($1)", horizon);
    transaction.commit().await?;
    Ok(dropped)
}

/// Deletes up to `limit` expired clicks and as many leads from the default partitions, as [`retire`] does.
/// Returns how many rows were deleted.
pub async fn retire_strays(pool: &PgPool, horizon: NaiveDate, limit: i64) -> StorageResult<u64> {
    let horizon: DateTime<Utc> = horizon.and_time(NaiveTime::MIN).and_utc();
    let clicks = fetch_scalar!(
        pool,
        r#"WITH gone AS (
               DELETE FROM click_events_other
               WHERE ctid = ANY(ARRAY(SELECT ctid FROM click_events_other WHERE click_timestamp < $1 LIMIT $2
                                      FOR UPDATE SKIP LOCKED))
               RETURNING referral_link_id, program_id, click_timestamp, counted AND NOT is_test AS counts
           ), kept AS (
               INSERT INTO retired_clicks AS r
               SELECT referral_link_id, (click_timestamp AT TIME ZONE 'UTC')::date, program_id, count(*),
                      max(click_timestamp)
               FROM gone WHERE counts GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
               ON CONFLICT (referral_link_id, day, program_id) DO UPDATE SET
                   clicks = r.clicks + excluded.clicks, last_clicked = greatest(r.last_clicked, excluded.last_clicked)
           )
           SELECT count(*) AS "gone!" FROM gone"#,
        horizon,
        limit,
    );
    let leads = execute!(
        pool,
        "DELETE FROM lead_events_other
         WHERE ctid = ANY(ARRAY(SELECT ctid FROM lead_events_other WHERE lead_timestamp < $1 LIMIT $2
                                FOR UPDATE SKIP LOCKED))",
        horizon,
        limit,
    );
    Ok(u64::try_from(clicks).unwrap_or_default() + leads)
}
