//! Lists, adds and removes passkeys of the signed-in user.
//!
//! Adding or using a passkey takes two requests. The first returns a challenge for the device and a handle.
//! The second sends the signed challenge and the handle. A challenge is stored, expires after five minutes,
//! and is accepted once.

use axum::http::StatusCode;
use chrono::{DateTime, TimeDelta, Utc};
use domain::ids::{PasskeyId, UserId};
use domain::token::PasskeyChallengeToken;
use messages::instant::{as_instant, as_instant_if_any};
use serde_json::{Value, json};
use sqlx::PgConnection;
use storage::people::passkeys::{self, ListedPasskey, NewChallenge, NewPasskey};
use storage::people::sessions;

use super::me::own_account;
use super::second_factor::{DEMANDED, keep_a_required_one};
use crate::http::field::Field;
use crate::management::access::{SignedIn, Write};
use crate::management::answers::{Created, Ids, created, view};
use crate::management::passkeys::{Challenge, NOT_OFFERED, REFUSED};
use crate::management::prelude::*;

const CHALLENGE_LASTS: TimeDelta = TimeDelta::minutes(5);
const MOST: usize = 20;

/// A passkey of the signed-in user.
#[derive(Debug, Serialize, ToSchema)]
pub struct PasskeyView {
    id: i64,
    name: String,
    #[serde(serialize_with = "as_instant")]
    created_at: DateTime<Utc>,
    #[serde(serialize_with = "as_instant_if_any")]
    last_used_at: Option<DateTime<Utc>>,
}

/// What a device is to sign.
#[derive(Debug, Serialize, ToSchema)]
pub struct ChallengeView {
    /// To be sent with the device's answer.
    handle: String,
    /// For `navigator.credentials`, as WebAuthn's JSON has it.
    #[schema(value_type = Object)]
    options: Value,
}

#[derive(Debug, Deserialize, ToSchema)]
pub struct NewPasskeyRequest {
    #[schema(value_type = String)]
    handle: Field<String>,
    /// The user's name for it.
    #[schema(value_type = String, max_length = 120)]
    name: Field<String>,
    /// The result of `navigator.credentials.create`, as JSON.
    #[schema(value_type = Object)]
    #[serde(default)]
    credential: Value,
}

/// List one's passkeys
#[utoipa::path(
    get,
    path = "/api/users/me/passkeys",
    responses((status = 200, description = "Oldest first.", body = Data<Vec<PasskeyView>>)),
    extensions(("x-refusals" = json!([ApiError::PasswordRequired, ApiError::PasskeyRequired]))),
)]
pub async fn list_passkeys(State(app): State<App>, signed_in: SignedIn) -> Answer<Vec<PasskeyView>> {
    let mut connection = app.management.acquire().await?;
    let listed = passkeys::list(&mut connection, signed_in.user.user_id).await?;
    Ok(data(listed.into_iter().map(PasskeyView::from).collect()))
}

/// Begin to make a passkey
///
/// Needs a password given within the last half hour and, where the account has passkeys, one of them shown in this session.
#[utoipa::path(
    post,
    path = "/api/users/me/passkeys/challenge",
    responses(
        (status = 200, description = "What the device is to make, within five minutes.", body = Data<ChallengeView>),
        (status = 403, description = "The password must be given again first, or a passkey shown.", body = PlatformError),
        (status = 409, description = "`PUBLIC_URL` is no HTTPS address with a host name, or there are 20 already.", body = PlatformError),
    ),
    extensions(("x-refusals" = json!([
        NOT_OFFERED, ApiError::PasswordRequired, ApiError::PasskeyRequired
    ]))),
)]
pub async fn begin_passkey(mut write: Write<SignedIn>) -> Answer<ChallengeView> {
    write.proved_own_factor().await?;
    let user_id = write.caller.user.user_id;
    let user = own_account(&mut write.db, user_id).await?;
    let known = passkeys::credential_ids(&mut write.db, user_id).await?;
    if known.len() >= MOST {
        return Err(TOO_MANY);
    }
    let challenge = write
        .app
        .passkeys
        .ask_for_new(user_id, &user.email, &user.name, known)?;
    let asked = keep(&write.app, &mut write.db, Some(user_id), challenge).await?;
    write.answer(asked).await
}

/// Make a passkey
#[utoipa::path(
    post,
    path = "/api/users/me/passkeys",
    request_body = NewPasskeyRequest,
    responses(
        (status = 201, description = "It signs in from now on.", body = Data<PasskeyView>),
        (status = 400, description = "It is not what was asked for, or the time is over.", body = PlatformError),
        (status = 403, description = "The password must be given again first, or a passkey shown.", body = PlatformError),
    ),
    extensions(("x-refusals" = json!([REFUSED, ApiError::PasswordRequired, ApiError::PasskeyRequired]))),
)]
pub async fn create_passkey(mut write: Write<SignedIn>) -> Created<PasskeyView> {
    let user = write.caller.user;
    write.proved_own_factor().await?;
    let request: NewPasskeyRequest = write.body().json()?;
    let name = request.name.required_name("name", "name is required")?;
    let now = write.now();
    let state = taken(&write.app, &mut write.db, request.handle, Some(user.user_id)).await?;
    let made = write.app.passkeys.made(request.credential, state)?;
    let new = NewPasskey {
        user_id: user.user_id,
        name: &name,
        credential_id: &made.credential_id,
        credential: &made.credential,
        created_at: now,
    };
    let passkey_id = passkeys::add(&mut write.db, &new).await?.ok_or(REFUSED)?;
    let details = json!({ "passkey": passkey_id, "name": name.as_str() });
    write.audit_account("user.passkey_added", details).await?;
    write.commit().await?;
    Ok(created(PasskeyView {
        id: passkey_id.get(),
        name: name.as_str().to_owned(),
        created_at: now,
        last_used_at: None,
    }))
}

/// Remove a passkey
///
/// Needs what making one needs. Every other session ends. The last factor stays where a workspace requires one.
#[utoipa::path(
    delete,
    path = "/api/users/me/passkeys/{passkey_id}",
    responses(
        (status = 204, description = "It signs in no more."),
        (status = 403, description = "The password must be given again first, or a passkey shown.", body = PlatformError),
        (status = 404, description = "They have none of this id.", body = PlatformError),
        (status = 409, description = "It is the last factor, and a workspace requires one.", body = PlatformError),
    ),
    extensions(("x-refusals" = json!([
        NOT_FOUND, ApiError::PasswordRequired, ApiError::PasskeyRequired, ApiError::Conflict(DEMANDED)
    ]))),
)]
pub async fn remove_passkey(mut write: Write<SignedIn, Ids<PasskeyId>>) -> Result<StatusCode, ApiError> {
    let user = write.caller.user;
    let Ids(passkey_id) = write.on;
    let own = write.proved_own_factor().await?;
    if !passkeys::remove(&mut write.db, user.user_id, passkey_id).await? {
        return Err(NOT_FOUND);
    }
    if own.passkeys == 1 && !own.has_app {
        keep_a_required_one(&mut write.db, user.user_id).await?;
    }
    let now = write.now();
    sessions::revoke_others(&mut write.db, user.user_id, user.session_id, now).await?;
    let details = json!({ "passkey": passkey_id });
    write.audit_account("user.passkey_removed", details).await?;
    write.answer(StatusCode::NO_CONTENT).await
}

/// Stores a challenge until its answer comes, and returns it with a handle for the answer.
pub async fn keep(
    app: &App,
    connection: &mut PgConnection,
    user_id: Option<UserId>,
    challenge: Challenge,
) -> Answer<ChallengeView> {
    let handle = PasskeyChallengeToken::generate(App::random());
    let now = app.clock.now();
    let new = NewChallenge {
        handle_hash: handle.hash(),
        user_id,
        state: &challenge.state,
        expires_at: now + CHALLENGE_LASTS,
    };
    passkeys::keep_challenge(connection, &new, now).await?;
    Ok(data(ChallengeView {
        handle: handle.expose().to_owned(),
        options: challenge.options,
    }))
}

/// Removes and returns the state of the challenge with this handle.
pub async fn taken(
    app: &App,
    connection: &mut PgConnection,
    handle: Field<String>,
    user_id: Option<UserId>,
) -> Result<Value, ApiError> {
    let handle = handle.required("handle is required")?;
    let handle = PasskeyChallengeToken::parse(&handle).ok_or(REFUSED)?;
    let found = passkeys::take_challenge(connection, handle.hash(), user_id, app.clock.now()).await?;
    found.ok_or(REFUSED)
}

const TOO_MANY: ApiError = ApiError::Conflict("You have as many passkeys as you may: remove one first");
const NOT_FOUND: ApiError = ApiError::NotFound("Passkey not found");

view! { |passkey: ListedPasskey| PasskeyView {
    name, created_at, last_used_at;
    id: passkey.passkey_id.get(),
} }
