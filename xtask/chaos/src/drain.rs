//! The work in flight, and its failures.

use anyhow::Result;
use async_nats::jetstream::Context;
use sqlx::PgPool;
use storage::operations::verify;
use trials::unsettled;

/// Descriptions of unfinished work.
pub(super) async fn pending(pool: &PgPool, jetstream: &Context) -> Result<Vec<String>> {
    let rows: Vec<(String, i64)> = sqlx::query_as(
        "SELECT 'open claims', count(*) FROM transaction_claims WHERE state = 'open'
         UNION ALL SELECT 'unsent messages in the outbox', count(*) FROM outbox
         UNION ALL SELECT 'parked refunds', count(*) FROM parked_refunds
         UNION ALL SELECT 'outbound events without a position', count(*) FROM outbound_events WHERE position IS NULL
         UNION ALL SELECT 'webhooks', count(*) FROM webhook_queue
         UNION ALL SELECT 'processor events to be retried soon', count(*) FROM processor_events
                   WHERE state = 'open' OR (state = 'parked' AND relay_after < now() + interval '1 minute')",
    )
    .fetch_all(pool)
    .await?;
    let left = rows.into_iter().filter(|(_, count)| *count > 0);
    let left = left.map(|(what, count)| format!("{count} {what}"));
    let messages = unsettled(jetstream).await?.into_iter();
    let messages = messages.filter(|(_, count)| *count > 0);
    let messages = messages.map(|(subject, count)| format!("{count} messages of {subject}"));
    Ok(left.chain(messages).collect())
}

/// What `ctl verify` finds, and dead letters: no injected fault may cause either.
pub(super) async fn broken(pool: &PgPool) -> Result<Vec<String>> {
    let mut found: Vec<String> = sqlx::query_scalar(
        "SELECT 'dead letter of ' || subject || ': ' || reason FROM dead_letters WHERE replayed_at IS NULL",
    )
    .fetch_all(pool)
    .await?;
    for violation in verify::violations(pool).await? {
        let name = violation.invariant;
        found.extend(violation.rows.iter().map(|row| format!("verify: {name}: {row}")));
    }
    Ok(found)
}
