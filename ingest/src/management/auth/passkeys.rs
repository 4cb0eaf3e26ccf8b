//! Passkeys: added and removed by a signed-in user, and used in place of password and code.
//!
//! Each use takes two requests: the first returns a challenge for the device and a handle, the second brings the signed challenge and that
//! handle. A challenge is stored, expires after five minutes, and is accepted once.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use chrono::{DateTime, TimeDelta, Utc};
use domain::ids::{PasskeyId, UserId};
use domain::token::PasskeyChallengeToken;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sqlx::PgConnection;
use storage::passkeys::{self, ListedPasskey, NewChallenge, NewPasskey};
use storage::{sessions, users};
use utoipa::ToSchema;

use super::open_session::{SignInMethod, SignedInAnswer, sign_in_by};
use crate::app::App;
use crate::http::body::{self, TrackingBody};
use crate::http::error::ApiError;
use crate::http::field::Field;
use crate::http::openapi::envelopes::{PlatformError, RateLimited};
use crate::http::openapi::examples::Examples;
use crate::management::access::{SignedIn, Source};
use crate::management::answers::{Data, Ids, as_instant, as_instant_if_any, created, data};
use crate::management::passkeys::{Challenge, not_offered, refused};

const CHALLENGE_LASTS: TimeDelta = TimeDelta::minutes(5);
const MOST: usize = 20;

/// A passkey of the signed-in user.
#[derive(Debug, Serialize, ToSchema)]
pub struct PasskeyView {
    id: i64,
    name: String,
    #[serde(serialize_with = "as_instant")]
    #[schema(value_type = String, format = DateTime)]
    created_at: DateTime<Utc>,
    #[serde(serialize_with = "as_instant_if_any")]
    #[schema(value_type = Option<String>, format = DateTime)]
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
    /// What `navigator.credentials.create` came to, as JSON.
    #[schema(value_type = Object)]
    #[serde(default)]
    credential: Value,
}

#[derive(Debug, Deserialize, ToSchema)]
pub struct PasskeyShown {
    #[schema(value_type = String)]
    handle: Field<String>,
    /// What `navigator.credentials.get` came to, as JSON.
    #[schema(value_type = Object)]
    #[serde(default)]
    credential: Value,
}

type Answer<T> = Result<Json<Data<T>>, ApiError>;

/// List one's passkeys
#[utoipa::path(
    get,
    path = "/api/users/me/passkeys",
    operation_id = "list_passkeys",
    tag = "accounts",
    security(("session" = [])),
    responses((status = 200, description = "Oldest first.", body = Data<Vec<PasskeyView>>))
)]
pub async fn list(State(app): State<App>, signed_in: SignedIn) -> Answer<Vec<PasskeyView>> {
    let mut connection = app.management.acquire().await?;
    let listed = passkeys::list(&mut connection, signed_in.user.user_id).await?;
    Ok(data(listed.into_iter().map(PasskeyView::new).collect()))
}

/// Begin to make a passkey
///
/// Needs a password given within the last half hour.
#[utoipa::path(
    post,
    path = "/api/users/me/passkeys/challenge",
    operation_id = "begin_passkey",
    tag = "accounts",
    security(("session" = [])),
    responses(
        (status = 200, description = "What the device is to make, within five minutes.", body = Data<ChallengeView>),
        (status = 403, description = "The password must be given again first.", body = PlatformError),
        (status = 409, description = "`PUBLIC_URL` is no HTTPS address with a host name, or there are 20 already.", body = PlatformError),
    )
)]
pub async fn begin(State(app): State<App>, signed_in: SignedIn) -> Answer<ChallengeView> {
    signed_in.user.just_proved(&app)?;
    let user_id = signed_in.user.user_id;
    let mut connection = app.management.acquire().await?;
    let user = users::find(&mut connection, user_id)
        .await?
        .ok_or(ApiError::NotFound("Not Found"))?;
    let known = passkeys::credential_ids(&mut connection, user_id).await?;
    if known.len() >= MOST {
        return Err(too_many());
    }
    let challenge = app
        .passkeys
        .ask_for_new(user_id, &user.email, &user.name, known)?;
    keep(&app, &mut connection, Some(user_id), challenge).await
}

/// Make a passkey
#[utoipa::path(
    post,
    path = "/api/users/me/passkeys",
    operation_id = "create_passkey",
    tag = "accounts",
    security(("session" = [])),
    request_body = NewPasskeyRequest,
    responses(
        (status = 201, description = "It signs in from now on.", body = Data<PasskeyView>),
        (status = 400, description = "It is not what was asked for, or the time is over.", body = PlatformError),
        (status = 403, description = "The password must be given again first.", body = PlatformError),
    )
)]
pub async fn create(
    State(app): State<App>,
    signed_in: SignedIn,
    body: TrackingBody,
) -> Result<(StatusCode, Json<Data<PasskeyView>>), ApiError> {
    let SignedIn { user, source } = signed_in;
    user.just_proved(&app)?;
    let bytes = body.bytes()?;
    let request: NewPasskeyRequest = body::parse(&bytes)?;
    let name = request.name.required_name("name", "name is required")?;
    let now = app.clock.now();
    let mut transaction = app.management.begin().await?;
    let state = taken(&app, &mut transaction, request.handle, Some(user.user_id)).await?;
    let made = app.passkeys.made(request.credential, state)?;
    let new = NewPasskey {
        user_id: user.user_id,
        name: &name,
        credential_id: &made.credential_id,
        credential: &made.credential,
        created_at: now,
    };
    let passkey_id = passkeys::add(&mut transaction, &new).await?.ok_or(refused())?;
    let details = json!({ "passkey": passkey_id, "name": name.as_str() });
    source
        .audit_account(
            &app,
            &mut transaction,
            user.user_id,
            "user.passkey_added",
            details,
        )
        .await?;
    transaction.commit().await?;
    Ok(created(PasskeyView {
        id: passkey_id.get(),
        name: name.as_str().to_owned(),
        created_at: now,
        last_used_at: None,
    }))
}

/// Remove a passkey
#[utoipa::path(
    delete,
    path = "/api/users/me/passkeys/{passkey_id}",
    operation_id = "remove_passkey",
    tag = "accounts",
    security(("session" = [])),
    params(("passkey_id" = i64, Path)),
    responses(
        (status = 204, description = "It signs in no more."),
        (status = 403, description = "The password must be given again first.", body = PlatformError),
        (status = 404, description = "They have none of this id.", body = PlatformError),
    )
)]
pub async fn remove(
    State(app): State<App>,
    signed_in: SignedIn,
    Ids(passkey_id): Ids<PasskeyId>,
) -> Result<StatusCode, ApiError> {
    let SignedIn { user, source } = signed_in;
    user.just_proved(&app)?;
    let mut transaction = app.management.begin().await?;
    if !passkeys::remove(&mut transaction, user.user_id, passkey_id).await? {
        return Err(not_found());
    }
    let details = json!({ "passkey": passkey_id });
    source
        .audit_account(
            &app,
            &mut transaction,
            user.user_id,
            "user.passkey_removed",
            details,
        )
        .await?;
    transaction.commit().await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Begin to show a passkey
///
/// To sign in, or in place of the password that is asked for again.
#[utoipa::path(
    post,
    path = "/api/auth/passkey/challenge",
    operation_id = "begin_passkey_sign_in",
    tag = "accounts",
    responses(
        (status = 200, description = "What the device is to sign, within five minutes.", body = Data<ChallengeView>),
        (status = 409, description = "`PUBLIC_URL` is no HTTPS address with a host name.", body = PlatformError),
        (status = 429, description = "Too many attempts from this address.", body = RateLimited),
    )
)]
pub async fn ask(State(app): State<App>, source: Source) -> Answer<ChallengeView> {
    app.limits.spend_passkey(source.client).await?;
    let challenge = app.passkeys.ask_for_any()?;
    let mut connection = app.management.acquire().await?;
    keep(&app, &mut connection, None, challenge).await
}

/// Sign in with a passkey
///
/// In place of password and code; the answer is that of `POST /api/auth/local`.
#[utoipa::path(
    post,
    path = "/api/auth/passkey",
    operation_id = "sign_in_with_passkey",
    tag = "accounts",
    request_body = PasskeyShown,
    responses(
        (status = 200, description = "Signed in, for 14 days.", body = SignedInAnswer),
        (status = 400, description = "The passkey is unknown, did not sign what was asked, or the time is over.", body = PlatformError),
        (status = 403, description = "The account is suspended, or a page of another site asks.", body = PlatformError),
        (status = 409, description = "`PUBLIC_URL` is no HTTPS address with a host name.", body = PlatformError),
        (status = 429, description = "Too many attempts from this address.", body = RateLimited),
    )
)]
pub async fn sign_in(
    State(app): State<App>,
    source: Source,
    body: TrackingBody,
) -> Result<Response, ApiError> {
    let mut transaction = app.management.begin().await?;
    let user_id = shown(&app, &mut transaction, &source, body).await?;
    let user = users::find(&mut transaction, user_id).await?.ok_or(refused())?;
    if user.suspended {
        return Err(ApiError::AccountBlocked);
    }
    let answer = sign_in_by(SignInMethod::Passkey, &app, &mut transaction, &source, &user).await?;
    transaction.commit().await?;
    Ok(answer)
}

/// Show one's passkey in place of the password
///
/// As `POST /api/auth/confirm-password`.
#[utoipa::path(
    post,
    path = "/api/auth/confirm-passkey",
    operation_id = "confirm_passkey",
    tag = "accounts",
    security(("session" = [])),
    request_body = PasskeyShown,
    responses(
        (status = 204, description = "It is theirs."),
        (status = 400, description = "The passkey is not theirs, did not sign what was asked, or the time is over.", body = PlatformError),
        (status = 409, description = "`PUBLIC_URL` is no HTTPS address with a host name.", body = PlatformError),
        (status = 429, description = "Too many attempts.", body = RateLimited),
    )
)]
pub async fn confirm(
    State(app): State<App>,
    signed_in: SignedIn,
    body: TrackingBody,
) -> Result<StatusCode, ApiError> {
    let SignedIn { user, source } = signed_in;
    let mut transaction = app.management.begin().await?;
    let user_id = shown(&app, &mut transaction, &source, body).await?;
    if user_id != user.user_id {
        return Err(refused());
    }
    sessions::prove(&mut transaction, user.session_id, app.clock.now()).await?;
    transaction.commit().await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Checks the signed challenge and returns the passkey's owner; the use is stored once the transaction is committed.
async fn shown(
    app: &App,
    connection: &mut PgConnection,
    source: &Source,
    body: TrackingBody,
) -> Result<UserId, ApiError> {
    // Counted by address alone: a signature cannot be guessed, and the account named here is not proved yet.
    app.limits.spend_passkey(source.client).await?;
    let bytes = body.bytes()?;
    let request: PasskeyShown = body::parse(&bytes)?;
    let shown = app.passkeys.shown(request.credential)?;
    let user_id = shown.user_id;
    let state = taken(app, connection, request.handle, None).await?;
    let passkey = passkeys::lock(connection, shown.credential_id())
        .await?
        .filter(|passkey| passkey.user_id == user_id)
        .ok_or(refused())?;
    let credential = app.passkeys.signed(&shown, state, passkey.credential)?;
    passkeys::note_use(connection, passkey.passkey_id, &credential, app.clock.now()).await?;
    Ok(user_id)
}

/// Stores a challenge until its answer comes, and returns it with the handle to answer under.
async fn keep(
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

/// The state of the challenge that was asked under this handle; it is gone once the transaction is committed.
async fn taken(
    app: &App,
    connection: &mut PgConnection,
    handle: Field<String>,
    user_id: Option<UserId>,
) -> Result<Value, ApiError> {
    let Field::Given(handle) = handle else {
        return Err(ApiError::bad_request("handle is required"));
    };
    let handle = PasskeyChallengeToken::parse(&handle).ok_or(refused())?;
    passkeys::take_challenge(connection, handle.hash(), user_id, app.clock.now())
        .await?
        .ok_or(refused())
}

const fn too_many() -> ApiError {
    ApiError::Conflict("You have as many passkeys as you may: remove one first")
}

const fn not_found() -> ApiError {
    ApiError::NotFound("Passkey not found")
}

impl PasskeyView {
    fn new(passkey: ListedPasskey) -> Self {
        Self {
            id: passkey.passkey_id.get(),
            name: passkey.name,
            created_at: passkey.created_at,
            last_used_at: passkey.last_used_at,
        }
    }

    fn example() -> Self {
        Self {
            id: 7,
            name: "Phone".to_owned(),
            created_at: DateTime::UNIX_EPOCH,
            last_used_at: None,
        }
    }
}

fn example_handle() -> String {
    PasskeyChallengeToken::generate([7; 32]).expose().to_owned()
}

pub fn list_examples() -> Examples {
    let request = json!({ "handle": example_handle(), "name": "Phone", "credential": { "id": "AQ", "type": "public-key" } });
    let listed = vec![PasskeyView::example()];
    Examples::of_refusals([refused(), ApiError::PasswordRequired])
        .request("What the device made", request)
        .answer("One", Data { data: listed })
        .made(
            "Made",
            Data {
                data: PasskeyView::example(),
            },
        )
}

pub fn challenge_examples() -> Examples {
    let view = ChallengeView {
        handle: example_handle(),
        options: json!({ "publicKey": { "challenge": "AAAA" } }),
    };
    Examples::of_refusals([not_offered(), ApiError::PasswordRequired, limited()])
        .answer("What is to be signed", Data { data: view })
}

pub fn remove_examples() -> Examples {
    Examples::of_refusals([not_found(), ApiError::PasswordRequired])
}

pub fn sign_in_examples() -> Examples {
    shown_examples()
        .refusal(&ApiError::AccountBlocked)
        .answer("Signed in", SignedInAnswer::example())
}

pub fn shown_examples() -> Examples {
    let request = json!({ "handle": example_handle(), "credential": { "id": "AQ", "type": "public-key" } });
    Examples::of_refusals([refused(), not_offered(), limited()]).request("What the device signed", request)
}

const fn limited() -> ApiError {
    ApiError::RateLimited {
        retry_after_seconds: 21,
    }
}
