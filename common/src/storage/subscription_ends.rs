//! `subscription_ends`: subscriptions that were ended at the processor.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use super::StorageResult;
use super::subscriptions::SubscriptionKey;

/// Remembers ends; the latest one told counts.
pub async fn tell(
    connection: &mut PgConnection,
    ends: &BTreeMap<SubscriptionKey, DateTime<Utc>>,
) -> StorageResult<()> {
    if ends.is_empty() {
        return Ok(());
    }
    let (programs, ids): (Vec<i64>, Vec<&str>) = ends
        .keys()
        .map(|(program_id, subscription_id)| (program_id.get(), subscription_id.as_str()))
        .unzip();
    let times: Vec<DateTime<Utc>> = ends.values().copied().collect();
    sqlx::query!(
        "INSERT INTO subscription_ends AS e (program_id, subscription_id, ended_at)
         SELECT * FROM UNNEST($1::bigint[], $2::text[], $3::timestamptz[]) AS n (program_id, subscription_id, ended_at)
         ORDER BY program_id, subscription_id
         ON CONFLICT (program_id, subscription_id) DO UPDATE SET ended_at = greatest(e.ended_at, excluded.ended_at)",
        &programs,
        &ids as &[&str],
        &times,
    )
    .execute(connection)
    .await?;
    Ok(())
}
