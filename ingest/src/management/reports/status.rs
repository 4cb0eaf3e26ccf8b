//! `GET /api/tracking/status/{program_id}`: which steps of the tracking set-up are done.

use chrono::{DateTime, Utc};
use domain::ids::ProgramId;
use domain::people::permission::Permission;
use messages::instant::{as_instant, as_instant_if_any};
use storage::program::tracking_setup::{self, ProcessorAccount, TrackingSetup};
use storage::tracking::test_events::TestEvents;

use crate::management::access::AdvertiserUser;
use crate::management::answers::Ids;
use crate::management::prelude::*;

/// The connection's status while no processor is connected.
const NOT_CONNECTED: &str = "not_connected";
const CONNECTED: &str = "connected";

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TrackingStatus {
    /// A number, in a string.
    #[schema(pattern = "^-?[0-9]+$")]
    program_id: String,
    step_statuses: StepStatuses,
    statistics: Statistics,
    /// At least one partner is approved.
    has_partners: bool,
    #[serde(serialize_with = "as_instant")]
    last_updated: DateTime<Utc>,
}

/// Each `complete` or `pending`.
#[derive(Debug, Serialize, ToSchema)]
struct StepStatuses {
    /// Complete with the first test click.
    pageview: &'static str,
    /// Complete with the first test lead.
    referrals: &'static str,
    /// Complete while the processor's account is connected.
    payments: &'static str,
}

#[derive(Debug, Serialize, ToSchema)]
struct Statistics {
    pageview: TestStatistics,
    referrals: TestStatistics,
    payments: PaymentStatistics,
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct TestStatistics {
    /// Counted up to 10.
    #[schema(minimum = 0, maximum = 10)]
    test_event_count: i64,
    has_test_events: bool,
    #[schema(required = true)]
    latest_test_event: Option<LatestView>,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = LatestTestEvent)]
struct LatestView {
    id: i64,
    #[serde(serialize_with = "as_instant")]
    timestamp: DateTime<Utc>,
    #[serde(rename = "createdAt", serialize_with = "as_instant")]
    created_at: DateTime<Utc>,
}

#[derive(Debug, Default, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::struct_excessive_bools, reason = "the contract's fields")]
struct PaymentStatistics {
    /// `pending`, `connected` or `disconnected`; `not_connected` while there never was an account.
    stripe_connection_status: String,
    is_stripe_connected: bool,
    #[schema(required = true)]
    stripe_account_id: Option<String>,
    charges_enabled: bool,
    payouts_enabled: bool,
    details_submitted: bool,
    #[serde(serialize_with = "as_instant_if_any")]
    #[schema(required = true)]
    connection_date: Option<DateTime<Utc>>,
}

/// Which steps of setting up tracking are done
#[utoipa::path(
    get,
    path = "/api/tracking/status/{program_id}",
    responses((status = 200, description = "As of now.", body = Data<TrackingStatus>))
)]
pub async fn tracking_status(
    State(app): State<App>,
    user: AdvertiserUser,
    Ids(program_id): Ids<ProgramId>,
) -> Answer<TrackingStatus> {
    user.permitted(&app, program_id, Permission::TrackingRead).await?;
    let mut connection = app.reads.acquire().await?;
    let setup = tracking_setup::of_program(&mut connection, program_id).await?;
    Ok(data(TrackingStatus::new(program_id, setup, app.clock.now())))
}

impl TrackingStatus {
    fn new(program_id: ProgramId, setup: TrackingSetup, now: DateTime<Utc>) -> Self {
        let pageview = TestStatistics::new(setup.clicks);
        let referrals = TestStatistics::new(setup.leads);
        let payments = PaymentStatistics::new(setup.processor);
        Self {
            program_id: program_id.to_string(),
            step_statuses: StepStatuses {
                pageview: step(pageview.has_test_events),
                referrals: step(referrals.has_test_events),
                payments: step(payments.is_stripe_connected),
            },
            statistics: Statistics {
                pageview,
                referrals,
                payments,
            },
            has_partners: setup.has_partners,
            last_updated: now,
        }
    }
}

const fn step(is_complete: bool) -> &'static str {
    if is_complete { "complete" } else { "pending" }
}

impl TestStatistics {
    fn new(events: TestEvents) -> Self {
        Self {
            test_event_count: events.count,
            has_test_events: events.count > 0,
            latest_test_event: events.latest.map(|latest| LatestView {
                id: latest.row_id,
                timestamp: latest.timestamp,
                created_at: latest.created_at,
            }),
        }
    }
}

impl PaymentStatistics {
    fn new(account: Option<ProcessorAccount>) -> Self {
        match account {
            Some(account) => Self {
                is_stripe_connected: account.status == CONNECTED,
                stripe_connection_status: account.status,
                stripe_account_id: Some(account.account_id),
                charges_enabled: account.charges_enabled,
                payouts_enabled: account.payouts_enabled,
                details_submitted: account.details_submitted,
                connection_date: account.connected_at,
            },
            None => Self {
                stripe_connection_status: NOT_CONNECTED.to_owned(),
                ..Self::default()
            },
        }
    }
}
