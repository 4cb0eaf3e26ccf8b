//! `POST` and `GET /api/v1/cli/auth/poll`: the state of a login, and its token once the login is confirmed.

use axum::Json;
use axum::http::{Method, Uri};
use domain::token::{CliLoginToken, SessionToken};
use sqlx::PgConnection;
use storage::operations::audit_log::AuditActor;
use storage::people::cli_logins::{self, Confirmed};
use storage::people::sessions::{self, NewSession, SessionKind};
use storage::people::users;
use url::form_urlencoded;

use super::login::{SESSION_LASTS, UNKNOWN_LOGIN, failed};
use crate::http::body::RequestBody;
use crate::http::field::Field;
use crate::http::request_id::RequestId;
use crate::management::access::{Audited, Source, commit};
use crate::management::prelude::*;

const NO_STATE: &str = "state is required";

#[derive(Debug, Default, Serialize, ToSchema)]
pub struct PollAnswer {
    /// `pending`: it is not confirmed yet. `complete`: the token is in this answer, and in no other. `consumed`: it
    /// was handed over before. `expired`: too late.
    #[schema(pattern = "^(pending|complete|expired|consumed)$")]
    status: &'static str,
    /// For the command line's routes, in a Bearer header, for 90 days.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, required = false)]
    token: Option<String>,
    /// Whose token it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, required = false)]
    email: Option<String>,
    /// The workspace it acts in.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = i64, required = false)]
    advertiser_id: Option<i64>,
}

#[derive(Debug, Deserialize, ToSchema)]
pub struct PollRequest {
    /// As the start of the login answered.
    #[schema(value_type = String)]
    state: Field<String>,
}

/// Ask for a login's token
///
/// Every two seconds, until the status is another than `pending`.
#[utoipa::path(
    post,
    path = "/api/v1/cli/auth/poll",
    request_body = PollRequest,
    responses(
        (status = 200, description = "As it is now.", body = PollAnswer),
        (status = 400, description = "No state is given.", body = PlatformError),
        (status = 403, description = "The user who confirmed it is suspended.", body = PlatformError),
        (status = 404, description = "There is no such login.", body = PlatformError),
    ),
    extensions(("x-refusals" = json!([
        ApiError::bad_request(NO_STATE), ApiError::AccountBlocked, ApiError::NotFound(UNKNOWN_LOGIN),
        failed()
    ]))),
)]
pub async fn poll_cli_login_by_body(
    State(app): State<App>,
    request_id: RequestId,
    source: Source,
    body: RequestBody,
) -> Result<Json<PollAnswer>, ApiError> {
    let request: PollRequest = body.json()?;
    let state = request.state.required(NO_STATE)?;
    look(&app, &source, &state)
        .await
        .map_err(|error| error.quoting(&request_id))
}

/// Ask for a login's token by its address
///
/// As the POST, for command lines that know no other way: an address ends in logs.
#[utoipa::path(
    get,
    path = "/api/v1/cli/auth/poll",
    params(("state" = String, Query, description = "As the start of the login answered.")),
    responses(
        (status = 200, description = "As it is now.", body = PollAnswer),
        (status = 400, description = "No state is given.", body = PlatformError),
        (status = 403, description = "The user who confirmed it is suspended.", body = PlatformError),
        (status = 404, description = "There is no such login.", body = PlatformError),
    ),
    extensions(("x-refusals" = json!([
        ApiError::bad_request(NO_STATE), ApiError::AccountBlocked, ApiError::NotFound(UNKNOWN_LOGIN),
        failed()
    ]))),
)]
pub async fn poll_cli_login(
    State(app): State<App>,
    request_id: RequestId,
    source: Source,
    method: Method,
    uri: Uri,
) -> Result<Json<PollAnswer>, ApiError> {
    // The router takes HEAD for GET, and a HEAD request would lose the token.
    if method != Method::GET {
        return Err(ApiError::MethodNotAllowed);
    }
    let query = uri.query().unwrap_or_default();
    let given = form_urlencoded::parse(query.as_bytes()).find(|(name, _)| name == "state");
    let (_, state) = given.ok_or(ApiError::bad_request(NO_STATE))?;
    look(&app, &source, &state)
        .await
        .map_err(|error| error.quoting(&request_id))
}

async fn look(app: &App, source: &Source, state: &str) -> Result<Json<PollAnswer>, ApiError> {
    let state = CliLoginToken::parse(state).ok_or(ApiError::NotFound(UNKNOWN_LOGIN))?;
    let mut transaction = app.management.begin().await?;
    let login = cli_logins::lock(&mut transaction, state.hash()).await?;
    let login = login.ok_or(ApiError::NotFound(UNKNOWN_LOGIN))?;
    let now = app.clock.now();
    let without_token = |status| {
        Ok(Json(PollAnswer {
            status,
            ..PollAnswer::default()
        }))
    };
    let confirmed = match login.confirmed {
        _ if login.consumed => return without_token("consumed"),
        _ if now >= login.expires_at => return without_token("expired"),
        None => return without_token("pending"),
        Some(confirmed) => confirmed,
    };
    let user = users::find(&mut transaction, confirmed.user_id).await?;
    let user = user.ok_or(ApiError::NotFound(UNKNOWN_LOGIN))?;
    if user.suspended {
        return Err(ApiError::AccountBlocked);
    }
    cli_logins::consume(&mut transaction, state.hash(), now).await?;
    let token = open_session(app, &mut transaction, source, &confirmed).await?;
    commit(transaction).await?;
    Ok(Json(PollAnswer {
        status: "complete",
        token: Some(token.expose().to_owned()),
        email: Some(user.email),
        advertiser_id: Some(confirmed.workspace_id.get()),
    }))
}

async fn open_session(
    app: &App,
    connection: &mut PgConnection,
    source: &Source,
    confirmed: &Confirmed,
) -> Result<SessionToken, ApiError> {
    let token = SessionToken::generate(App::random());
    let now = app.clock.now();
    let session = NewSession {
        user_id: confirmed.user_id,
        kind: SessionKind::Cli(confirmed.workspace_id),
        token_hash: token.hash(),
        // The dashboard session of the confirming user had every factor that was required then.
        by_passkey: false,
        created_at: now,
        expires_at: now + SESSION_LASTS,
        whereabouts: &source.whereabouts,
    };
    let session_id = sessions::open(connection, &session).await?;
    let audited = Audited::new(confirmed.workspace_id, "cli_session.opened").about(session_id.get());
    let actor = AuditActor::User(confirmed.user_id);
    source.audit(app, connection, actor, audited).await?;
    Ok(token)
}
