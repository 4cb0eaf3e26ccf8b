//! `GET /api/v1/programs/me/readiness`: how far the program's set-up has come.
//!
//! Every answer is a fresh look, so `force_recheck` changes nothing. Errors are typed here, all of them.

use axum::Json;
use axum::extract::State;
use chrono::{DateTime, SecondsFormat, Utc};
use common::domain::ids::ProgramId;
use common::domain::readiness::{Gate, Gates, LastEvents, ReadinessState, assess};
use common::storage::program_health::{self, ProgramHealth};
use serde::Serialize;

use crate::app::App;
use crate::caller::Caller;
use crate::error::ApiError;

/// How long a client that watches should wait between two looks.
const POLL_AFTER_SECONDS: u32 = 5;

#[derive(Debug, Serialize)]
pub struct ReadinessAnswer {
    program_id: ProgramId,
    state: ReadinessState,
    integration_verified: bool,
    blocker: Option<Gate>,
    gates: Gates,
    last_event_at: LastEventsAnswer,
    counts_24h: Counts,
    key_rotated_at: String,
    poll: Poll,
}

/// Of real events; ISO 8601 UTC with milliseconds.
#[derive(Debug, Serialize)]
struct LastEventsAnswer {
    click: Option<String>,
    lead: Option<String>,
    sale: Option<String>,
}

/// Real events of the last 24 hours.
#[derive(Debug, Serialize)]
struct Counts {
    clicks: i64,
    leads: i64,
    sales: i64,
}

#[derive(Debug, Serialize)]
struct Poll {
    retry_after_seconds: u32,
}

pub async fn readiness(State(app): State<App>, caller: Caller) -> Result<Json<ReadinessAnswer>, ApiError> {
    let program_id = match caller {
        Caller::Program(program_id) => program_id,
        Caller::Anonymous | Caller::EmptyToken | Caller::Unknown => return Err(ApiError::InvalidKey),
        Caller::Undecided(unavailable) => return Err(ApiError::ReadinessFailed(unavailable.into())),
    };
    let health = program_health::health(&app.pool, program_id, app.clock.now())
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
                click: click.map(timestamp),
                lead: lead.map(timestamp),
                sale: sale.map(timestamp),
            },
            counts_24h: Counts {
                clicks: health.recent.clicks,
                leads: health.recent.leads,
                sales: health.recent.sales,
            },
            key_rotated_at: timestamp(health.token_created_at),
            poll: Poll {
                retry_after_seconds: POLL_AFTER_SECONDS,
            },
        }
    }
}

fn timestamp(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::Millis, true)
}
