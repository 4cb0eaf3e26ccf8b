//! `GET /api/v1/programs/me/readiness`: how far the program's set-up has come.
//!
//! Every answer is newly computed, so `force_recheck` has no effect. All errors of this route use the typed
//! envelope.

use axum::Json;
use axum::extract::State;
use chrono::{DateTime, TimeDelta, Utc};
use domain::ids::ProgramId;
use domain::programs::readiness::{
    Facts, Gate, GateReport, GateStatus, Gates, LastEvents, NextAction, ReadinessState, assess,
};
use domain::tracking::test_chain::{ChainVerdict, Verdict};
use messages::instant::instant;
use serde::Serialize;
use storage::reads::program_health::{self, ProgramHealth, RecentEvents};
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
    gates: GatesAnswer,
    last_event_at: LastEventsAnswer,
    counts_24h: Counts,
    /// ISO 8601 in UTC: when the key was made.
    #[schema(format = DateTime)]
    key_rotated_at: String,
    poll: Poll,
}

/// In the order in which they are best passed.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Gates)]
struct GatesAnswer {
    profile: GateAnswer,
    economics: GateAnswer,
    payout: PayoutGate,
    tracking: TrackingGate,
    live: LiveGate,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = GateReport)]
struct GateAnswer {
    /// `unknown`: nothing is left to do, but no event has confirmed it yet.
    #[schema(value_type = String, pattern = "^(pass|fail|unknown)$")]
    status: GateStatus,
    /// The next step while it is not passed: `complete_program_profile`, `set_commission_policy`,
    /// `surface_stripe_connect_url`, `install_tracker_or_send_events` or `run_synthetic_sale_chain`.
    #[schema(value_type = String, required = false)]
    #[serde(skip_serializing_if = "Option::is_none")]
    next_action: Option<NextAction>,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = PayoutGate)]
struct PayoutGate {
    #[schema(value_type = String, pattern = "^(pass|fail|unknown)$")]
    status: GateStatus,
    #[schema(value_type = String, required = false)]
    #[serde(skip_serializing_if = "Option::is_none")]
    next_action: Option<NextAction>,
    /// Always `stripe`: whose account is, or is to be, connected.
    mode: &'static str,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = TrackingGate)]
struct TrackingGate {
    #[schema(value_type = String, pattern = "^(pass|fail|unknown)$")]
    status: GateStatus,
    #[schema(value_type = String, required = false)]
    #[serde(skip_serializing_if = "Option::is_none")]
    next_action: Option<NextAction>,
    #[schema(pattern = "^(receiving_events|no_events)$")]
    detail: &'static str,
    /// Now, ISO 8601 in UTC: every answer is computed afresh.
    #[schema(format = DateTime)]
    checked_at: String,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = LiveGate)]
struct LiveGate {
    #[schema(value_type = String, pattern = "^(pass|fail|unknown)$")]
    status: GateStatus,
    #[schema(value_type = String, required = false)]
    #[serde(skip_serializing_if = "Option::is_none")]
    next_action: Option<NextAction>,
    /// `attributed` once a test chain has reached its partner; `pending` before.
    #[schema(value_type = ChainSchema)]
    test_chain: ChainVerdict,
}

#[expect(dead_code, reason = "described, never built: the domain writes it")]
#[derive(ToSchema)]
#[schema(as = TestChain)]
struct ChainSchema {
    #[schema(pattern = "^(attributed|pending)$")]
    click: String,
    #[schema(pattern = "^(attributed|pending)$")]
    lead: String,
    #[schema(pattern = "^(attributed|pending)$")]
    sale: String,
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
    let now = app.clock.now();
    let health = program_health::health(&mut connection, program_id, now)
        .await
        .map_err(|error| ApiError::ReadinessFailed(error.into()))?;
    Ok(Json(ReadinessAnswer::new(program_id, &health, now)))
}

impl ReadinessAnswer {
    fn new(program_id: ProgramId, health: &ProgramHealth, now: DateTime<Utc>) -> Self {
        let readiness = assess(&health.facts);
        let LastEvents { click, lead, sale } = health.facts.last_event_at;
        Self {
            program_id,
            state: readiness.state,
            integration_verified: health.facts.chain_verified_at.is_some(),
            blocker: readiness.blocker,
            gates: GatesAnswer::new(readiness.gates, &health.facts, now),
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

impl GatesAnswer {
    fn new(gates: Gates, facts: &Facts, now: DateTime<Utc>) -> Self {
        let chain = if facts.chain_verified_at.is_some() {
            Verdict::Attributed
        } else {
            Verdict::Pending
        };
        let detail = match gates.tracking.status {
            GateStatus::Pass => "receiving_events",
            GateStatus::Fail | GateStatus::Unknown => "no_events",
        };
        Self {
            profile: gates.profile.into(),
            economics: gates.economics.into(),
            payout: PayoutGate {
                status: gates.payout.status,
                next_action: gates.payout.next_action,
                mode: "stripe",
            },
            tracking: TrackingGate {
                status: gates.tracking.status,
                next_action: gates.tracking.next_action,
                detail,
                checked_at: instant(now),
            },
            live: LiveGate {
                status: gates.live.status,
                next_action: gates.live.next_action,
                test_chain: ChainVerdict::uniform(chain),
            },
        }
    }
}

impl From<GateReport> for GateAnswer {
    fn from(report: GateReport) -> Self {
        Self {
            status: report.status,
            next_action: report.next_action,
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
        .answer(
            "Not there yet",
            ReadinessAnswer::new(ProgramId::new(1), &health, at(9)),
        )
        .refusal(&ApiError::InvalidKey)
        .refusal(&ApiError::KeyRetired)
        .refusal(&ApiError::ReadinessFailed(anyhow::Error::msg("an example")))
}
