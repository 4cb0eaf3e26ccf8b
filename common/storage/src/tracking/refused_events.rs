//! Refused events that were already answered: a redelivery must get the same outcome.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use sqlx::{PgConnection, PgExecutor, PgPool};
use uuid::Uuid;

use crate::error::StorageResult;
use domain::ids::EventId;

/// Stored outcomes (JSON text) of these events.
pub async fn find(connection: &mut PgConnection, events: &[Uuid]) -> StorageResult<HashMap<EventId, String>> {
    let rows = fetch_all!(
        connection,
        "SELECT event_id, outcome FROM refused_events WHERE event_id = ANY($1)",
        events
    );
    Ok(rows
        .into_iter()
        .map(|row| (EventId::new(row.event_id), row.outcome))
        .collect())
}

pub async fn remember(connection: &mut PgConnection, refusals: &[(EventId, String)]) -> StorageResult<()> {
    write_batch!(
        connection,
        "INSERT INTO refused_events (event_id, outcome)
         SELECT * FROM UNNEST($1::uuid[], $2::text[]) AS r (event_id, outcome) ORDER BY 1
         ON CONFLICT (event_id) DO NOTHING",
        (event_id, outcome) in refusals =>
            events: Uuid = event_id.get(),
            outcomes: &str = outcome.as_str()
    );
    Ok(())
}

/// Deletes the refusals of these refunds, each given as an event and its transaction_id. It applies to a
/// refund that a worker received while the claim of its sale was lost, if the claim is
/// [rebuilt](super::claims::rebuild) and not open yet. Refunds older than their sale stay refused.
pub async fn forget_of_lost_claims(
    executor: impl PgExecutor<'_>,
    refunds: &[(EventId, &str)],
) -> StorageResult<u64> {
    Ok(write_batch!(
        executor,
        "DELETE FROM refused_events r
         USING UNNEST($1::uuid[], $2::text[]) AS refund (event_id, transaction_id), transaction_claims c
         WHERE r.event_id = refund.event_id AND c.transaction_id = refund.transaction_id
           AND c.state = 'open' AND c.relay_after = 'infinity' AND c.event_id < refund.event_id",
        (event_id, transaction_id) in refunds =>
            events: Uuid = event_id.get(),
            transaction_ids: &str = *transaction_id
    ))
}

/// Deletes refusals from before `before`. Bounded.
pub async fn forget(pool: &PgPool, before: DateTime<Utc>, limit: i64) -> StorageResult<u64> {
    forget!(
        pool,
        "refused_events",
        "event_id",
        "refused_at < $1 ORDER BY refused_at",
        before,
        limit
    )
}
