//! `/api/advertiser/affiliate-programs/{program_id}/webhook-endpoints`: where the program's events are sent.
//!
//! The secret that signs the events is shown once, when the endpoint is created or the secret is replaced.

use axum::http::StatusCode;
use domain::ids::{ProgramId, WebhookEndpointId};
use domain::people::permission::Permission;
use domain::programs::webhook::SigningSecret;
use domain::programs::webhook_endpoint::{DisabledReason, MAX_ENDPOINTS};
use serde_json::json;
use sqlx::PgConnection;
use storage::outbound::webhook_endpoints::{self, NewEndpoint, StoredEndpoint};
use storage::program::program_settings;

use super::endpoint_settings::{EndpointChanges, EndpointView, NewEndpointRequest, described, without_query};
use crate::http::field::refused;
use crate::management::access::right::{CleanUp, Read, Update};
use crate::management::access::{ARCHIVED, ReadProgram, WriteProgram, differences};
use crate::management::answers::{Created, created};
use crate::management::prelude::*;

/// A new endpoint. Its secret is shown here and never again.
#[derive(Debug, Serialize, ToSchema)]
pub struct CreatedEndpoint {
    #[serde(flatten)]
    view: EndpointView,
    /// `whsec_` and its key in base64: what every delivery is signed with.
    secret: String,
}

/// List webhook endpoints
///
/// As they were made, with their health.
#[utoipa::path(
    get,
    path = "/api/advertiser/affiliate-programs/{program_id}/webhook-endpoints",
    responses((status = 200, description = "At most 20.", body = Data<Vec<EndpointView>>))
)]
pub async fn list_webhook_endpoints(
    State(app): State<App>,
    mut read: ReadProgram<Read>,
) -> Answer<Vec<EndpointView>> {
    let program_id = read.ids;
    let now = app.clock.now();
    let endpoints = webhook_endpoints::list(&mut read.db, program_id).await?;
    let views = endpoints
        .into_iter()
        .map(|endpoint| EndpointView::new(endpoint, now));
    Ok(data(views.collect()))
}

/// Create a webhook endpoint
///
/// It is sent what happens from now on. At most 20 a program.
#[utoipa::path(
    post,
    path = "/api/advertiser/affiliate-programs/{program_id}/webhook-endpoints",
    request_body = NewEndpointRequest,
    responses(
        (status = 201, description = "Made. The secret is shown here only.", body = Data<CreatedEndpoint>),
        (status = 409, description = "The program is archived, or has 20 already.", body = PlatformError),
    ),
    extensions(("x-refusals" = json!([
        refused("url", "must be an https URL"), refused("event_types", "names no type of event: click"),
        ARCHIVED, TOO_MANY
    ]))),
)]
pub async fn create_webhook_endpoint(mut write: WriteProgram<Update>) -> Created<CreatedEndpoint> {
    let program_id = write.on.ids;
    // The endpoint receives the program's events.
    write.just_proved()?;
    let request: NewEndpointRequest = write.body().json()?;
    let settings = request.read(&write.app.webhook_addresses)?;
    write.also(Permission::EventsRead).await?;
    program_settings::lock(&mut write.db, program_id).await?;
    if webhook_endpoints::list(&mut write.db, program_id).await?.len() >= MAX_ENDPOINTS {
        return Err(TOO_MANY);
    }
    let endpoint_id = webhook_endpoints::draw_id(&mut write.db).await?;
    let new = NewSecret::generate(&write.app, endpoint_id)?;
    let now = write.now();
    let endpoint = NewEndpoint {
        endpoint_id,
        program_id,
        settings: &settings,
        secret_sealed: &new.sealed,
        created_at: now,
    };
    webhook_endpoints::create(&mut write.db, &endpoint).await?;
    let stored = stored(&mut write.db, program_id, endpoint_id).await?;
    write.audit("webhook_endpoint.created", endpoint_id.get(), described(&stored));
    write.commit().await?;
    Ok(created(CreatedEndpoint {
        view: EndpointView::new(stored, now),
        secret: new.secret.text(),
    }))
}

/// Read a webhook endpoint
#[utoipa::path(
    get,
    path = "/api/advertiser/affiliate-programs/{program_id}/webhook-endpoints/{webhook_endpoint_id}",
    responses((status = 200, description = "With its health.", body = Data<EndpointView>)),
    extensions(("x-refusals" = json!([UNKNOWN]))),
)]
pub async fn read_webhook_endpoint(
    State(app): State<App>,
    mut read: ReadProgram<Read, (ProgramId, WebhookEndpointId)>,
) -> Answer<EndpointView> {
    let (program_id, endpoint_id) = read.ids;
    let found = stored(&mut read.db, program_id, endpoint_id).await?;
    Ok(data(EndpointView::new(found, app.clock.now())))
}

/// Change a webhook endpoint
///
/// Where it is, what it is sent, and whether it is.
#[utoipa::path(
    patch,
    path = "/api/advertiser/affiliate-programs/{program_id}/webhook-endpoints/{webhook_endpoint_id}",
    request_body = EndpointChanges,
    responses((status = 200, description = "As it is now.", body = Data<EndpointView>)),
    extensions(("x-refusals" = json!([UNKNOWN, ARCHIVED]))),
)]
pub async fn update_webhook_endpoint(
    mut write: WriteProgram<Update, (ProgramId, WebhookEndpointId)>,
) -> Answer<EndpointView> {
    let changes: EndpointChanges = write.body().json()?;
    let (program_id, endpoint_id) = write.on.ids;
    let before = locked(&mut write.db, program_id, endpoint_id).await?;
    let change = changes.apply(&before, &write.app.webhook_addresses)?;
    if change.changes_url {
        // The endpoint receives the program's events.
        write.just_proved()?;
    }
    if change.changes_url || change.settings.event_types != before.event_types {
        write.also(Permission::EventsRead).await?;
    }
    let now = write.now();
    webhook_endpoints::change(&mut write.db, &before, &change.settings).await?;
    match change.enabled {
        Some(true) => webhook_endpoints::enable(&mut write.db, &before).await?,
        Some(false) => {
            webhook_endpoints::disable(&mut write.db, &before, DisabledReason::ByHand, now).await?;
        }
        None => {}
    }
    let after = stored(&mut write.db, before.program_id, before.endpoint_id).await?;
    let details = differences(described(&before), &described(&after));
    write.audit("webhook_endpoint.updated", before.endpoint_id.get(), details);
    write.answer(data(EndpointView::new(after, now))).await
}

/// Delete a webhook endpoint
///
/// It is sent nothing any more, and what waits for it is dropped.
#[utoipa::path(
    delete,
    path = "/api/advertiser/affiliate-programs/{program_id}/webhook-endpoints/{webhook_endpoint_id}",
    responses((status = 204, description = "Gone.")),
    extensions(("x-refusals" = json!([UNKNOWN]))),
)]
pub async fn delete_webhook_endpoint(
    mut write: WriteProgram<CleanUp, (ProgramId, WebhookEndpointId)>,
) -> Result<StatusCode, ApiError> {
    let (program_id, endpoint_id) = write.on.ids;
    let endpoint = locked(&mut write.db, program_id, endpoint_id).await?;
    webhook_endpoints::remove(&mut write.db, &endpoint).await?;
    let details = json!({ "url": without_query(&endpoint.url) });
    write.audit("webhook_endpoint.deleted", endpoint.endpoint_id.get(), details);
    write.answer(StatusCode::NO_CONTENT).await
}

/// Like [`stored`], with the program locked, so that no other request deletes the endpoint meanwhile.
pub async fn locked(
    connection: &mut PgConnection,
    program_id: ProgramId,
    endpoint_id: WebhookEndpointId,
) -> Result<StoredEndpoint, ApiError> {
    program_settings::lock(connection, program_id).await?;
    stored(connection, program_id, endpoint_id).await
}

pub async fn stored(
    connection: &mut PgConnection,
    program_id: ProgramId,
    endpoint_id: WebhookEndpointId,
) -> Result<StoredEndpoint, ApiError> {
    let found = webhook_endpoints::find(connection, program_id, endpoint_id).await?;
    found.ok_or(UNKNOWN)
}

pub const UNKNOWN: ApiError = ApiError::NotFound("Webhook endpoint not found");
const TOO_MANY: ApiError = ApiError::Conflict("A program has at most 20 webhook endpoints: delete one first");

/// The secret as it is shown once, and as it is stored.
pub struct NewSecret {
    pub secret: SigningSecret,
    pub sealed: Vec<u8>,
}

impl NewSecret {
    pub fn generate(app: &App, endpoint_id: WebhookEndpointId) -> Result<Self, ApiError> {
        let secret = SigningSecret::generate(App::random());
        let purpose = SigningSecret::purpose(endpoint_id);
        let sealed = app
            .sealing_keys
            .seal(secret.expose(), &purpose, App::random())
            .map_err(ApiError::unexpected)?;
        Ok(Self { secret, sealed })
    }
}
