//! `GET /api/v1/programs/me/readiness`: how far the program's set-up has come.
//!
//! Every answer is computed afresh, so `force_recheck` has no effect. All errors of this route have a type.

use axum::Json;
use axum::extract::State;
use chrono::{DateTime, TimeDelta};
use domain::ids::ProgramId;
use domain::readiness::{Facts, Gate, Gates, LastEvents, ReadinessState, assess};
use messages::instant::instant;
use serde::Serialize;
use storage::program_health::{self, ProgramHealth, RecentEvents};
use utoipa::ToSchema;

use crate::app::App;
use crate::http::error::ApiError;
use crate::http::openapi::envelopes::{ReadinessFailed, ReadinessUnauthorized};
use crate::http::openapi::examples::Examples;
use crate::tracking::caller::Caller;

/// How long a polling client should wait between two requests.
const POLL_AFTER_SECONDS: u32 = 5;

#[derive(Debug, Serialize, ToSchema)]
pub struct ReadinessAnswer {
    #[schema(value_type = i64)]
    program_id: ProgramId,
    /// From an incomplete profile (`draft`) to a recorded real sale (`live_verified`).
    #[schema(value_type = String, pattern = "^(draft|configuring|ready|integration_verified|live_verified)$")]
    state: ReadinessState,
    /// A test chain reached its partner.
    integration_verified: bool,
    /// The first gate that is not passed.
    #[schema(value_type = Option<String>, required = true, pattern = "^(profile|economics|payout|tracking|live)$")]
    blocker: Option<Gate>,
    #[schema(value_type = GatesSchema)]
    gates: Gates,
    last_event_at: LastEventsAnswer,
    counts_24h: Counts,
    /// ISO 8601 in UTC: when the key was made.
    #[schema(format = DateTime)]
    key_rotated_at: String,
    poll: Poll,
}

/// In the order in which they are best passed.
#[expect(dead_code, reason = "described, never built: the domain writes it")]
#[derive(ToSchema)]
#[schema(as = Gates)]
struct GatesSchema {
    profile: GateSchema,
    economics: GateSchema,
    payout: GateSchema,
    tracking: GateSchema,
    live: GateSchema,
}

#[expect(dead_code, reason = "described, never built: the domain writes it")]
#[derive(ToSchema)]
#[schema(as = GateReport)]
struct GateSchema {
    /// `unknown`: nothing is left to do, but no event has confirmed it yet.
    #[schema(pattern = "^(pass|fail|unknown)$")]
    status: String,
    /// The next step while it is not passed: `complete_program_profile`, `set_commission_policy`,
    /// `surface_stripe_connect_url`, `install_tracker_or_send_events` or `run_synthetic_sale_chain`.
    #[schema(required = false)]
    next_action: String,
}

/// Of real events; ISO 8601 UTC with milliseconds.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = LastEvents)]
struct LastEventsAnswer {
    #[schema(required = true, format = DateTime)]
    click: Option<String>,
    #[schema(required = true, format = DateTime)]
    lead: Option<String>,
    #[schema(required = true, format = DateTime)]
    sale: Option<String>,
}

/// Real events of the last 24 hours.
#[derive(Debug, Serialize, ToSchema)]
struct Counts {
    #[schema(minimum = 0)]
    clicks: i64,
    #[schema(minimum = 0)]
    leads: i64,
    #[schema(minimum = 0)]
    sales: i64,
}

/// How long a polling client should wait between two requests.
#[derive(Debug, Serialize, ToSchema)]
struct Poll {
    retry_after_seconds: u32,
}

/// How far the program's set-up has come
///
/// Five gates, the first one that is not passed, and its next step. Errors have a type.
#[utoipa::path(
    get,
    path = "/api/v1/programs/me/readiness",
    tag = "set-up",
    security(("program_key" = [])),
    params((
        "force_recheck" = Option<String>,
        Query,
        description = "No effect: every answer is computed afresh.",
        example = "true"
    )),
    responses(
        (status = 200, description = "As of now.", body = ReadinessAnswer),
        (status = 401, description = "No usable key.", body = ReadinessUnauthorized),
        (
            status = 500,
            description = "The state could not be read.",
            body = ReadinessFailed,
            headers(("Retry-After" = i64, description = "How many seconds to wait before asking again."))
        ),
    )
)]
pub async fn readiness(State(app): State<App>, caller: Caller) -> Result<Json<ReadinessAnswer>, ApiError> {
    let program_id = match caller {
        Caller::Program(program) => program.program_id,
        Caller::Anonymous | Caller::EmptyToken | Caller::Unknown | Caller::Archived(_) => {
            return Err(ApiError::InvalidKey);
        }
        Caller::Undecided(unavailable) => return Err(ApiError::ReadinessFailed(unavailable.into())),
    };
    let mut connection = app
        .reads
        .acquire()
        .await
        .map_err(|error| ApiError::ReadinessFailed(error.into()))?;
    let health = program_health::health(&mut connection, program_id, app.clock.now())
        .await
        .map_err(|error| ApiError::ReadinessFailed(error.into()))?;
    Ok(Json(ReadinessAnswer::new(program_id, &health)))
}

impl ReadinessAnswer {
    fn new(program_id: ProgramId, health: &ProgramHealth) -> Self {
        let readiness = assess(&health.facts);
        let LastEvents { click, lead, sale } = health.facts.last_event_at;
        Self {
            program_id,
            state: readiness.state,
            integration_verified: health.facts.chain_verified_at.is_some(),
            blocker: readiness.blocker,
            gates: readiness.gates,
            last_event_at: LastEventsAnswer {
                click: click.map(instant),
                lead: lead.map(instant),
                sale: sale.map(instant),
            },
            counts_24h: Counts {
                clicks: health.recent.clicks,
                leads: health.recent.leads,
                sales: health.recent.sales,
            },
            key_rotated_at: instant(health.token_created_at),
            poll: Poll {
                retry_after_seconds: POLL_AFTER_SECONDS,
            },
        }
    }
}

pub fn examples() -> Examples {
    let at = |day: i64| DateTime::UNIX_EPOCH + TimeDelta::days(20_800 + day);
    let health = ProgramHealth {
        facts: Facts {
            name: "Shop".to_owned(),
            domain: Some("shop.example".to_owned()),
            has_policy: true,
            processor_connected: false,
            has_test_events: true,
            last_event_at: LastEvents {
                click: Some(at(9)),
                lead: Some(at(8)),
                sale: None,
            },
            chain_verified_at: Some(at(7)),
        },
        recent: RecentEvents {
            clicks: 120,
            leads: 14,
            sales: 0,
        },
        token_created_at: at(0),
    };
    Examples::default()
        .answer("Not there yet", ReadinessAnswer::new(ProgramId::new(1), &health))
        .refusal(&ApiError::InvalidKey)
        .refusal(&ApiError::KeyRetired)
        .refusal(&ApiError::ReadinessFailed(anyhow::Error::msg("an example")))
}
