//! `GET /api/users/me`: who is signed in, and where they work.

use axum::Json;
use axum::extract::State;
use common::domain::permission::Role;
use common::storage::users;
use common::storage::workspaces::{self, Membership};
use serde::Serialize;
use utoipa::ToSchema;

use super::UserView;
use crate::access::SignedIn;
use crate::app::App;
use crate::error::ApiError;
use crate::routes::openapi::examples::Examples;

#[derive(Debug, Serialize, ToSchema)]
pub struct MeAnswer {
    #[serde(flatten)]
    user: UserView,
    /// An advertiser's; a partner has none.
    workspaces: Vec<WorkspaceView>,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct WorkspaceView {
    id: i64,
    name: String,
    /// `owner`, `admin` or `member`.
    role: &'static str,
}

impl WorkspaceView {
    /// For the description.
    pub fn example() -> Self {
        Self {
            id: 2,
            name: "Shop".to_owned(),
            role: Role::Owner.as_str(),
        }
    }

    pub fn new(membership: Membership) -> Self {
        Self {
            id: membership.workspace_id.get(),
            name: membership.workspace_name,
            role: membership.role.as_str(),
        }
    }
}

/// Who is signed in
#[utoipa::path(
    get,
    path = "/api/users/me",
    tag = "accounts",
    security(("session" = [])),
    responses((status = 200, description = "Their account, and where they work.", body = MeAnswer))
)]
pub async fn me(State(app): State<App>, signed_in: SignedIn) -> Result<Json<MeAnswer>, ApiError> {
    let mut connection = app.management.acquire().await?;
    let user = users::find(&mut connection, signed_in.user.user_id)
        .await?
        .ok_or(ApiError::NotFound("Not Found"))?;
    let workspaces = workspaces::of_user(&mut connection, user.user_id).await?;
    Ok(Json(MeAnswer {
        user: UserView::new(&user),
        workspaces: workspaces.into_iter().map(WorkspaceView::new).collect(),
    }))
}

pub fn examples() -> Examples {
    Examples::default().answer(
        "An advertiser",
        MeAnswer {
            user: UserView::example(),
            workspaces: vec![WorkspaceView::example()],
        },
    )
}
