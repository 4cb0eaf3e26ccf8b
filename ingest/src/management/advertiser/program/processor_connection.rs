//! `/api/advertiser/affiliate-programs/{program_id}/processor-connection`: a program's account at its payment
//! processor.
//!
//! The secret that signs its webhooks is never shown again: answers show only that a secret exists, and its
//! last four characters.

use axum::http::StatusCode;
use domain::processors::processor::Overlap;
use serde_json::json;
use storage::processor::processor_connections;

use super::connection_change::{HELD_ELSEWHERE, change, notify_of_change};
use super::connection_settings::{ConnectionChanges, ConnectionView, seal, secret};
use crate::http::field::{Field, refused};
use crate::management::access::right::{CleanUp, Read, Update};
use crate::management::access::{ARCHIVED, ReadProgram, WriteProgram};
use crate::management::prelude::*;

const NO_CONNECTION: &str = "Processor connection not found";

#[derive(Debug, Deserialize, ToSchema)]
pub struct RotateSecretRequest {
    #[schema(value_type = String, min_length = 16, max_length = 255)]
    webhook_secret: Field<String>,
    /// Hours for which the one before is accepted, too; 24 unless said otherwise.
    #[schema(value_type = Option<i64>, minimum = 0, maximum = 168)]
    previous_valid_hours: Field<i64>,
}

/// Read a program's processor connection
#[utoipa::path(
    get,
    path = "/api/advertiser/affiliate-programs/{program_id}/processor-connection",
    responses((status = 200, description = "As it is.", body = Data<ConnectionView>))
)]
pub async fn read_processor_connection(
    State(app): State<App>,
    mut read: ReadProgram<Read>,
) -> Answer<ConnectionView> {
    let program_id = read.ids;
    let found = processor_connections::find(&mut read.db, program_id).await?;
    let found = found.ok_or(ApiError::NotFound(NO_CONNECTION))?;
    Ok(data(ConnectionView::new(&app, program_id, found)))
}

/// Connect a processor, or change the connection
#[utoipa::path(
    put,
    path = "/api/advertiser/affiliate-programs/{program_id}/processor-connection",
    request_body = ConnectionChanges,
    responses(
        (status = 200, description = "As it is now.", body = Data<ConnectionView>),
        (status = 409, description = "The program is archived, or another workspace has the account.", body = PlatformError),
    ),
    extensions(("x-refusals" = json!([refused("account_id", "is required"), ARCHIVED, HELD_ELSEWHERE]))),
)]
pub async fn update_processor_connection(mut write: WriteProgram<Update>) -> Answer<ConnectionView> {
    // The secret signs sales.
    write.just_proved()?;
    let changes: ConnectionChanges = write.body().json()?;
    let (app, access) = (write.app.clone(), write.on.access);
    let connection = change(write, access, changes).await?;
    Ok(data(ConnectionView::new(&app, access.program_id, connection)))
}

/// Disconnect the processor
///
/// The account is forgotten, and its secrets with it.
#[utoipa::path(
    delete,
    path = "/api/advertiser/affiliate-programs/{program_id}/processor-connection",
    responses((status = 204, description = "Gone."))
)]
pub async fn delete_processor_connection(mut write: WriteProgram<CleanUp>) -> Result<StatusCode, ApiError> {
    let program_id = write.on.ids;
    if !processor_connections::remove(&mut write.db, program_id).await? {
        return Err(ApiError::NotFound(NO_CONNECTION));
    }
    write.audit("processor_connection.deleted", program_id.get(), json!({}));
    let details = json!({ "webhook_secret": "removed" });
    notify_of_change(&write.app, &mut write.db, program_id, &details).await?;
    write.answer(StatusCode::NO_CONTENT).await
}

/// Change the webhook secret while webhooks arrive
///
/// The new one counts at once, the one before for as long as it is said to.
#[utoipa::path(
    post,
    path = "/api/advertiser/affiliate-programs/{program_id}/processor-connection/rotate-secret",
    request_body = RotateSecretRequest,
    responses((status = 200, description = "As it is now.", body = Data<ConnectionView>)),
    extensions(("x-refusals" = json!([refused("webhook_secret", "is the one in use"), ARCHIVED]))),
)]
pub async fn rotate_processor_secret(mut write: WriteProgram<Update>) -> Answer<ConnectionView> {
    let program_id = write.on.ids;
    // The secret signs sales.
    write.just_proved()?;
    let request: RotateSecretRequest = write.body().json()?;
    let secret = secret(request.webhook_secret)?.ok_or_else(|| refused("webhook_secret", "is required"))?;
    let hours = request.previous_valid_hours;
    let overlap = hours.within("previous_valid_hours", 0..=168, Overlap::new)?;
    let overlap = overlap.unwrap_or(Overlap::DEFAULT);
    let now = write.now();
    processor_connections::lock(&mut write.db, program_id).await?;
    let mut connection = processor_connections::find(&mut write.db, program_id)
        .await?
        .ok_or(ApiError::NotFound(NO_CONNECTION))?;
    let previous = connection.secret.replace(seal(&write.app, program_id, &secret)?);
    // A retry of the request that set the current secret: the previous secret stays valid.
    let is_repeated = previous
        .as_ref()
        .and_then(|previous| previous.open(&write.app.sealing_keys, program_id).ok())
        .is_some_and(|previous| previous == secret);
    if is_repeated {
        return Err(refused("webhook_secret", "is the one in use"));
    }
    connection.previous = previous
        .filter(|_| !overlap.is_none())
        .map(|previous| (previous, now + overlap.duration()));
    processor_connections::save(&mut write.db, program_id, &connection, now).await?;
    let details = json!({ "previous_valid_hours": overlap.duration().num_hours() });
    write.audit("processor_connection.secret_rotated", program_id.get(), details);
    let details = json!({ "webhook_secret": "rotated" });
    notify_of_change(&write.app, &mut write.db, program_id, &details).await?;
    let view = ConnectionView::new(&write.app, program_id, connection);
    write.answer(data(view)).await
}
