//! The work in flight, and its failures.

use anyhow::Result;
use async_nats::jetstream::Context;
use async_nats::jetstream::consumer::PullConsumer;
use messages::subject::Subject;
use sqlx::PgPool;
use storage::operations::verify;

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
    let mut left: Vec<String> = rows
        .into_iter()
        .filter(|(_, count)| *count > 0)
        .map(|(what, count)| format!("{count} {what}"))
        .collect();
    left.extend(unsettled(jetstream, &Subject::ALL).await?);
    Ok(left)
}

/// Descriptions of messages that are not acknowledged.
pub(super) async fn unsettled(jetstream: &Context, subjects: &[Subject]) -> Result<Vec<String>> {
    let mut left = Vec::new();
    for subject in subjects {
        let consumer: PullConsumer = jetstream
            .get_consumer_from_stream(subject.consumer_name(), subject.stream_name(""))
            .await?;
        let info = consumer.cached_info();
        let messages = info.num_pending + u64::try_from(info.num_ack_pending)?;
        if messages > 0 {
            left.push(format!("{messages} messages of {subject}"));
        }
    }
    Ok(left)
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
