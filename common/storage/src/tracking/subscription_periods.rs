//! `subscription_starts` and `subscription_ends`: when a subscription began without a payment, and when it
//! ended, by the processor's clock.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::batch::unnest;
use crate::error::StorageResult;
use crate::tracking::subscriptions::{self, SubscriptionKey};

/// Stores starts and ends. The caller holds the subscriptions' locks.
pub async fn record(
    connection: &mut PgConnection,
    starts: &BTreeMap<SubscriptionKey, DateTime<Utc>>,
    ends: &BTreeMap<SubscriptionKey, DateTime<Utc>>,
) -> StorageResult<()> {
    let keys: Vec<SubscriptionKey> = starts.keys().chain(ends.keys()).cloned().collect();
    subscriptions::lock(connection, &keys).await?;
    record_starts(connection, starts).await?;
    record_ends(connection, ends).await
}

/// Stores starts; the earliest reported start counts.
async fn record_starts(
    connection: &mut PgConnection,
    starts: &BTreeMap<SubscriptionKey, DateTime<Utc>>,
) -> StorageResult<()> {
    if starts.is_empty() {
        return Ok(());
    }
    unnest!(
        query,
        "INSERT INTO subscription_starts AS s (program_id, subscription_id, started_at)
         SELECT * FROM UNNEST($1::bigint[], $2::text[], $3::timestamptz[]) AS n (program_id, subscription_id, started_at)
         ORDER BY program_id, subscription_id
         ON CONFLICT (program_id, subscription_id) DO UPDATE SET started_at = least(s.started_at, excluded.started_at)",
        ((program_id, subscription_id), at) in starts =>
            programs: i64 = program_id.get(),
            ids: &str = subscription_id.as_str(),
            times: DateTime<Utc> = *at
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Stores ends; the latest reported end counts.
async fn record_ends(
    connection: &mut PgConnection,
    ends: &BTreeMap<SubscriptionKey, DateTime<Utc>>,
) -> StorageResult<()> {
    if ends.is_empty() {
        return Ok(());
    }
    unnest!(
        query,
        "INSERT INTO subscription_ends AS e (program_id, subscription_id, ended_at)
         SELECT * FROM UNNEST($1::bigint[], $2::text[], $3::timestamptz[]) AS n (program_id, subscription_id, ended_at)
         ORDER BY program_id, subscription_id
         ON CONFLICT (program_id, subscription_id) DO UPDATE SET ended_at = greatest(e.ended_at, excluded.ended_at)",
        ((program_id, subscription_id), at) in ends =>
            programs: i64 = program_id.get(),
            ids: &str = subscription_id.as_str(),
            times: DateTime<Utc> = *at
    )
    .execute(connection)
    .await?;
    Ok(())
}
