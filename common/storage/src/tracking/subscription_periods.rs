//! `subscription_starts`, `subscription_ends`: starts without a payment, and ends, by the processor's clock.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::error::StorageResult;
use crate::tracking::subscriptions::{self, SubscriptionKey};

/// Stores times of subscriptions. Of several reported times, the `kept` one counts.
macro_rules! record {
    ($connection:expr, $times:expr, $table:literal, $time:literal, $kept:literal) => {
        columns!(((program_id, subscription_id), at) in $times =>
            programs: i64 = program_id.get(),
            ids: &str = subscription_id.as_str(),
            times: DateTime<Utc> = *at
        );
        execute!(
            &mut *$connection,
            "INSERT INTO " + $table + " AS s (program_id, subscription_id, " + $time + ")
             SELECT * FROM UNNEST($1::bigint[], $2::text[], $3::timestamptz[]) AS n (program_id, subscription_id, at)
             ORDER BY program_id, subscription_id
             ON CONFLICT (program_id, subscription_id)
             DO UPDATE SET " + $time + " = " + $kept + "(s." + $time + ", excluded." + $time + ")",
            &programs,
            &ids as &[&str],
            &times,
        );
    };
}

/// Stores starts (the earliest counts) and ends (the latest). The caller holds the subscriptions' locks.
pub async fn record(
    connection: &mut PgConnection,
    starts: &BTreeMap<SubscriptionKey, DateTime<Utc>>,
    ends: &BTreeMap<SubscriptionKey, DateTime<Utc>>,
) -> StorageResult<()> {
    let keys: Vec<SubscriptionKey> = starts.keys().chain(ends.keys()).cloned().collect();
    subscriptions::lock(connection, &keys).await?;
    record!(connection, starts, "subscription_starts", "started_at", "least");
    record!(connection, ends, "subscription_ends", "ended_at", "greatest");
    Ok(())
}
