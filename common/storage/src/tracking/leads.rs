//! `lead_events`.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::error::StorageResult;
use domain::ids::{CustomerId, EventId, ProgramId};

#[derive(Debug)]
pub struct NewLead<'a> {
    pub event_id: EventId,
    pub program_id: ProgramId,
    pub customer_id: CustomerId,
    pub led_at: DateTime<Utc>,
    pub click_id: String,
    pub customer_key: Option<&'a str>,
    pub event_name: Option<&'a str>,
    pub provisional: bool,
}

/// Which of these leads are already stored, and whether they were provisional.
pub async fn stored(
    connection: &mut PgConnection,
    events: &[Uuid],
    times: &[DateTime<Utc>],
) -> StorageResult<HashMap<EventId, bool>> {
    // The time is part of the partitioned table's key. Without it, the query would search every partition.
    let rows = fetch_all!(
        connection,
        "SELECT l.event_id, l.provisional
         FROM UNNEST($1::uuid[], $2::timestamptz[]) AS n (event_id, lead_timestamp)
         JOIN lead_events l ON l.event_id = n.event_id AND l.lead_timestamp = n.lead_timestamp",
        events,
        times,
    );
    Ok(rows
        .into_iter()
        .map(|row| (EventId::new(row.event_id), row.provisional))
        .collect())
}

pub async fn insert(connection: &mut PgConnection, leads: &[NewLead<'_>]) -> StorageResult<()> {
    write_batch!(
        connection,
        "INSERT INTO lead_events (event_id, program_id, customer_id, lead_timestamp, click_id, customer_key,
             event_name, provisional)
         SELECT * FROM UNNEST($1::uuid[], $2::bigint[], $3::bigint[], $4::timestamptz[], $5::text[], $6::text[],
             $7::text[], $8::bool[])",
        lead in leads =>
            events: Uuid = lead.event_id.get(),
            programs: i64 = lead.program_id.get(),
            customers: i64 = lead.customer_id.get(),
            times: DateTime<Utc> = lead.led_at,
            click_ids: &str = lead.click_id.as_str(),
            keys: Option<&str> = lead.customer_key,
            names: Option<&str> = lead.event_name,
            provisional: bool = lead.provisional
    );
    Ok(())
}
