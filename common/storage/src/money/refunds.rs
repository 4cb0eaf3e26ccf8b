//! `refunds`, and `parked_refunds` for refunds that arrived before their sale was recorded.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::error::StorageResult;
use domain::ids::{EventId, ProgramId, SaleId};

/// An idempotency key that was already used on a sale, and the event that used it.
#[derive(Debug)]
pub struct RefundKeyUse {
    pub sale_id: SaleId,
    pub event_id: EventId,
    pub refund_key: String,
}

pub async fn keys_of_sales(connection: &mut PgConnection, sales: &[i64]) -> StorageResult<Vec<RefundKeyUse>> {
    Ok(fetch_all!(
        connection,
        RefundKeyUse,
        "SELECT sale_id, event_id, refund_key FROM refunds WHERE sale_id = ANY($1)",
        sales
    ))
}

#[derive(Debug)]
pub struct NewRefund {
    pub event_id: EventId,
    pub sale_id: SaleId,
    pub program_id: ProgramId,
    /// `api` or `processor`.
    pub channel: &'static str,
    pub refund_key: String,
    pub requested_cents: Option<i64>,
    pub effective_cents: i64,
    pub deducted_cents: i64,
    pub refund_reason: Option<String>,
    pub refunded_at: DateTime<Utc>,
    /// JSON text of the outcome, which a redelivery of the record returns again.
    pub outcome: String,
}

pub async fn insert(connection: &mut PgConnection, refunds: &[NewRefund]) -> StorageResult<()> {
    write_batch!(
        connection,
        "INSERT INTO refunds (event_id, sale_id, program_id, channel, refund_key, requested_cents, effective_cents,
             deducted_cents, refund_reason, refunded_at, outcome)
         SELECT * FROM UNNEST($1::uuid[], $2::bigint[], $3::bigint[], $4::text[], $5::text[], $6::bigint[],
             $7::bigint[], $8::bigint[], $9::text[], $10::timestamptz[], $11::text[])",
        new in refunds =>
            events: Uuid = new.event_id.get(),
            sales: i64 = new.sale_id.get(),
            programs: i64 = new.program_id.get(),
            channels: &str = new.channel,
            keys: &str = new.refund_key.as_str(),
            requested: Option<i64> = new.requested_cents,
            effective: i64 = new.effective_cents,
            deducted: i64 = new.deducted_cents,
            reasons: Option<&str> = new.refund_reason.as_deref(),
            times: DateTime<Utc> = new.refunded_at,
            outcomes: &str = new.outcome.as_str()
    );
    Ok(())
}

/// Outcomes (JSON text) of refunds that an earlier delivery of these events recorded.
pub async fn outcomes(
    connection: &mut PgConnection,
    events: &[Uuid],
) -> StorageResult<std::collections::HashMap<EventId, String>> {
    let rows = fetch_all!(
        connection,
        "SELECT event_id, outcome FROM refunds WHERE event_id = ANY($1)",
        events
    );
    Ok(rows
        .into_iter()
        .map(|row| (EventId::new(row.event_id), row.outcome))
        .collect())
}

#[derive(Debug, Clone)]
pub struct ParkedRefund {
    pub event_id: EventId,
    pub program_id: ProgramId,
    pub transaction_id: String,
    pub reply_to: Option<String>,
    /// JSON text of the record.
    pub payload: String,
}

/// Parks refunds. The caller holds the locks of their claims, so no sale can be recorded in between.
pub async fn park(connection: &mut PgConnection, refunds: &[ParkedRefund]) -> StorageResult<()> {
    write_batch!(
        connection,
        "INSERT INTO parked_refunds (event_id, program_id, transaction_id, reply_to, payload)
         SELECT * FROM UNNEST($1::uuid[], $2::bigint[], $3::text[], $4::text[], $5::text[])
         ON CONFLICT (event_id) DO NOTHING",
        parked in refunds =>
            events: Uuid = parked.event_id.get(),
            programs: i64 = parked.program_id.get(),
            transaction_ids: &str = parked.transaction_id.as_str(),
            replies: Option<&str> = parked.reply_to.as_deref(),
            payloads: &str = parked.payload.as_str()
    );
    Ok(())
}

/// Takes the refunds parked for these transaction_ids, oldest first (event ids ascend with time).
pub async fn take_parked(
    connection: &mut PgConnection,
    transaction_ids: &[&str],
) -> StorageResult<Vec<ParkedRefund>> {
    let mut parked = fetch_all!(
        connection,
        ParkedRefund,
        "DELETE FROM parked_refunds WHERE transaction_id = ANY($1)
         RETURNING event_id, program_id, transaction_id, reply_to, payload",
        transaction_ids as &[&str],
    );
    parked.sort_by_key(|refund| refund.event_id);
    Ok(parked)
}
