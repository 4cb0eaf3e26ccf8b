//! `GET /api/advertiser/affiliate-programs/{program_id}/processor-connection/health`: whether the processor's
//! events arrive and become sales.

use chrono::{DateTime, Utc};
use domain::processors::event_types::{MissingEventType, proven_missing};
use messages::instant::as_instant;
use storage::processor::processor_events::{self, UnresolvedEvent};
use storage::reads::program_health;

use crate::management::access::ReadProgram;
use crate::management::access::right::Read;
use crate::management::answers::view;
use crate::management::prelude::*;

#[derive(Debug, Serialize, ToSchema)]
pub struct ProcessorHealth {
    /// What must be missing at the processor's endpoint, because other events show that there was something to send.
    missing_event_types: Vec<MissingEventTypeView>,
    /// Events of which nothing came, until a person decides: the latest 20.
    unresolved_events: Vec<UnresolvedEventView>,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct MissingEventTypeView {
    /// The processor's type.
    kind: &'static str,
    /// For people: what was seen, and what is lost.
    message: &'static str,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct UnresolvedEventView {
    /// The processor's.
    processor_event_id: String,
    /// The processor's type.
    kind: String,
    /// `review`, when no rule can decide about it, or `stuck`, when it contradicts what is known.
    #[schema(pattern = "^(review|stuck)$")]
    state: String,
    reason: Option<String>,
    #[serde(serialize_with = "as_instant")]
    received_at: DateTime<Utc>,
}

view! { |rule: MissingEventType| MissingEventTypeView { message; kind: rule.missing } }

view! { |row: UnresolvedEvent| UnresolvedEventView { processor_event_id, kind, state, reason, received_at } }

const SHOWN: i64 = 20;

/// Read whether a processor's events are of use
#[utoipa::path(
    get,
    path = "/api/advertiser/affiliate-programs/{program_id}/processor-connection/health",
    responses((status = 200, description = "As it is.", body = Data<ProcessorHealth>))
)]
pub async fn read_processor_health(mut read: ReadProgram<Read>) -> Answer<ProcessorHealth> {
    let program_id = read.ids;
    let received = program_health::received_event_types(&mut read.db, program_id).await?;
    let unresolved = processor_events::unresolved(&mut read.db, program_id, SHOWN).await?;
    Ok(data(ProcessorHealth {
        missing_event_types: proven_missing(&received)
            .into_iter()
            .map(MissingEventTypeView::from)
            .collect(),
        unresolved_events: unresolved.into_iter().map(Into::into).collect(),
    }))
}
