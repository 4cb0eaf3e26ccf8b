//! `…/{endpoint_id}/deliveries`: the deliveries to an endpoint: sent, queued, and what the endpoint answered.

use axum::Json;
use chrono::{DateTime, Utc};
use domain::ids::{ProgramId, WebhookDeliveryId, WebhookEndpointId};
use domain::programs::outbound_event::OutboundEventType;
use domain::programs::webhook::message_id;
use domain::programs::webhook_endpoint::DeliveryState;
use messages::instant::{as_instant, as_instant_if_any};
use storage::outbound::webhook_deliveries::{self, DeliveryFilter, StoredDelivery};

use super::webhook_endpoints::stored;
use crate::http::field::refused;
use crate::http::query::Query;
use crate::management::access::ReadProgram;
use crate::management::access::right::Read;
use crate::management::answers::view;
use crate::management::prelude::*;

const DEFAULT_LIMIT: i64 = 20;
const MAX_LIMIT: i64 = 100;
const STATES: &str = "must be one of waiting, delivered, given_up, cancelled";
const TYPES: &str = "must be a type of event";

/// One event on its way to one endpoint, with the last attempt.
#[derive(Debug, Serialize, ToSchema)]
pub struct DeliveryView {
    id: i64,
    /// The `webhook-id` it is sent with: the same in every attempt and replay.
    event_id: String,
    #[serde(rename = "type")]
    event_type: String,
    /// `waiting` (for its first or next attempt), `delivered`, `given_up` (after its last attempt) or `cancelled` (the endpoint was disabled).
    #[schema(pattern = "^(waiting|delivered|given_up|cancelled)$")]
    state: &'static str,
    is_replay: bool,
    /// An example that was asked for.
    is_test: bool,
    attempts: i16,
    /// HTTP status of the last attempt; null when there was no answer.
    #[schema(required = true)]
    status: Option<i16>,
    /// Why the last attempt had no answer; null when it had one.
    #[schema(required = true)]
    failure: Option<String>,
    /// The beginning of the last answer.
    #[schema(required = true)]
    answer: Option<String>,
    /// Of the last attempt.
    #[schema(required = true)]
    duration_ms: Option<i32>,
    #[serde(serialize_with = "as_instant_if_any")]
    #[schema(required = true)]
    attempted_at: Option<DateTime<Utc>>,
    /// In the past while it waits for its turn or is under way. Null when there will be none.
    #[serde(serialize_with = "as_instant_if_any")]
    #[schema(required = true)]
    next_attempt_at: Option<DateTime<Utc>>,
    #[serde(serialize_with = "as_instant_if_any")]
    #[schema(required = true)]
    finished_at: Option<DateTime<Utc>>,
    #[serde(serialize_with = "as_instant")]
    created_at: DateTime<Utc>,
}

view! { |row: StoredDelivery| DeliveryView {
    event_type, is_replay, is_test, attempts, status, failure, answer, duration_ms, attempted_at, finished_at, created_at;
    id: row.delivery_id.get(),
    event_id: message_id(row.event_id),
    state: row.state.as_str(),
    next_attempt_at: row.due_at,
} }

/// Newest first.
#[derive(Debug, Serialize, ToSchema)]
pub struct DeliveryList {
    data: Vec<DeliveryView>,
    meta: DeliveryListMeta,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct DeliveryListMeta {
    /// `before` for the next ones; null at the end.
    #[schema(required = true)]
    next_before: Option<i64>,
}

/// Which deliveries, as it is described.
#[derive(Debug, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "described, never built: a filter is read leniently")]
pub struct DeliveryQuery {
    /// Only older ones than the delivery of this id.
    before: Option<i64>,
    #[param(minimum = 1, maximum = 100, default = 20)]
    limit: Option<i64>,
    /// One of `waiting`, `delivered`, `given_up`, `cancelled`.
    state: Option<String>,
    /// Only events of this type.
    #[param(example = "sale.recorded")]
    r#type: Option<String>,
}

/// List an endpoint's deliveries
///
/// Newest first, those that wait too. They are kept for 30 days.
#[utoipa::path(
    get,
    path = "/api/advertiser/affiliate-programs/{program_id}/webhook-endpoints/{webhook_endpoint_id}/deliveries",
    params(DeliveryQuery),
    responses((status = 200, description = "Some of them.", body = DeliveryList)),
    extensions(("x-refusals" = json!([refused("state", STATES)]))),
)]
pub async fn list_webhook_deliveries(
    mut read: ReadProgram<Read, (ProgramId, WebhookEndpointId)>,
    query: Query,
) -> Result<Json<DeliveryList>, ApiError> {
    let (program_id, endpoint_id) = read.ids;
    let filter = DeliveryFilter {
        before: query.integer("before")?.map(WebhookDeliveryId::new),
        state: query.parsed("state", STATES, DeliveryState::parse)?,
        event_type: query.parsed("type", TYPES, OutboundEventType::parse)?,
    };
    let limit = query.within("limit", 1..=MAX_LIMIT)?.unwrap_or(DEFAULT_LIMIT);
    stored(&mut read.db, program_id, endpoint_id).await?;
    let deliveries = webhook_deliveries::list(&mut read.db, endpoint_id, filter, limit).await?;
    let data: Vec<DeliveryView> = deliveries.into_iter().map(DeliveryView::from).collect();
    let is_full = i64::try_from(data.len()).is_ok_and(|count| count == limit);
    let next_before = data.last().map(|oldest| oldest.id).filter(|_| is_full);
    let meta = DeliveryListMeta { next_before };
    Ok(Json(DeliveryList { data, meta }))
}

/// Read a delivery
#[utoipa::path(
    get,
    path = "/api/advertiser/affiliate-programs/{program_id}/webhook-endpoints/{webhook_endpoint_id}/deliveries/{webhook_delivery_id}",
    responses((status = 200, description = "With its last attempt.", body = Data<DeliveryView>)),
    extensions(("x-refusals" = json!([UNKNOWN]))),
)]
pub async fn read_webhook_delivery(
    mut read: ReadProgram<Read, (ProgramId, WebhookEndpointId, WebhookDeliveryId)>,
) -> Answer<DeliveryView> {
    let (program_id, endpoint_id, delivery_id) = read.ids;
    stored(&mut read.db, program_id, endpoint_id).await?;
    let found = webhook_deliveries::find(&mut read.db, endpoint_id, delivery_id).await?;
    Ok(data(found.ok_or(UNKNOWN)?.into()))
}

pub const UNKNOWN: ApiError = ApiError::NotFound("Webhook delivery not found");
