//! `GET /api/v1/cli/status`: how the program is doing.

use axum::Json;
use axum::extract::State;
use axum::http::Uri;
use common::domain::ids::ProgramId;
use common::storage::program_health::{self, ProgramStatus};
use serde::Serialize;
use url::form_urlencoded;

use crate::app::App;
use crate::caller::Caller;
use crate::error::ApiError;
use crate::request_id::RequestId;
use crate::routes::test_event::OTHER_PROGRAM;

const FAILED: &str = "Program status failed";

/// Always under `data`: a warning about the key may stand beside it.
#[derive(Debug, Serialize)]
pub struct StatusAnswer {
    data: Status,
}

#[derive(Debug, Serialize)]
struct Status {
    program_id: String,
    name: String,
    domain: Option<String>,
    dns_verified: bool,
    stripe_connected: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stripe_charges_enabled: Option<bool>,
    recent_events: RecentEvents,
    active_partners: i64,
    pending_commissions: i64,
}

/// Real events of the last 24 hours.
#[derive(Debug, Serialize)]
struct RecentEvents {
    clicks_24h: i64,
    leads_24h: i64,
    sales_24h: i64,
}

pub async fn status(
    State(app): State<App>,
    request_id: RequestId,
    caller: Caller,
    uri: Uri,
) -> Result<Json<StatusAnswer>, ApiError> {
    look_up(&app, caller, &uri)
        .await
        .map_err(|error| error.quoting(&request_id))
}

async fn look_up(app: &App, caller: Caller, uri: &Uri) -> Result<Json<StatusAnswer>, ApiError> {
    let program_id = caller.program("Missing API token", FAILED)?;
    if asked_for(uri)?.is_some_and(|asked| asked != program_id) {
        return Err(ApiError::Forbidden(OTHER_PROGRAM));
    }
    let status = program_health::status(&app.pool, program_id, app.clock.now())
        .await
        .map_err(|error| ApiError::internal(FAILED, error))?;
    Ok(Json(StatusAnswer {
        data: Status::new(program_id, status),
    }))
}

/// `program_id` of the query. The key says already which program it is, so it need not be there.
fn asked_for(uri: &Uri) -> Result<Option<ProgramId>, ApiError> {
    let query = uri.query().unwrap_or_default();
    form_urlencoded::parse(query.as_bytes())
        .find(|(name, _)| name == "program_id")
        .map(|(_, text)| {
            text.parse()
                .map(ProgramId::new)
                .map_err(|_| ApiError::bad_request("program_id must be an integer"))
        })
        .transpose()
}

impl Status {
    fn new(program_id: ProgramId, status: ProgramStatus) -> Self {
        Self {
            program_id: program_id.to_string(),
            name: status.name,
            domain: status.domain,
            dns_verified: status.dns_verified,
            stripe_connected: status.processor_connected,
            stripe_charges_enabled: status.charges_enabled,
            recent_events: RecentEvents {
                clicks_24h: status.recent.clicks,
                leads_24h: status.recent.leads,
                sales_24h: status.recent.sales,
            },
            active_partners: status.active_partners,
            pending_commissions: status.pending_commissions,
        }
    }
}
