//! `POST /api/v1/cli/auth/start`: a command line starts a login.

use axum::Json;
use chrono::{DateTime, Utc};
use domain::people::user_code::UserCode;
use domain::token::CliLoginToken;
use messages::instant::as_instant;
use storage::people::cli_logins::{self, NewLogin};
use url::Url;

use super::login::{LOGIN_LASTS, POLL_SECONDS, failed};
use crate::http::request_id::RequestId;
use crate::management::access::Source;
use crate::management::prelude::*;

#[derive(Debug, Serialize, ToSchema)]
pub struct LoginStarted {
    /// What the command line waits with (the device code of RFC 8628). It is exchanged for the token: keep it secret.
    state: String,
    /// To be shown to the user, who sees the same in the browser or types it there: `BCDF-GHJK`. It confirms, and collects nothing.
    user_code: String,
    /// Where the user code is typed, on whichever device.
    #[schema(format = "uri")]
    verification_uri: String,
    /// To be opened in a browser. The user code is behind `#`, where it reaches no server and no log.
    #[schema(format = "uri")]
    auth_url: String,
    /// To be asked every two seconds. Better is a POST to the same path, with `{"state": …}` as its body: addresses end in logs.
    #[schema(format = "uri")]
    poll_url: String,
    /// Seconds between polls.
    interval: u32,
    /// Five minutes from now.
    #[serde(serialize_with = "as_instant")]
    expires_at: DateTime<Utc>,
}

/// Begin to sign a command line in
///
/// A user confirms it at `auth_url`, or at `verification_uri` with the `user_code`; a poll then hands over a token. A body is not
/// looked at.
#[utoipa::path(
    post,
    path = "/api/v1/cli/auth/start",
    responses((status = 200, description = "Started.", body = LoginStarted)),
    extensions(("x-refusals" = json!([failed()]))),
)]
pub async fn start_cli_login(
    State(app): State<App>,
    request_id: RequestId,
    source: Source,
) -> Result<Json<LoginStarted>, ApiError> {
    begin(&app, &source)
        .await
        .map_err(|error| error.quoting(&request_id))
}

async fn begin(app: &App, source: &Source) -> Result<Json<LoginStarted>, ApiError> {
    let state = CliLoginToken::generate(App::random());
    let user_code = UserCode::generate(App::random());
    let now = app.clock.now();
    let login = NewLogin {
        state: state.hash(),
        user_code: user_code.hash(),
        created_at: now,
        expires_at: now + LOGIN_LASTS,
        whereabouts: &source.whereabouts,
    };
    let mut connection = app.management.acquire().await?;
    cli_logins::start(&mut connection, &login).await?;
    let started = LoginStarted::new(&app.public_url, &state, &user_code, login.expires_at);
    Ok(Json(started))
}

impl LoginStarted {
    fn new(public_url: &Url, state: &CliLoginToken, user_code: &UserCode, expires_at: DateTime<Utc>) -> Self {
        let at = |path: &str| {
            let mut url = public_url.clone();
            url.set_path(path);
            url
        };
        let verification_uri = at("/app/connect");
        let (mut auth_url, mut poll_url) = (verification_uri.clone(), at("/api/v1/cli/auth/poll"));
        auth_url.set_fragment(Some(&format!("code={}", user_code.expose())));
        poll_url.set_query(Some(&format!("state={}", state.expose())));
        Self {
            state: state.expose().to_owned(),
            user_code: user_code.expose(),
            verification_uri: verification_uri.into(),
            auth_url: auth_url.into(),
            poll_url: poll_url.into(),
            interval: POLL_SECONDS,
            expires_at,
        }
    }
}
