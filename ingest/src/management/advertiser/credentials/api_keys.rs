//! `/api/advertiser/api-keys`: management keys. Only people make and change them: a key can neither make keys nor widen
//! itself.

use axum::extract::State;
use domain::ids::{ManagementKeyId, WorkspaceId};
use domain::management_key::KeyStatus;
use domain::token::ManagementKey;
use serde::Serialize;
use serde_json::json;
use sqlx::PgConnection;
use storage::management_keys::{self, NewKey, StoredKey};
use storage::workspaces;
use utoipa::ToSchema;

use super::key_settings::{KeyChanges, KeyView, described};
use crate::app::App;
use crate::http::body::{self, RequestBody};
use crate::http::error::ApiError;
use crate::http::field::refused;
use crate::http::openapi::envelopes::PlatformError;
use crate::http::openapi::examples::Examples;
use crate::http::query::Query;
use crate::management::access::{AdvertiserUser, Audited, differences};
use crate::management::advertiser::named_workspace::named_workspace;
use crate::management::answers::{Answer, Created, Data, Ids, List, Listed, Page, PageQuery, created, data};

/// Only the name must be there.
#[derive(Debug, ToSchema)]
#[expect(
    dead_code,
    reason = "described, never built: its two parts are read one by one"
)]
pub struct NewKeyRequest {
    /// Needed by somebody who runs several workspaces.
    workspace_id: Option<i64>,
    #[serde(flatten)]
    settings: KeyChanges,
}

/// A new key. It is shown here and never again.
#[derive(Debug, Serialize, ToSchema)]
pub struct CreatedKey {
    #[serde(flatten)]
    view: KeyView,
    key: String,
}

/// List management keys
///
/// Revoked ones too, newest first. Of each the masked form.
#[utoipa::path(
    get,
    path = "/api/advertiser/api-keys",
    operation_id = "list_api_keys",
    params(
        PageQuery,
        ("workspace_id" = Option<i64>, Query, description = "Needed by somebody who runs several workspaces.", example = 2),
    ),
    responses(
        (status = 200, description = "A page of them.", body = Listed<KeyView>),
        (status = 400, description = "A number in the query is none.", body = PlatformError),
    )
)]
pub async fn list(State(app): State<App>, user: AdvertiserUser, page: Page, query: Query) -> List<KeyView> {
    let mut connection = app.management.acquire().await?;
    let workspace_id = user.workspace_asked_for(&mut connection, &query).await?;
    let (keys, total) = management_keys::list(&mut connection, workspace_id, page.window()).await?;
    Ok(page.listed(keys.iter().map(KeyView::new).collect(), total))
}

/// Create a management key
#[utoipa::path(
    post,
    path = "/api/advertiser/api-keys",
    operation_id = "create_api_key",
    request_body = NewKeyRequest,
    responses((status = 201, description = "Made. The key is shown here only.", body = Data<CreatedKey>))
)]
pub async fn create(State(app): State<App>, user: AdvertiserUser, body: RequestBody) -> Created<CreatedKey> {
    let bytes = body.bytes()?;
    let named = named_workspace(&bytes)?;
    let changes: KeyChanges = body::parse(&bytes)?;
    let now = app.clock.now();
    let mut transaction = app.management.begin().await?;
    let workspace_id = user.workspace(&mut transaction, named).await?.workspace_id;
    user.user.just_proved(&app)?;
    let settings = changes.of_new_key(now)?;
    check_programs(&mut transaction, workspace_id, settings.program_scope.ids()).await?;
    let key = ManagementKey::generate(App::random());
    let new = NewKey {
        workspace_id,
        settings: &settings,
        key: &key,
        created_by: user.user.user_id,
        created_at: now,
    };
    let key_id = management_keys::create(&mut transaction, &new).await?;
    let stored = locked(&mut transaction, key_id).await?;
    let audited = Audited::new(workspace_id, "api_key.created")
        .about(key_id.get())
        .with(described(&stored.settings));
    user.audit(&app, &mut transaction, audited).await?;
    transaction.commit().await?;
    Ok(created(CreatedKey {
        view: KeyView::new(&stored),
        key: key.expose().to_owned(),
    }))
}

/// Change a management key
///
/// Its name, what it may do, where, and until when. What is not there stays as it is.
#[utoipa::path(
    put,
    path = "/api/advertiser/api-keys/{key_id}",
    operation_id = "update_api_key",
    request_body = KeyChanges,
    responses(
        (status = 200, description = "As it is now.", body = Data<KeyView>),
        (status = 409, description = "It is revoked.", body = PlatformError),
    )
)]
pub async fn update(
    State(app): State<App>,
    user: AdvertiserUser,
    Ids(key_id): Ids<ManagementKeyId>,
    body: RequestBody,
) -> Answer<KeyView> {
    let mut transaction = app.management.begin().await?;
    let before = locked(&mut transaction, key_id).await?;
    user.workspace(&mut transaction, Some(before.workspace_id))
        .await?;
    user.user.just_proved(&app)?;
    let changes: KeyChanges = body.json()?;
    if before.status == KeyStatus::Revoked {
        return Err(revoked());
    }
    let settings = changes.apply(before.settings.clone(), app.clock.now())?;
    check_programs(
        &mut transaction,
        before.workspace_id,
        settings.program_scope.ids(),
    )
    .await?;
    management_keys::update(&mut transaction, key_id, &settings).await?;
    let audited = Audited::new(before.workspace_id, "api_key.updated")
        .about(key_id.get())
        .with(differences(described(&before.settings), &described(&settings)));
    user.audit(&app, &mut transaction, audited).await?;
    let after = locked(&mut transaction, key_id).await?;
    transaction.commit().await?;
    Ok(data(KeyView::new(&after)))
}

/// Revoke a management key
///
/// It is refused from now on, and kept to be looked at. Revoking it again changes nothing.
#[utoipa::path(
    delete,
    path = "/api/advertiser/api-keys/{key_id}",
    operation_id = "revoke_api_key",
    responses((status = 200, description = "Revoked.", body = Data<KeyView>))
)]
pub async fn revoke(
    State(app): State<App>,
    user: AdvertiserUser,
    Ids(key_id): Ids<ManagementKeyId>,
) -> Answer<KeyView> {
    let mut transaction = app.management.begin().await?;
    let workspace_id = locked(&mut transaction, key_id).await?.workspace_id;
    user.workspace(&mut transaction, Some(workspace_id)).await?;
    if management_keys::revoke(&mut transaction, key_id, app.clock.now()).await? {
        let audited = Audited::new(workspace_id, "api_key.revoked").about(key_id.get());
        user.audit(&app, &mut transaction, audited).await?;
    }
    let after = locked(&mut transaction, key_id).await?;
    transaction.commit().await?;
    Ok(data(KeyView::new(&after)))
}

async fn locked(connection: &mut PgConnection, key_id: ManagementKeyId) -> Result<StoredKey, ApiError> {
    management_keys::lock(connection, key_id)
        .await?
        .ok_or(ApiError::NotFound("API key not found"))
}

/// A key reaches into its own workspace only. Another's program and one that does not exist are answered alike.
async fn check_programs(
    connection: &mut PgConnection,
    workspace_id: WorkspaceId,
    program_ids: Option<Vec<i64>>,
) -> Result<(), ApiError> {
    let asked = program_ids.unwrap_or_default();
    let own = workspaces::programs_of(connection, workspace_id, &asked).await?;
    match asked.into_iter().find(|id| !own.contains(id)) {
        None => Ok(()),
        Some(id) => Err(refused(
            "program_scope",
            &format!("must name programs of this workspace, which {id} is not"),
        )),
    }
}

fn revoked() -> ApiError {
    ApiError::Conflict("This API key is revoked")
}

pub fn list_examples() -> Examples {
    let request = json!({ "name": "Backend", "scopes": ["program:list", "program:read"], "program_scope": ["1"],
                          "expires_at": "2027-11-21T00:00:00Z" });
    let made = CreatedKey {
        view: KeyView::example(),
        key: ManagementKey::generate([7; 32]).expose().to_owned(),
    };
    Examples::of_refusals([
        ApiError::bad_request("page must be a positive integer"),
        ApiError::bad_request("name is required"),
    ])
    .request("For one program, for a year", request)
    .page(KeyView::example())
    .created("For one program, for a year", made)
}

pub fn examples() -> Examples {
    Examples::of_refusals([
        ApiError::bad_request("scopes names no scope: everything"),
        revoked(),
    ])
    .request("Fewer scopes", json!({ "scopes": ["program:read"] }))
    .data("The key", KeyView::example())
}
