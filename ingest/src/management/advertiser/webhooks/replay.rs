//! `…/deliveries/{delivery_id}/replay` and `…/{endpoint_id}/replay`: sends one or many events again.

use chrono::{DateTime, Utc};
use domain::ids::{ProgramId, WebhookDeliveryId, WebhookEndpointId};
use domain::people::permission::Permission;
use messages::instant::instant;
use serde_json::json;
use storage::outbound::webhook_deliveries::{self, ReplayOfMany};

use super::endpoint_settings::event_types;
use super::webhook_deliveries::{DeliveryView, UNKNOWN as UNKNOWN_DELIVERY};
use super::webhook_endpoints::locked;
use crate::http::field::{Field, refused};
use crate::management::access::right::Update;
use crate::management::access::{ARCHIVED, WriteProgram};
use crate::management::answers::{Created, created};
use crate::management::prelude::*;

/// The most events that one request queues.
const MOST: i64 = 5_000;

#[derive(Debug, Deserialize, ToSchema)]
pub struct ReplayRequest {
    /// ISO 8601: events that were written then or later. They are kept for 30 days.
    #[schema(value_type = String)]
    since: Field<String>,
    /// Those of the endpoint unless said otherwise.
    #[schema(value_type = Option<Vec<String>>, min_items = 1)]
    types: Field<Vec<String>>,
    /// From the answer before, to go on where it ended.
    #[schema(value_type = Option<String>)]
    cursor: Field<String>,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct ReplayAnswer {
    /// What was queued: at most 5,000.
    replayed_count: usize,
    /// Ask again with it for the rest; null when there is none.
    #[schema(required = true)]
    cursor: Option<String>,
}

/// Replay a delivery
///
/// Sends its event once more, under the same `webhook-id`, to this endpoint, enabled or not. It does not count for the endpoint's health.
#[utoipa::path(
    post,
    path = "/api/advertiser/affiliate-programs/{program_id}/webhook-endpoints/{webhook_endpoint_id}/deliveries/{webhook_delivery_id}/replay",
    responses(
        (status = 201, description = "It is on its way.", body = Data<DeliveryView>),
        (status = 409, description = "The event is not stored any more, or the program archived.", body = PlatformError),
    ),
    extensions(("x-refusals" = json!([UNKNOWN_DELIVERY, NOT_STORED]))),
)]
pub async fn replay_webhook_delivery(
    mut write: WriteProgram<Update, (ProgramId, WebhookEndpointId, WebhookDeliveryId)>,
) -> Created<DeliveryView> {
    let (program_id, endpoint_id, delivery_id) = write.on.ids;
    write.also(Permission::EventsRead).await?;
    let now = write.now();
    locked(&mut write.db, program_id, endpoint_id).await?;
    let found = webhook_deliveries::find(&mut write.db, endpoint_id, delivery_id).await?;
    if found.is_none() {
        return Err(UNKNOWN_DELIVERY);
    }
    let replay_id = webhook_deliveries::replay(&mut write.db, endpoint_id, delivery_id, now).await?;
    let replay_id = replay_id.ok_or(NOT_STORED)?;
    let replay = webhook_deliveries::find(&mut write.db, endpoint_id, replay_id).await?;
    let details = json!({ "delivery_id": delivery_id, "replay_delivery_id": replay_id });
    write.audit("webhook_delivery.replayed", endpoint_id.get(), details);
    write.commit().await?;
    Ok(created(replay.ok_or(UNKNOWN_DELIVERY)?.into()))
}

/// Replay events
///
/// Sends this endpoint what happened since then once more, under the same `webhook-id`s and in the same order: also what it was not
/// sent, as while it was disabled. What still waits for it is not queued twice.
#[utoipa::path(
    post,
    path = "/api/advertiser/affiliate-programs/{program_id}/webhook-endpoints/{webhook_endpoint_id}/replay",
    request_body = ReplayRequest,
    responses((status = 200, description = "How many are on their way.", body = Data<ReplayAnswer>)),
    extensions(("x-refusals" = json!([refused("since", "is required"), ARCHIVED]))),
)]
pub async fn replay_webhook_events(
    mut write: WriteProgram<Update, (ProgramId, WebhookEndpointId)>,
) -> Answer<ReplayAnswer> {
    let (program_id, endpoint_id) = write.on.ids;
    let request: ReplayRequest = write.body().json()?;
    let now = write.now();
    let since = since(request.since, now)?;
    let types = event_types("types", request.types)?;
    let cursor = |text: &str| text.parse::<i64>().map_err(|_| NO_CURSOR);
    let after = request.cursor.parsed("cursor", cursor)?;
    write.also(Permission::EventsRead).await?;
    let endpoint = locked(&mut write.db, program_id, endpoint_id).await?;
    let types = types.unwrap_or(endpoint.event_types);
    let replay = ReplayOfMany {
        program_id,
        endpoint_id,
        since,
        after: after.unwrap_or_default(),
        types: &types,
        limit: MOST,
    };
    let replayed = webhook_deliveries::replay_many(&mut write.db, &replay, now).await?;
    let details =
        json!({ "since": instant(since), "types": types.names(), "replayed_count": replayed.count });
    write.audit("webhook_endpoint.replayed", endpoint_id.get(), details);
    write.commit().await?;
    Ok(data(ReplayAnswer {
        replayed_count: replayed.count,
        cursor: replayed.after.map(|position| position.to_string()),
    }))
}

const NO_CURSOR: &str = "must be one of an answer";
const NOT_STORED: ApiError = ApiError::Conflict("This event is not stored any more");

fn since(field: Field<String>, now: DateTime<Utc>) -> Result<DateTime<Utc>, ApiError> {
    let since = field.parsed("since", |text| {
        DateTime::parse_from_rfc3339(text)
            .map_err(|_| "must be an ISO 8601 instant such as 2027-01-31T12:00:00Z")
    })?;
    let since = since.ok_or_else(|| refused("since", "is required"))?.to_utc();
    if since > now {
        return Err(refused("since", "must not be in the future"));
    }
    Ok(since)
}
