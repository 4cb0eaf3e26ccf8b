//! `GET /api/v1/cli/status`: the state of the program.

use std::collections::BTreeSet;

use axum::Json;
use axum::extract::State;
use axum::http::Uri;
use domain::ids::ProgramId;
use domain::processors::event_types::{SUBSCRIBED, never_received, proven_missing};
use serde::Serialize;
use storage::reads::program_health::{self, ProgramStatus};
use url::form_urlencoded;
use utoipa::ToSchema;

use crate::app::App;
use crate::http::error::ApiError;
use crate::http::openapi::envelopes::PlatformError;
use crate::http::openapi::examples::Examples;
use crate::http::request_id::RequestId;
use crate::tracking::caller::Caller;
use crate::tracking::test_mode::OTHER_PROGRAM;

const FAILED: &str = "Program status failed";

/// Always under `data`: a warning about the key may be beside it.
#[derive(Debug, Serialize, ToSchema)]
pub struct StatusAnswer {
    data: Status,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ProgramStatus)]
struct Status {
    /// A number, in a string.
    #[schema(pattern = "^[0-9]+$")]
    program_id: String,
    name: String,
    #[schema(required = true)]
    domain: Option<String>,
    dns_verified: bool,
    stripe_connected: bool,
    /// Absent while no account is connected.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = bool, required = false)]
    stripe_charges_enabled: Option<bool>,
    /// Absent while no account is connected.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = StripeEvents, required = false)]
    stripe_events: Option<StripeEvents>,
    recent_events: RecentEvents,
    #[schema(minimum = 0)]
    active_partners: i64,
    #[schema(minimum = 0)]
    pending_commissions: i64,
}

/// What Stripe has sent. Events of its test mode do not count: they are answered 200, and nothing comes of them.
#[derive(Debug, Serialize, ToSchema)]
struct StripeEvents {
    /// The event types to subscribe to of which none arrived within 30 days. Without disputes, for example, there are none.
    #[schema(value_type = Vec<String>)]
    never_received: Vec<&'static str>,
    /// For people: types that must be missing at the endpoint, because other events show that there was something to send.
    #[schema(value_type = Vec<String>)]
    warnings: Vec<&'static str>,
}

impl StripeEvents {
    fn new(received: &BTreeSet<String>) -> Self {
        Self {
            never_received: never_received(received),
            warnings: proven_missing(received).iter().map(|rule| rule.message).collect(),
        }
    }
}

/// Real events of the last 24 hours.
#[derive(Debug, Serialize, ToSchema)]
struct RecentEvents {
    #[schema(minimum = 0)]
    clicks_24h: i64,
    #[schema(minimum = 0)]
    leads_24h: i64,
    #[schema(minimum = 0)]
    sales_24h: i64,
}

/// How the program is doing
///
/// Its connections, its partners, and the events of the last day.
#[utoipa::path(
    get,
    path = "/api/v1/cli/status",
    tag = "set-up",
    security(("program_key" = [])),
    params((
        "program_id" = Option<i64>,
        Query,
        description = "The key's own program; it need not be named.",
        example = 1
    )),
    responses(
        (status = 200, description = "As of now.", body = StatusAnswer),
        (status = 400, description = "The program_id is no number.", body = PlatformError),
        (status = 403, description = "The key is of another program.", body = PlatformError),
    )
)]
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
    let program_id = caller.program("Missing API token", FAILED)?.program_id;
    if asked_for(uri)?.is_some_and(|asked| asked != program_id) {
        return Err(ApiError::Forbidden(OTHER_PROGRAM));
    }
    let mut connection = app
        .reads
        .acquire()
        .await
        .map_err(|error| ApiError::internal(FAILED, error))?;
    let status = program_health::status(&mut connection, program_id, app.clock.now())
        .await
        .map_err(|error| ApiError::internal(FAILED, error))?;
    Ok(Json(StatusAnswer {
        data: Status::new(program_id, status),
    }))
}

/// The query's `program_id`. It is optional, because the key already identifies the program.
fn asked_for(uri: &Uri) -> Result<Option<ProgramId>, ApiError> {
    let query = uri.query().unwrap_or_default();
    form_urlencoded::parse(query.as_bytes())
        .find(|(name, _)| name == "program_id")
        .map(|(_, text)| text.parse().map(ProgramId::new).map_err(|_| NO_NUMBER))
        .transpose()
}

const NO_NUMBER: ApiError = ApiError::refusal("program_id must be an integer");

impl Status {
    fn new(program_id: ProgramId, status: ProgramStatus) -> Self {
        Self {
            program_id: program_id.to_string(),
            name: status.name,
            domain: status.domain,
            dns_verified: status.dns_verified,
            stripe_connected: status.processor_connected,
            stripe_charges_enabled: status.charges_enabled,
            stripe_events: status.received_event_types.as_ref().map(StripeEvents::new),
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

pub fn examples() -> Examples {
    let status = ProgramStatus {
        name: "Shop".to_owned(),
        domain: Some("shop.example".to_owned()),
        dns_verified: true,
        processor_connected: true,
        charges_enabled: Some(true),
        recent: program_health::RecentEvents {
            clicks: 120,
            leads: 14,
            sales: 3,
        },
        active_partners: 2,
        pending_commissions: 5,
        received_event_types: Some(
            SUBSCRIBED
                .into_iter()
                .filter(|kind| !["invoice_payment.paid", "refund.failed"].contains(kind))
                .map(str::to_owned)
                .collect(),
        ),
    };
    let data = Status::new(ProgramId::new(1), status);
    Examples::default()
        .answer("Connected", StatusAnswer { data })
        .refusal(&NO_NUMBER)
        .refusal(&ApiError::Forbidden(OTHER_PROGRAM))
        .refusal(&ApiError::quoted_example(FAILED))
}
