//! Progress of a program's set-up: test events, the processor's account, partners.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::error::StorageResult;
use crate::tracking::test_events::{COUNTED, LatestTestEvent, TestEvents};
use domain::ids::ProgramId;

#[derive(Debug, Clone)]
pub struct TrackingSetup {
    pub clicks: TestEvents,
    pub leads: TestEvents,
    pub processor: Option<ProcessorAccount>,
    /// At least one membership is approved.
    pub has_partners: bool,
}

/// The processor's account, as last reported.
#[derive(Debug, Clone)]
pub struct ProcessorAccount {
    pub account_id: String,
    /// `pending`, `connected` or `disconnected`.
    pub status: String,
    pub charges_enabled: bool,
    pub payouts_enabled: bool,
    pub details_submitted: bool,
    pub connected_at: Option<DateTime<Utc>>,
}

pub async fn of_program(
    connection: &mut PgConnection,
    program_id: ProgramId,
) -> StorageResult<TrackingSetup> {
    let tests = sqlx::query!(
        r#"(SELECT true AS "is_click!", id AS "id!", click_timestamp AS "timestamp!", created_at AS "created_at!"
            FROM click_events WHERE program_id = $1 AND is_test ORDER BY click_timestamp DESC, id DESC LIMIT $2)
           UNION ALL
           (SELECT false, id, lead_timestamp, created_at
            FROM lead_events WHERE program_id = $1 AND is_test ORDER BY lead_timestamp DESC, id DESC LIMIT $2)"#,
        program_id.get(),
        COUNTED,
    )
    .fetch_all(&mut *connection)
    .await?;
    let of_kind = |clicks: bool| {
        let events = || tests.iter().filter(|row| row.is_click == clicks);
        TestEvents {
            count: i64::try_from(events().count()).unwrap_or(COUNTED),
            latest: events()
                .max_by_key(|row| (row.timestamp, row.id))
                .map(|row| LatestTestEvent {
                    row_id: row.id,
                    timestamp: row.timestamp,
                    created_at: row.created_at,
                }),
        }
    };
    let processor = sqlx::query_as!(
        ProcessorAccount,
        "SELECT account_id, status, charges_enabled, payouts_enabled, details_submitted, connected_at
         FROM processor_connections WHERE program_id = $1",
        program_id.get(),
    )
    .fetch_optional(&mut *connection)
    .await?;
    let has_partners = sqlx::query_scalar!(
        r#"SELECT EXISTS (SELECT 1 FROM partner_programs WHERE program_id = $1 AND status = 'approved') AS "has!""#,
        program_id.get(),
    )
    .fetch_one(connection)
    .await?;
    Ok(TrackingSetup {
        clicks: of_kind(true),
        leads: of_kind(false),
        processor,
        has_partners,
    })
}
