//! `/api/advertiser/affiliate-programs/{program_id}/processor-connection`: a program's account at its payment processor.
//!
//! The secret its webhooks are signed with goes in and never comes out: answers show that there is one, and its last four
//! characters.

use axum::extract::State;
use axum::http::StatusCode;
use domain::ids::ProgramId;
use domain::permission::Permission;
use domain::processor::Overlap;
use serde::Deserialize;
use serde_json::json;
use storage::processor_connections;
use utoipa::ToSchema;

use super::connection_change::{Changer, change, held_elsewhere, notify_of_change};
use super::connection_settings::{ConnectionChanges, ConnectionView, seal, secret};
use crate::app::App;
use crate::http::body::RequestBody;
use crate::http::error::ApiError;
use crate::http::field::{Field, refused};
use crate::http::openapi::envelopes::PlatformError;
use crate::http::openapi::examples::Examples;
use crate::management::access::{Advertiser, archived};
use crate::management::answers::{Answer, Data, Ids, data};

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
    operation_id = "read_processor_connection",
    responses((status = 200, description = "As it is.", body = Data<ConnectionView>))
)]
pub async fn read(
    State(app): State<App>,
    advertiser: Advertiser,
    Ids(program_id): Ids<ProgramId>,
) -> Answer<ConnectionView> {
    let mut connection = app.management.acquire().await?;
    advertiser
        .program(&mut connection, program_id, Permission::ProgramRead)
        .await?;
    let found = processor_connections::find(&mut connection, program_id)
        .await?
        .ok_or(ApiError::NotFound(NO_CONNECTION))?;
    Ok(data(ConnectionView::new(&app, program_id, found)))
}

/// Connect a processor, or change the connection
#[utoipa::path(
    put,
    path = "/api/advertiser/affiliate-programs/{program_id}/processor-connection",
    operation_id = "update_processor_connection",
    request_body = ConnectionChanges,
    responses(
        (status = 200, description = "As it is now.", body = Data<ConnectionView>),
        (status = 409, description = "The program is archived, or another workspace has the account.", body = PlatformError),
    )
)]
pub async fn update(
    State(app): State<App>,
    advertiser: Advertiser,
    Ids(program_id): Ids<ProgramId>,
    body: RequestBody,
) -> Answer<ConnectionView> {
    let mut transaction = app.management.begin().await?;
    let access = advertiser
        .program(&mut transaction, program_id, Permission::ProgramUpdate)
        .await?
        .for_change()?;
    // Whoever sets the secret can sign sales.
    advertiser.just_proved(&app)?;
    let changes: ConnectionChanges = body.json()?;
    let by = Changer {
        access,
        actor: advertiser.actor(),
        source: &advertiser.source,
    };
    let connection = change(&app, transaction, &by, changes).await?;
    Ok(data(ConnectionView::new(&app, program_id, connection)))
}

/// Disconnect the processor
///
/// The account is forgotten, and its secrets with it.
#[utoipa::path(
    delete,
    path = "/api/advertiser/affiliate-programs/{program_id}/processor-connection",
    operation_id = "delete_processor_connection",
    responses((status = 204, description = "Gone."))
)]
pub async fn remove(
    State(app): State<App>,
    advertiser: Advertiser,
    Ids(program_id): Ids<ProgramId>,
) -> Result<StatusCode, ApiError> {
    let mut transaction = app.management.begin().await?;
    let access = advertiser
        .program(&mut transaction, program_id, Permission::ProgramUpdate)
        .await?;
    if !processor_connections::remove(&mut transaction, program_id).await? {
        return Err(ApiError::NotFound(NO_CONNECTION));
    }
    let audited = access
        .audited("processor_connection.deleted")
        .about(program_id.get());
    advertiser.audit(&app, &mut transaction, audited).await?;
    let details = json!({ "webhook_secret": "removed" });
    notify_of_change(&app, &mut transaction, program_id, &details).await?;
    transaction.commit().await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Change the webhook secret while webhooks arrive
///
/// The new one counts at once, the one before for as long as it is said to.
#[utoipa::path(
    post,
    path = "/api/advertiser/affiliate-programs/{program_id}/processor-connection/rotate-secret",
    operation_id = "rotate_processor_secret",
    request_body = RotateSecretRequest,
    responses(
        (status = 200, description = "As it is now.", body = Data<ConnectionView>),
        (status = 409, description = "The program is archived.", body = PlatformError),
    )
)]
pub async fn rotate_secret(
    State(app): State<App>,
    advertiser: Advertiser,
    Ids(program_id): Ids<ProgramId>,
    body: RequestBody,
) -> Answer<ConnectionView> {
    let mut transaction = app.management.begin().await?;
    let access = advertiser
        .program(&mut transaction, program_id, Permission::ProgramUpdate)
        .await?
        .for_change()?;
    // Whoever sets the secret can sign sales.
    advertiser.just_proved(&app)?;
    let request: RotateSecretRequest = body.json()?;
    let secret = secret(request.webhook_secret)?.ok_or_else(|| refused("webhook_secret", "is required"))?;
    let overlap = match request.previous_valid_hours {
        Field::Absent => Some(Overlap::DEFAULT),
        Field::Given(hours) => u8::try_from(hours).ok().and_then(Overlap::new),
        Field::WrongType => None,
    };
    let overlap =
        overlap.ok_or_else(|| refused("previous_valid_hours", "must be an integer from 0 to 168"))?;
    let now = app.clock.now();
    processor_connections::lock(&mut transaction, program_id).await?;
    let mut connection = processor_connections::find(&mut transaction, program_id)
        .await?
        .ok_or(ApiError::NotFound(NO_CONNECTION))?;
    let previous = connection.secret.replace(seal(&app, program_id, &secret)?);
    // The one in use, sent again by a client that did not hear the answer: the one before it still counts.
    let is_repeated = previous
        .as_ref()
        .and_then(|previous| previous.open(&app.sealing_keys, program_id).ok())
        .is_some_and(|previous| previous == secret);
    if is_repeated {
        return Err(refused("webhook_secret", "is the one in use"));
    }
    connection.previous = previous
        .filter(|_| !overlap.is_none())
        .map(|previous| (previous, now + overlap.duration()));
    processor_connections::save(&mut transaction, program_id, &connection, now).await?;
    let audited = access
        .audited("processor_connection.secret_rotated")
        .about(program_id.get())
        .with(json!({ "previous_valid_hours": overlap.duration().num_hours() }));
    advertiser.audit(&app, &mut transaction, audited).await?;
    let details = json!({ "webhook_secret": "rotated" });
    notify_of_change(&app, &mut transaction, program_id, &details).await?;
    transaction.commit().await?;
    Ok(data(ConnectionView::new(&app, program_id, connection)))
}

pub fn examples() -> Examples {
    let request = json!({
        "account_id": "acct_1032D82eZvKYlo2C",
        "webhook_endpoint_id": "we_1MhRcsLkdIwHu7ix",
        "webhook_secret": "whsec_an_example_of_a_secret",
        "status": "connected",
    });
    Examples::of_refusals([refused("account_id", "is required"), archived(), held_elsewhere()])
        .request("A new connection", request)
        .data("Connected", ConnectionView::example())
}

pub fn rotation_examples() -> Examples {
    let request = json!({ "webhook_secret": "whsec_another_example_secret", "previous_valid_hours": 48 });
    Examples::of_refusals([refused("webhook_secret", "is the one in use"), archived()])
        .request("With two days for the one before", request)
        .data("Rotated", ConnectionView::example())
}
