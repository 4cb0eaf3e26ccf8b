//! In-app notifications of partners and advertisers.

use serde_json::Value;
use sqlx::PgConnection;
use uuid::Uuid;

use super::StorageResult;

#[derive(Debug)]
pub struct NewNotification {
    pub event_id: Uuid,
    pub program_id: i64,
    /// `None` addresses the advertiser.
    pub partner_id: Option<i64>,
    pub kind: &'static str,
    pub message: String,
    pub details: Value,
}

/// Stores a batch; one that is there already is left alone.
pub async fn add(connection: &mut PgConnection, notifications: &[NewNotification]) -> StorageResult<()> {
    let events: Vec<Uuid> = notifications.iter().map(|new| new.event_id).collect();
    let programs: Vec<i64> = notifications.iter().map(|new| new.program_id).collect();
    let partners: Vec<Option<i64>> = notifications.iter().map(|new| new.partner_id).collect();
    let kinds: Vec<&str> = notifications.iter().map(|new| new.kind).collect();
    let messages: Vec<&str> = notifications.iter().map(|new| new.message.as_str()).collect();
    let details: Vec<&Value> = notifications.iter().map(|new| &new.details).collect();
    sqlx::query!(
        "INSERT INTO notifications (event_id, program_id, recipient, partner_id, kind, message, details)
         SELECT event_id, program_id, CASE WHEN partner_id IS NULL THEN 'advertiser' ELSE 'partner' END,
                partner_id, kind, message, details
         FROM UNNEST($1::uuid[], $2::bigint[], $3::bigint[], $4::text[], $5::text[], $6::jsonb[])
              AS n (event_id, program_id, partner_id, kind, message, details)
         ON CONFLICT (event_id) DO NOTHING",
        &events,
        &programs,
        &partners as &[Option<i64>],
        &kinds as &[&str],
        &messages as &[&str],
        &details as &[&Value],
    )
    .execute(connection)
    .await?;
    Ok(())
}
