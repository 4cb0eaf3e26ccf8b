//! Signs in with a passkey, and confirms with a passkey instead of the password.

use axum::http::StatusCode;
use axum::response::Response;
use domain::ids::UserId;
use serde_json::Value;
use sqlx::PgConnection;
use storage::people::{passkeys, sessions, users};

use super::open_session::{SignInMethod, SignedInAnswer, sign_in_by};
use super::passkeys::{ChallengeView, keep, taken};
use crate::http::body::RequestBody;
use crate::http::field::Field;
use crate::http::openapi::envelopes::RateLimited;
use crate::management::access::{SignedIn, Source, commit};
use crate::management::passkeys::{NOT_OFFERED, REFUSED};
use crate::management::prelude::*;

#[derive(Debug, Deserialize, ToSchema)]
pub struct PasskeyShown {
    #[schema(value_type = String)]
    handle: Field<String>,
    /// The result of `navigator.credentials.get`, as JSON.
    #[schema(value_type = Object)]
    #[serde(default)]
    credential: Value,
}

/// Begin to show a passkey
///
/// To sign in, or instead of giving the password again.
#[utoipa::path(
    post,
    path = "/api/auth/passkey/challenge",
    responses(
        (status = 200, description = "What the device is to sign, within five minutes.", body = Data<ChallengeView>),
        (status = 409, description = "`PUBLIC_URL` is no HTTPS address with a host name.", body = PlatformError),
        (status = 429, description = "Too many attempts from this address.", body = RateLimited),
    ),
    extensions(("x-refusals" = json!([NOT_OFFERED]))),
)]
pub async fn begin_passkey_sign_in(State(app): State<App>, source: Source) -> Answer<ChallengeView> {
    app.limits.spend_passkey(source.client).await?;
    let challenge = app.passkeys.ask_for_any()?;
    let mut connection = app.management.acquire().await?;
    keep(&app, &mut connection, None, challenge).await
}

/// Sign in with a passkey
///
/// Instead of password and code; the answer is that of `POST /api/auth/local`.
#[utoipa::path(
    post,
    path = "/api/auth/passkey",
    request_body = PasskeyShown,
    responses(
        (status = 200, description = "Signed in, for 14 days.", body = SignedInAnswer),
        (status = 400, description = "The passkey is unknown, did not sign what was asked, or the time is over.", body = PlatformError),
        (status = 403, description = "The account is suspended, or a page of another site asks.", body = PlatformError),
        (status = 409, description = "`PUBLIC_URL` is no HTTPS address with a host name.", body = PlatformError),
        (status = 429, description = "Too many attempts from this address.", body = RateLimited),
    ),
    extensions(("x-refusals" = json!([REFUSED, NOT_OFFERED, ApiError::AccountBlocked]))),
)]
pub async fn sign_in_with_passkey(
    State(app): State<App>,
    source: Source,
    body: RequestBody,
) -> Result<Response, ApiError> {
    let mut transaction = app.management.begin().await?;
    let user_id = shown(&app, &mut transaction, &source, body).await?;
    let user = users::find(&mut transaction, user_id).await?.ok_or(REFUSED)?;
    if user.suspended {
        return Err(ApiError::AccountBlocked);
    }
    let answer = sign_in_by(SignInMethod::Passkey, &app, &mut transaction, &source, &user).await?;
    commit(transaction).await?;
    Ok(answer)
}

/// Show one's passkey instead of the password
///
/// As `POST /api/auth/confirm-password`. It is the session's second factor from then on.
#[utoipa::path(
    post,
    path = "/api/auth/confirm-passkey",
    request_body = PasskeyShown,
    responses(
        (status = 204, description = "It is theirs."),
        (status = 400, description = "The passkey is not theirs, did not sign what was asked, or the time is over.", body = PlatformError),
        (status = 409, description = "`PUBLIC_URL` is no HTTPS address with a host name.", body = PlatformError),
        (status = 429, description = "Too many attempts.", body = RateLimited),
    ),
    extensions(("x-refusals" = json!([REFUSED, NOT_OFFERED]))),
)]
pub async fn confirm_passkey(
    State(app): State<App>,
    signed_in: SignedIn,
    body: RequestBody,
) -> Result<StatusCode, ApiError> {
    let (user, source) = (signed_in.user, &signed_in.source);
    let mut transaction = app.management.begin().await?;
    let user_id = shown(&app, &mut transaction, source, body).await?;
    if user_id != user.user_id {
        return Err(REFUSED);
    }
    sessions::prove(&mut transaction, user.session_id, true, app.clock.now()).await?;
    commit(transaction).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Checks the signed challenge and returns the passkey's owner. The use is stored when the transaction
/// commits.
async fn shown(
    app: &App,
    connection: &mut PgConnection,
    source: &Source,
    body: RequestBody,
) -> Result<UserId, ApiError> {
    // Counted by address alone: a signature cannot be guessed, and the account named here is not proved yet.
    app.limits.spend_passkey(source.client).await?;
    let request: PasskeyShown = body.json()?;
    let shown = app.passkeys.shown(request.credential)?;
    let user_id = shown.user_id;
    let state = taken(app, connection, request.handle, None).await?;
    let passkey = passkeys::lock(connection, shown.credential_id())
        .await?
        .filter(|passkey| passkey.user_id == user_id)
        .ok_or(REFUSED)?;
    let credential = app.passkeys.signed(&shown, state, passkey.credential)?;
    passkeys::note_use(connection, passkey.passkey_id, &credential, app.clock.now()).await?;
    Ok(user_id)
}
