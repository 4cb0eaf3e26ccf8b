//! `/api/advertiser/api-keys`: management keys. Only users create and change keys: a key can neither create a
//! key nor extend its own scopes.

use domain::ids::{ManagementKeyId, WorkspaceId};
use domain::people::management_key::KeyStatus;
use domain::sorting::KeyColumn;
use domain::token::ManagementKey;
use sqlx::PgConnection;
use storage::people::management_keys::{self, KeyFilter, NewKey, StoredKey};
use storage::people::workspaces;

use super::key_settings::{KeyChanges, KeyView, described};
use crate::http::body;
use crate::http::field::refused;
use crate::http::query::{NO_TEXT, Query};
use crate::management::access::{AdvertiserUser, Audited, ListForAdvertiser, Write, differences};
use crate::management::advertiser::named_workspace::named_workspace;
use crate::management::answers::{Created, Ids, List, Listed, OrderQuery, PageQuery, created};
use crate::management::prelude::*;

const NO_STATUS: &str = "must be active or revoked";
const NO_COLUMN: &str = "must be one of name, last_used_at, expires_at";

/// Only the name must be there.
#[derive(Debug, ToSchema)]
#[expect(
    dead_code,
    reason = "described, never built: its two parts are read one by one"
)]
pub struct NewKeyRequest {
    /// Required for a user who runs several workspaces.
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
/// Revoked ones too, newest first unless sorted. Of each the masked form.
#[utoipa::path(
    get,
    path = "/api/advertiser/api-keys",
    params(
        ("status" = Option<String>, Query, description = "Only those: `active` or `revoked`."),
        ("search" = Option<String>, Query, description = "Only those with this in their name or their creator's, whatever its case."),
        ("sort" = Option<String>, Query, description = "`name`, `last_used_at` or `expires_at`."),
        OrderQuery,
        PageQuery,
        ("workspace_id" = Option<i64>, Query, description = "Required for a user who runs several workspaces.", example = 2),
    ),
    responses((status = 200, description = "A page of them.", body = Listed<KeyView>)),
    extensions(("x-refusals" = json!([
        refused("status", NO_STATUS), refused("search", NO_TEXT), refused("sort", NO_COLUMN)
    ]))),
)]
pub async fn list_api_keys(mut list: ListForAdvertiser, query: Query) -> List<KeyView> {
    let workspace_id = list.session.workspace_asked_for(&mut list.db, &query).await?;
    let filter = KeyFilter {
        status: query.parsed("status", NO_STATUS, KeyStatus::parse)?,
        text: query.search()?,
    };
    let sorting = query.sorting(NO_COLUMN, KeyColumn::parse)?;
    let window = list.page.window();
    let found = management_keys::list(&mut list.db, workspace_id, &filter, sorting, window).await?;
    Ok(list.page.listed(found))
}

/// Create a management key
#[utoipa::path(
    post,
    path = "/api/advertiser/api-keys",
    request_body = NewKeyRequest,
    responses((status = 201, description = "Made. The key is shown here only.", body = Data<CreatedKey>)),
    extensions(("x-refusals" = json!([ApiError::bad_request("name is required")]))),
)]
pub async fn create_api_key(mut write: Write<AdvertiserUser>) -> Created<CreatedKey> {
    let bytes = write.body().bytes()?;
    let named = named_workspace(&bytes)?;
    let changes: KeyChanges = body::parse(&bytes)?;
    let now = write.now();
    let workspace = write.caller.workspace(&mut write.db, named).await?;
    let workspace_id = workspace.workspace_id;
    write.just_proved()?;
    let settings = changes.of_new_key(now)?;
    check_programs(&mut write.db, workspace_id, settings.program_scope.ids()).await?;
    let key = ManagementKey::generate(App::random());
    let new = NewKey {
        workspace_id,
        settings: &settings,
        key: &key,
        created_by: write.caller.user.user_id,
        created_at: now,
    };
    let key_id = management_keys::create(&mut write.db, &new).await?;
    let stored = locked(&mut write.db, key_id).await?;
    let audited = Audited::new(workspace_id, "api_key.created").about(key_id.get());
    write.record(audited.with(described(&stored.settings)));
    write.commit().await?;
    Ok(created(CreatedKey {
        view: stored.into(),
        key: key.expose().to_owned(),
    }))
}

/// Change a management key
///
/// Its name, what it may do, where, and until when. What is not there stays as it is.
#[utoipa::path(
    put,
    path = "/api/advertiser/api-keys/{key_id}",
    request_body = KeyChanges,
    responses(
        (status = 200, description = "As it is now.", body = Data<KeyView>),
        (status = 409, description = "It is revoked.", body = PlatformError),
    ),
    extensions(("x-refusals" = json!([ApiError::bad_request("scopes names no scope: everything"), REVOKED]))),
)]
pub async fn update_api_key(mut write: Write<AdvertiserUser, Ids<ManagementKeyId>>) -> Answer<KeyView> {
    let Ids(key_id) = write.on;
    let before = locked(&mut write.db, key_id).await?;
    let workspace_id = before.workspace_id;
    write.caller.workspace(&mut write.db, Some(workspace_id)).await?;
    write.just_proved()?;
    let changes: KeyChanges = write.body().json()?;
    if before.status == KeyStatus::Revoked {
        return Err(REVOKED);
    }
    let settings = changes.apply(before.settings.clone(), write.now())?;
    check_programs(&mut write.db, workspace_id, settings.program_scope.ids()).await?;
    management_keys::update(&mut write.db, key_id, &settings).await?;
    let audited = Audited::new(workspace_id, "api_key.updated").about(key_id.get());
    let details = differences(described(&before.settings), &described(&settings));
    write.record(audited.with(details));
    let after = locked(&mut write.db, key_id).await?;
    write.answer(data(after.into())).await
}

/// Revoke a management key
///
/// It is refused from now on, and kept to be looked at. Revoking it again changes nothing.
#[utoipa::path(
    delete,
    path = "/api/advertiser/api-keys/{key_id}",
    responses((status = 200, description = "Revoked.", body = Data<KeyView>))
)]
pub async fn revoke_api_key(mut write: Write<AdvertiserUser, Ids<ManagementKeyId>>) -> Answer<KeyView> {
    let Ids(key_id) = write.on;
    let workspace_id = locked(&mut write.db, key_id).await?.workspace_id;
    write.caller.workspace(&mut write.db, Some(workspace_id)).await?;
    if management_keys::revoke(&mut write.db, key_id, write.app.clock.now()).await? {
        write.record(Audited::new(workspace_id, "api_key.revoked").about(key_id.get()));
    }
    let after = locked(&mut write.db, key_id).await?;
    write.answer(data(after.into())).await
}

async fn locked(connection: &mut PgConnection, key_id: ManagementKeyId) -> Result<StoredKey, ApiError> {
    let found = management_keys::lock(connection, key_id).await?;
    found.ok_or(ApiError::NotFound("API key not found"))
}

/// A key reaches only programs of its own workspace. A program of another workspace and a missing program get
/// the same answer.
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

const REVOKED: ApiError = ApiError::Conflict("This API key is revoked");
