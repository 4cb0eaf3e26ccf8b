//! `POST /api/auth/cli/confirm`: somebody signed in lets a command line act for them in one workspace.

use axum::Json;
use axum::extract::State;
use common::domain::ids::WorkspaceId;
use common::domain::token::CliLoginToken;
use common::storage::cli_logins::{self, Confirmed};
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::ToSchema;

use crate::access::{Audited, CliConfirmer};
use crate::app::App;
use crate::body::{self, TrackingBody};
use crate::error::ApiError;
use crate::field::{Field, refused};
use crate::routes::answers::{Data, data};
use crate::routes::cli::UNKNOWN_LOGIN;
use crate::routes::openapi::envelopes::PlatformError;
use crate::routes::openapi::examples::Examples;

const EXPIRED: &str = "This CLI login session has expired. Run the login command again.";
const TAKEN: &str = "This CLI login session has been confirmed already";

#[derive(Debug, Deserialize, ToSchema)]
pub struct ConfirmRequest {
    /// What stands behind `#state=` in the address the command line has shown.
    #[schema(value_type = String)]
    state: Field<String>,
    /// Needed by somebody who runs several workspaces.
    #[schema(value_type = Option<i64>)]
    workspace_id: Field<i64>,
}

/// Where the command line acts from now on.
#[derive(Debug, Serialize, ToSchema)]
pub struct ConfirmedLogin {
    workspace_id: i64,
    workspace_name: String,
}

/// Confirm a command line
///
/// It gets a token for 90 days, good for the command line's routes and the one workspace. Only its owner or an admin may.
#[utoipa::path(
    post,
    path = "/api/auth/cli/confirm",
    operation_id = "confirm_cli_login",
    tag = "accounts",
    security(("session" = [])),
    request_body = ConfirmRequest,
    responses(
        (status = 200, description = "Confirmed. The command line learns of it when it asks next.", body = Data<ConfirmedLogin>),
        (status = 400, description = "Expired, or several workspaces to choose from.", body = PlatformError),
        (status = 403, description = "They do not run the workspace, or are suspended.", body = PlatformError),
        (status = 404, description = "Nobody has begun such a login.", body = PlatformError),
        (status = 409, description = "Somebody has confirmed it, for this workspace or another.", body = PlatformError),
    )
)]
pub async fn confirm(
    State(app): State<App>,
    CliConfirmer(user): CliConfirmer,
    body: TrackingBody,
) -> Result<Json<Data<ConfirmedLogin>>, ApiError> {
    let bytes = body.bytes()?;
    let request: ConfirmRequest = body::parse(&bytes)?;
    let named = match request.workspace_id {
        Field::Absent => None,
        Field::Given(id) => Some(WorkspaceId::new(id)),
        Field::WrongType => return Err(refused("workspace_id", "must be an integer")),
    };
    let Field::Given(state) = request.state else {
        return Err(ApiError::bad_request("state is required"));
    };
    let state = CliLoginToken::parse(&state)
        .ok_or(ApiError::NotFound(UNKNOWN_LOGIN))?
        .hash();
    let mut transaction = app.management.begin().await?;
    let workspace = user.workspace(&mut transaction, named).await?;
    let login = cli_logins::lock(&mut transaction, state)
        .await?
        .ok_or(ApiError::NotFound(UNKNOWN_LOGIN))?;
    let now = app.clock.now();
    if now >= login.expires_at {
        return Err(ApiError::bad_request(EXPIRED));
    }
    if login.confirmed.is_some() {
        return Err(ApiError::Conflict(TAKEN));
    }
    let confirmed = Confirmed {
        user_id: user.user.user_id,
        workspace_id: workspace.workspace_id,
    };
    cli_logins::confirm(&mut transaction, state, &confirmed, now).await?;
    let audited = Audited::new(workspace.workspace_id, "cli_login.confirmed").about(confirmed.user_id.get());
    user.audit(&app, &mut transaction, audited).await?;
    transaction.commit().await?;
    Ok(data(ConfirmedLogin {
        workspace_id: workspace.workspace_id.get(),
        workspace_name: workspace.workspace_name,
    }))
}

pub fn examples() -> Examples {
    let confirmed = ConfirmedLogin {
        workspace_id: 2,
        workspace_name: "Shop".to_owned(),
    };
    let state = CliLoginToken::generate([7; 32]);
    Examples::of_refusals([
        ApiError::bad_request(EXPIRED),
        ApiError::AccountBlocked,
        ApiError::NotFound(UNKNOWN_LOGIN),
        ApiError::Conflict(TAKEN),
    ])
    .request(
        "For one of several",
        json!({ "state": state.expose(), "workspace_id": 2 }),
    )
    .answer("Confirmed", Data { data: confirmed })
}
