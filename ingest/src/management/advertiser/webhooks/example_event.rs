//! `…/{endpoint_id}/test`: sends an example event to this endpoint alone.

use domain::ids::{ProgramId, WebhookEndpointId};
use messages::outbound_event::OutboundEvent;
use serde_json::json;
use storage::outbound::webhook_deliveries::{self, TestEvent};

use super::endpoint_settings::event_type;
use super::webhook_deliveries::{DeliveryView, UNKNOWN as UNKNOWN_DELIVERY};
use super::webhook_endpoints::locked;
use crate::http::field::{Field, refused};
use crate::management::access::right::Update;
use crate::management::access::{ARCHIVED, WriteProgram};
use crate::management::answers::{Created, created};
use crate::management::prelude::*;

#[derive(Debug, Deserialize, ToSchema)]
pub struct TestRequest {
    /// What it is an example of; the endpoint need not be sent such events.
    #[serde(rename = "type")]
    #[schema(value_type = String)]
    event_type: Field<String>,
}

/// Send a test event
///
/// An example of an event, with `is_test`, to this endpoint alone, enabled or not; it does not count for the endpoint's health. Read the
/// delivery for what became of it.
#[utoipa::path(
    post,
    path = "/api/advertiser/affiliate-programs/{program_id}/webhook-endpoints/{webhook_endpoint_id}/test",
    request_body = TestRequest,
    responses((status = 201, description = "It is on its way.", body = Data<DeliveryView>)),
    extensions(("x-refusals" = json!([refused("type", "names no type of event: click"), ARCHIVED]))),
)]
pub async fn test_webhook_endpoint(
    mut write: WriteProgram<Update, (ProgramId, WebhookEndpointId)>,
) -> Created<DeliveryView> {
    let (program_id, endpoint_id) = write.on.ids;
    let request: TestRequest = write.body().json()?;
    let event_type = event_type("type", request.event_type)?;
    locked(&mut write.db, program_id, endpoint_id).await?;
    let now = write.now();
    let test = TestEvent {
        event_id: write.app.clock.mint(),
        program_id,
        endpoint_id,
        event_type,
        body: OutboundEvent::example(event_type, program_id)
            .test_body(now)
            .map_err(ApiError::unexpected)?,
        now,
    };
    let delivery_id = webhook_deliveries::send_test(&mut write.db, &test).await?;
    let delivery = webhook_deliveries::find(&mut write.db, endpoint_id, delivery_id).await?;
    let details = json!({ "type": event_type.as_str(), "delivery_id": delivery_id });
    write.audit("webhook_endpoint.tested", endpoint_id.get(), details);
    write.commit().await?;
    Ok(created(delivery.ok_or(UNKNOWN_DELIVERY)?.into()))
}
