//! `PUT /api/advertiser/workspaces/{workspace_id}`: a workspace's name, and whether its members need a second
//! factor.

use domain::ids::WorkspaceId;
use domain::people::permission::Role;
use serde_json::{Value, json};
use storage::people::members::{self, GivenPermissions};
use storage::people::second_factors;
use storage::people::workspaces::{self, Membership};

use crate::http::field::{Field, if_present};
use crate::management::access::{AdvertiserUser, Audited, FORBIDDEN, Write, differences};
use crate::management::answers::Ids;
use crate::management::auth::me::WorkspaceView;
use crate::management::prelude::*;

const NO_NAME: &str = "name is required";
const NONE_OF_THEIR_OWN: &str = "Set up a second factor of your own first";

/// What is there is changed; what is not stays as it is.
#[derive(Debug, Deserialize, ToSchema)]
pub struct WorkspaceChanges {
    #[serde(default, deserialize_with = "if_present")]
    #[schema(value_type = Option<String>, min_length = 1, max_length = 120)]
    name: Option<Field<String>>,
    /// Members without a second factor can then do nothing but set one up, and management keys they created are refused. For owners
    /// who have one themselves.
    #[serde(default, deserialize_with = "if_present")]
    #[schema(value_type = Option<bool>)]
    second_factor_required: Option<Field<bool>>,
}

/// Change a workspace
#[utoipa::path(
    put,
    path = "/api/advertiser/workspaces/{workspace_id}",
    request_body = WorkspaceChanges,
    responses(
        (status = 200, description = "As it is now.", body = Data<WorkspaceView>),
        (status = 409, description = "The caller has no second factor of their own.", body = PlatformError),
    ),
    extensions(("x-refusals" = json!([
        ApiError::bad_request(NO_NAME), ApiError::Conflict(NONE_OF_THEIR_OWN)
    ]))),
)]
pub async fn update_workspace(mut write: Write<AdvertiserUser, Ids<WorkspaceId>>) -> Answer<WorkspaceView> {
    let Ids(workspace_id) = write.on;
    if !workspaces::exists(&mut write.db, workspace_id).await? {
        return Err(ApiError::NotFound("Workspace not found"));
    }
    members::lock(&mut write.db, workspace_id).await?;
    let before = write.caller.workspace(&mut write.db, Some(workspace_id)).await?;
    let changes: WorkspaceChanges = write.body().json()?;
    if changes.name.is_none() && changes.second_factor_required.is_none() {
        return Err(ApiError::bad_request(NO_NAME));
    }
    if let Some(name) = changes.name {
        let name = name.required_name("name", NO_NAME)?;
        workspaces::rename(&mut write.db, workspace_id, &name).await?;
    }
    if let Some(required) = changes.second_factor_required {
        let required = required.flag("second_factor_required")?;
        may_require(&mut write, &before).await?;
        workspaces::require_second_factor(&mut write.db, workspace_id, required).await?;
    }
    let after = write.caller.workspace(&mut write.db, Some(workspace_id)).await?;
    let audited = Audited::new(workspace_id, "workspace.updated").about(workspace_id.get());
    let details = differences(described(&before), &described(&after));
    write.record(audited.with(details));
    write.commit().await?;
    Ok(data(WorkspaceView::new(after, &GivenPermissions::new())))
}

/// Requires an owner who has a second factor and has recently entered the password.
async fn may_require(
    write: &mut Write<AdvertiserUser, Ids<WorkspaceId>>,
    membership: &Membership,
) -> Result<(), ApiError> {
    if membership.role != Role::Owner {
        return Err(FORBIDDEN);
    }
    write.just_proved()?;
    match second_factors::enabled(&mut write.db, write.caller.user.user_id).await? {
        Some(_) => Ok(()),
        None => Err(ApiError::Conflict(NONE_OF_THEIR_OWN)),
    }
}

fn described(workspace: &Membership) -> Value {
    json!({ "name": workspace.workspace_name, "second_factor_required": workspace.second_factor_required })
}
