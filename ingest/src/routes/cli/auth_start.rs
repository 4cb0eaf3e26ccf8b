//! `POST /api/v1/cli/auth/start`: a command line asks to be signed in.

use axum::Json;
use axum::extract::State;
use chrono::{DateTime, Utc};
use common::domain::token::CliLoginToken;
use common::storage::cli_logins;
use serde::Serialize;
use url::Url;
use utoipa::ToSchema;

use super::{LOGIN_LASTS, failed};
use crate::app::App;
use crate::error::ApiError;
use crate::request_id::RequestId;
use crate::routes::answers::as_instant;
use crate::routes::openapi::examples::Examples;

#[derive(Debug, Serialize, ToSchema)]
pub struct LoginStarted {
    /// What the command line knows its login by. Whoever has it gets the token: it is a secret.
    state: String,
    /// To be opened in a browser. The state stands behind `#`, where it reaches no server and no log.
    #[schema(format = "uri")]
    auth_url: String,
    /// To be asked every two seconds.
    #[schema(format = "uri")]
    poll_url: String,
    /// Five minutes from now.
    #[serde(serialize_with = "as_instant")]
    #[schema(value_type = String, format = DateTime)]
    expires_at: DateTime<Utc>,
}

/// Begin to sign a command line in
///
/// Somebody confirms it at `auth_url`; `poll_url` then hands over a token. A body is not looked at.
#[utoipa::path(
    post,
    path = "/api/v1/cli/auth/start",
    operation_id = "start_cli_login",
    tag = "set-up",
    responses((status = 200, description = "Begun.", body = LoginStarted))
)]
pub async fn start(State(app): State<App>, request_id: RequestId) -> Result<Json<LoginStarted>, ApiError> {
    begin(&app).await.map_err(|error| error.quoting(&request_id))
}

async fn begin(app: &App) -> Result<Json<LoginStarted>, ApiError> {
    let state = CliLoginToken::generate(App::random());
    let now = app.clock.now();
    let expires_at = now + LOGIN_LASTS;
    let mut connection = app.management.acquire().await?;
    cli_logins::start(&mut connection, state.hash(), now, expires_at).await?;
    Ok(Json(LoginStarted::new(&app.public_url, &state, expires_at)))
}

impl LoginStarted {
    fn new(public_url: &Url, state: &CliLoginToken, expires_at: DateTime<Utc>) -> Self {
        let at = |path: &str| {
            let mut url = public_url.clone();
            url.set_path(path);
            url
        };
        let (mut auth_url, mut poll_url) = (at("/cli/login"), at("/api/v1/cli/auth/poll"));
        auth_url.set_fragment(Some(&format!("state={}", state.expose())));
        poll_url.set_query(Some(&format!("state={}", state.expose())));
        Self {
            state: state.expose().to_owned(),
            auth_url: auth_url.into(),
            poll_url: poll_url.into(),
            expires_at,
        }
    }
}

pub fn examples() -> Examples {
    let started = Url::parse("https://track.example").ok().map(|url| {
        let at = DateTime::UNIX_EPOCH + chrono::TimeDelta::days(20_000);
        LoginStarted::new(&url, &CliLoginToken::generate([7; 32]), at)
    });
    Examples::of_refusals([failed()]).answer("Begun", started)
}
