//! `…/{endpoint_id}/rotate-secret`: replaces the secret while deliveries go on.

use chrono::{DateTime, Utc};
use domain::ids::{ProgramId, WebhookEndpointId};
use domain::processors::processor::Overlap;
use messages::instant::as_instant_if_any;
use serde_json::json;
use storage::outbound::webhook_endpoints;

use super::webhook_endpoints::{NewSecret, locked};
use crate::http::field::{Field, refused};
use crate::management::access::right::Update;
use crate::management::access::{ARCHIVED, WriteProgram};
use crate::management::prelude::*;

const TWO_SECRETS_COUNT: ApiError = ApiError::Conflict(
    "The secret before the last replacement still signs deliveries. Wait until it ends, or send overlap_hours 0, which ends both at once",
);

#[derive(Debug, Deserialize, ToSchema)]
pub struct RotateRequest {
    /// Hours for which deliveries are signed with the secret before, too; 24 unless said otherwise.
    #[schema(value_type = Option<i64>, minimum = 0, maximum = 168)]
    overlap_hours: Field<i64>,
}

/// The secret from now on. It is shown here and never again.
#[derive(Debug, Serialize, ToSchema)]
pub struct RotatedSecret {
    /// `whsec_` and its key in base64.
    secret: String,
    /// Until then deliveries have two signatures.
    #[serde(serialize_with = "as_instant_if_any")]
    #[schema(required = true)]
    previous_secret_valid_until: Option<DateTime<Utc>>,
}

/// Replace an endpoint's secret
///
/// Deliveries are signed with the new one at once, and with the one before too for as long as is said: a receiver that accepts either of two
/// signatures misses nothing. There are two at most: while the one before counts, only a replacement at once (`overlap_hours` 0) is possible.
#[utoipa::path(
    post,
    path = "/api/advertiser/affiliate-programs/{program_id}/webhook-endpoints/{webhook_endpoint_id}/rotate-secret",
    request_body = RotateRequest,
    responses(
        (status = 200, description = "Replaced. The secret is shown here only.", body = Data<RotatedSecret>),
        (status = 409, description = "The program is archived, or the secret before still signs.", body = PlatformError),
    ),
    extensions(("x-refusals" = json!([
        ARCHIVED, TWO_SECRETS_COUNT, refused("overlap_hours", "must be an integer from 0 to 168")
    ]))),
)]
pub async fn rotate_webhook_secret(
    mut write: WriteProgram<Update, (ProgramId, WebhookEndpointId)>,
) -> Answer<RotatedSecret> {
    // A holder of the secret can sign events.
    write.just_proved()?;
    let request: RotateRequest = write.body().json()?;
    let hours = request.overlap_hours;
    let overlap = hours.within("overlap_hours", 0..=168, Overlap::new)?;
    let overlap = overlap.unwrap_or(Overlap::DEFAULT);
    let (program_id, endpoint_id) = write.on.ids;
    let endpoint = locked(&mut write.db, program_id, endpoint_id).await?;
    let now = write.now();
    if !overlap.is_none() && endpoint.previous_secret_until.is_some_and(|until| now < until) {
        return Err(TWO_SECRETS_COUNT);
    }
    let new = NewSecret::generate(&write.app, endpoint.endpoint_id)?;
    let until = (!overlap.is_none()).then(|| now + overlap.duration());
    webhook_endpoints::rotate(&mut write.db, endpoint.endpoint_id, &new.sealed, until).await?;
    let details = json!({ "overlap_hours": overlap.duration().num_hours() });
    write.audit("webhook_endpoint.secret_rotated", endpoint_id.get(), details);
    write.commit().await?;
    Ok(data(RotatedSecret {
        secret: new.secret.text(),
        previous_secret_valid_until: until,
    }))
}
