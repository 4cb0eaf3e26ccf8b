//! `POST /api/auth/cli/inspect` and `…/confirm`: a signed-in user lets a command line act for them in one
//! workspace.

use chrono::{DateTime, Utc};
use domain::ids::WorkspaceId;
use domain::people::user_code::UserCode;
use messages::instant::as_instant;
use sqlx::PgConnection;
use storage::people::cli_logins::{self, Confirmed, WaitingLogin};
use storage::people::members;

use crate::http::body::RequestBody;
use crate::http::field::Field;
use crate::http::openapi::envelopes::RateLimited;
use crate::management::access::{AdvertiserUser, Audited, Caller, CliConfirmer, commit};
use crate::management::cli::login::UNKNOWN_LOGIN;
use crate::management::prelude::*;

const EXPIRED: &str = "This CLI login session has expired. Run the login command again.";
const TAKEN: &str = "This CLI login session has been confirmed already";

#[derive(Debug, Deserialize, ToSchema)]
pub struct InspectLoginRequest {
    /// As the command line shows it.
    #[schema(value_type = String)]
    user_code: Field<String>,
}

#[derive(Debug, Deserialize, ToSchema)]
pub struct ConfirmRequest {
    /// As the command line shows it. What it waits with confirms nothing.
    #[schema(value_type = String)]
    user_code: Field<String>,
    /// Required for a user who runs several workspaces.
    #[schema(value_type = Option<i64>)]
    workspace_id: Field<i64>,
}

/// A pending login, for the user to compare with the one they started.
#[derive(Debug, Serialize, ToSchema)]
pub struct LoginInspected {
    user_code: String,
    /// Where it was started.
    address: Option<String>,
    /// The command line's words about itself.
    user_agent: Option<String>,
    /// It was started where this request comes from.
    same_address: bool,
    #[serde(serialize_with = "as_instant")]
    created_at: DateTime<Utc>,
    #[serde(serialize_with = "as_instant")]
    expires_at: DateTime<Utc>,
}

/// Where the command line acts from now on.
#[derive(Debug, Serialize, ToSchema)]
pub struct ConfirmedLogin {
    workspace_id: i64,
    workspace_name: String,
}

/// What a user code is of
///
/// Shows where and when a login was started, before it is confirmed.
#[utoipa::path(
    post,
    path = "/api/auth/cli/inspect",
    request_body = InspectLoginRequest,
    responses(
        (status = 200, description = "It waits to be confirmed.", body = Data<LoginInspected>),
        (status = 400, description = "Expired.", body = PlatformError),
        (status = 403, description = "They are suspended, or no advertiser.", body = PlatformError),
        (status = 404, description = "No login has this code.", body = PlatformError),
        (status = 409, description = "It has been confirmed.", body = PlatformError),
        (status = 429, description = "Too many unknown codes from this address.", body = RateLimited),
    ),
    extensions(("x-refusals" = json!([
        ApiError::bad_request(EXPIRED), ApiError::AccountBlocked, ApiError::NotFound(UNKNOWN_LOGIN), ApiError::Conflict(TAKEN)
    ]))),
)]
pub async fn inspect_cli_login(
    State(app): State<App>,
    CliConfirmer(user): CliConfirmer,
    body: RequestBody,
) -> Answer<LoginInspected> {
    let request: InspectLoginRequest = body.json()?;
    let mut transaction = app.management.begin().await?;
    let (code, login) = waiting(&app, &mut transaction, &user, request.user_code).await?;
    let here = user
        .source
        .client
        .map(|client| client.ip.to_canonical().to_string());
    Ok(data(LoginInspected {
        user_code: code.expose(),
        same_address: login.address.is_some() && login.address == here,
        address: login.address,
        user_agent: login.user_agent,
        created_at: login.created_at,
        expires_at: login.expires_at,
    }))
}

/// Confirm a command line
///
/// It gets a token for 90 days, good for the command line's routes and the one workspace. Only its owner or an admin may, who gave
/// the password within the last half hour.
#[utoipa::path(
    post,
    path = "/api/auth/cli/confirm",
    request_body = ConfirmRequest,
    responses(
        (status = 200, description = "Confirmed. The command line learns of it when it asks next.", body = Data<ConfirmedLogin>),
        (status = 400, description = "Expired, or several workspaces to choose from.", body = PlatformError),
        (status = 403, description = "They do not run the workspace, are suspended, or must give the password again.", body = PlatformError),
        (status = 404, description = "No login has this code.", body = PlatformError),
        (status = 409, description = "It has been confirmed, for this workspace or another.", body = PlatformError),
        (status = 429, description = "Too many unknown codes from this address.", body = RateLimited),
    ),
    extensions(("x-refusals" = json!([
        ApiError::bad_request(EXPIRED), ApiError::AccountBlocked, ApiError::NotFound(UNKNOWN_LOGIN), ApiError::Conflict(TAKEN),
        ApiError::PasswordRequired
    ]))),
)]
pub async fn confirm_cli_login(
    State(app): State<App>,
    CliConfirmer(user): CliConfirmer,
    body: RequestBody,
) -> Answer<ConfirmedLogin> {
    let request: ConfirmRequest = body.json()?;
    let named = request.workspace_id.integer("workspace_id")?;
    let named = named.map(WorkspaceId::new);
    let mut transaction = app.management.begin().await?;
    let workspace = user.workspace(&mut transaction, named).await?;
    user.user.just_proved(&app)?;
    // A concurrent change of the user's rights either waits for this transaction or is seen by it.
    members::lock(&mut transaction, workspace.workspace_id).await?;
    let workspace = user
        .workspace(&mut transaction, Some(workspace.workspace_id))
        .await?;
    let (_, login) = waiting(&app, &mut transaction, &user, request.user_code).await?;
    let confirmed = Confirmed {
        user_id: user.user.user_id,
        workspace_id: workspace.workspace_id,
    };
    cli_logins::confirm(&mut transaction, login.id, &confirmed, app.clock.now()).await?;
    let audited = Audited::new(workspace.workspace_id, "cli_login.confirmed").about(confirmed.user_id.get());
    user.source
        .audit(&app, &mut transaction, user.actor(), audited)
        .await?;
    commit(transaction).await?;
    Ok(data(ConfirmedLogin {
        workspace_id: workspace.workspace_id.get(),
        workspace_name: workspace.workspace_name,
    }))
}

/// The pending login of a code, locked. Unknown codes are counted like unknown tokens.
async fn waiting(
    app: &App,
    connection: &mut PgConnection,
    user: &AdvertiserUser,
    given: Field<String>,
) -> Result<(UserCode, WaitingLogin), ApiError> {
    let text = given.required("user_code is required")?;
    let client = user.source.client;
    app.limits.admit_token(client)?;
    let unknown = || {
        app.limits.count_unknown_token(client);
        ApiError::NotFound(UNKNOWN_LOGIN)
    };
    let code = UserCode::parse(&text).ok_or_else(unknown)?;
    let login = cli_logins::lock_by_user_code(connection, code.hash()).await?;
    let login = login.ok_or_else(unknown)?;
    if app.clock.now() >= login.expires_at {
        return Err(ApiError::bad_request(EXPIRED));
    }
    if login.confirmed {
        return Err(ApiError::Conflict(TAKEN));
    }
    Ok((code, login))
}
