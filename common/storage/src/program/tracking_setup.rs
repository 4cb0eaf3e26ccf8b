//! Progress of a program's set-up: test events, the processor's account, partners.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::error::StorageResult;
use crate::tracking::test_events::{self, TestEvents};
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
    let tested = test_events::of_program(connection, program_id).await?;
    let processor = fetch_optional!(
        &mut *connection,
        ProcessorAccount,
        "SELECT account_id, status, charges_enabled, payouts_enabled, details_submitted, connected_at
         FROM processor_connections WHERE program_id = $1",
        program_id.get(),
    );
    let has_partners = fetch_scalar!(
        connection,
        r#"SELECT EXISTS (SELECT 1 FROM partner_programs WHERE program_id = $1 AND status = 'approved') AS "has!""#,
        program_id.get(),
    );
    Ok(TrackingSetup {
        clicks: tested.map_or(TestEvents::NONE, |tested| tested.clicks),
        leads: tested.map_or(TestEvents::NONE, |tested| tested.leads),
        processor,
        has_partners,
    })
}
