//! `PUT /api/advertiser/workspaces/{workspace_id}`: a workspace's name.

use axum::Json;
use axum::extract::State;
use common::domain::ids::WorkspaceId;
use common::storage::workspaces;
use serde::Deserialize;
use serde_json::json;
use utoipa::ToSchema;

use crate::access::{AdvertiserUser, Audited};
use crate::app::App;
use crate::body::{self, TrackingBody};
use crate::error::ApiError;
use crate::field::Field;
use crate::routes::answers::{Data, Ids, data};
use crate::routes::auth::me::WorkspaceView;
use crate::routes::openapi::examples::Examples;

#[derive(Debug, Deserialize, ToSchema)]
pub struct WorkspaceChanges {
    #[schema(value_type = String, min_length = 1, max_length = 120)]
    name: Field<String>,
}

/// Rename a workspace
#[utoipa::path(
    put,
    path = "/api/advertiser/workspaces/{workspace_id}",
    operation_id = "update_workspace",
    tag = "workspaces",
    security(("session" = [])),
    params(("workspace_id" = i64, Path)),
    request_body = WorkspaceChanges,
    responses((status = 200, description = "As it is now.", body = Data<WorkspaceView>))
)]
pub async fn update(
    State(app): State<App>,
    user: AdvertiserUser,
    Ids(workspace_id): Ids<WorkspaceId>,
    body: TrackingBody,
) -> Result<Json<Data<WorkspaceView>>, ApiError> {
    let mut transaction = app.management.begin().await?;
    if !workspaces::exists(&mut transaction, workspace_id).await? {
        return Err(ApiError::NotFound("Workspace not found"));
    }
    let before = user.workspace(&mut transaction, Some(workspace_id)).await?;
    let bytes = body.bytes()?;
    let changes: WorkspaceChanges = body::parse(&bytes)?;
    let name = changes.name.required_name("name", "name is required")?;
    workspaces::rename(&mut transaction, workspace_id, &name).await?;
    let audited = Audited::new(workspace_id, "workspace.updated")
        .about(workspace_id.get())
        .with(json!({ "name": { "before": before.workspace_name, "after": name } }));
    user.audit(&app, &mut transaction, audited).await?;
    let after = user.workspace(&mut transaction, Some(workspace_id)).await?;
    transaction.commit().await?;
    Ok(data(WorkspaceView::new(after)))
}

pub fn examples() -> Examples {
    Examples::of_refusals([ApiError::bad_request("name is required")])
        .request("A name", json!({ "name": "Shop" }))
        .answer(
            "Renamed",
            Data {
                data: WorkspaceView::example(),
            },
        )
}
