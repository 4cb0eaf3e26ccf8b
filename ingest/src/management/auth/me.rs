//! `GET /api/users/me`: the signed-in user, and the user's workspaces.

use std::collections::BTreeMap;

use axum::Json;
use chrono::{DateTime, Utc};
use domain::ids::UserId;
use messages::instant::as_instant;
use sqlx::PgConnection;
use storage::people::members::{self, GivenPermissions};
use storage::people::second_factors;
use storage::people::users::{self, User};
use storage::people::workspaces::{self, Membership};

use super::open_session::UserView;
use crate::management::access::SignedIn;
use crate::management::advertiser::workspace::members::shown;
use crate::management::prelude::*;

#[derive(Debug, Serialize, ToSchema)]
pub struct MeAnswer {
    #[serde(flatten)]
    user: UserView,
    /// Null: the password is enough.
    second_factor: Option<SecondFactorView>,
    /// A workspace of theirs requires a second factor. They set one up, or sign in with a passkey; until then the account is all there is.
    lacks_second_factor: bool,
    /// An advertiser's; a partner has none.
    workspaces: Vec<WorkspaceView>,
}

/// A code is asked for beside the password.
#[derive(Debug, Serialize, ToSchema)]
pub struct SecondFactorView {
    #[serde(serialize_with = "as_instant")]
    enabled_at: DateTime<Utc>,
    /// Of the list, not used yet.
    recovery_codes_left: i64,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct WorkspaceView {
    id: i64,
    name: String,
    /// `owner`, `admin` or `member`.
    role: &'static str,
    /// Members without a second factor can do nothing but set one up.
    second_factor_required: bool,
    /// A member's own, by program id. Owners and admins have every permission in any case.
    permissions: BTreeMap<String, Vec<&'static str>>,
}

impl WorkspaceView {
    pub fn new(membership: Membership, given: &GivenPermissions) -> Self {
        Self {
            permissions: shown(given),
            id: membership.workspace_id.get(),
            name: membership.workspace_name,
            role: membership.role.as_str(),
            second_factor_required: membership.second_factor_required,
        }
    }
}

pub async fn own_account(connection: &mut PgConnection, user_id: UserId) -> Result<User, ApiError> {
    let found = users::find(connection, user_id).await?;
    found.ok_or(ApiError::NotFound("Not Found"))
}

/// Who is signed in
#[utoipa::path(
    get,
    path = "/api/users/me",
    responses((status = 200, description = "Their account, and where they work.", body = MeAnswer))
)]
pub async fn me(State(app): State<App>, signed_in: SignedIn) -> Result<Json<MeAnswer>, ApiError> {
    let mut connection = app.management.acquire().await?;
    let user = own_account(&mut connection, signed_in.user.user_id).await?;
    let second_factor = second_factors::enabled(&mut connection, user.user_id).await?;
    let workspaces = workspaces::of_user(&mut connection, user.user_id).await?;
    let memberships: Vec<i64> = workspaces.iter().map(|one| one.member_id.get()).collect();
    let mut given = members::permissions_of(&mut connection, &memberships).await?;
    let view = |membership: Membership| {
        let given = given.remove(&membership.member_id.get()).unwrap_or_default();
        WorkspaceView::new(membership, &given)
    };
    Ok(Json(MeAnswer {
        user: UserView::new(&user),
        second_factor: second_factor.map(|factor| SecondFactorView {
            enabled_at: factor.enabled_at,
            recovery_codes_left: factor.recovery_codes_left,
        }),
        lacks_second_factor: signed_in.user.lacks_second_factor,
        workspaces: workspaces.into_iter().map(view).collect(),
    }))
}
