//! `/api/users/me/second-factor`: an authenticator app whose codes are required beside the password.
//!
//! Set-up takes two steps: the service shows the secret, and a code proves that the app has it. Only then the
//! factor is required, every other session ends, and a list of recovery codes is shown once.

use axum::http::StatusCode;
use domain::ids::UserId;
use domain::people::second_factor::{AuthenticatorSecret, RecoveryCode};
use serde_json::json;
use sqlx::PgConnection;
use storage::people::{second_factors, sessions, workspaces};

use super::confirm::{PasswordAgain, WRONG};
use super::me::own_account;
use crate::http::body::RequestBody;
use crate::http::field::Field;
use crate::http::openapi::envelopes::RateLimited;
use crate::management::access::{SignedIn, Write, commit, take_code};
use crate::management::prelude::*;

const NOT_BEGUN: &str = "No second factor is being set up";
const IN_USE: &str = "A second factor is in use already: remove it first";
const NONE: &str = "There is no second factor";
pub(super) const DEMANDED: &str = "A workspace of yours requires a second factor";

/// What an authenticator app is given.
#[derive(Debug, Serialize, ToSchema)]
pub struct SecretShown {
    /// To be shown as a QR code.
    uri: String,
    /// To be typed, where the app reads no QR code.
    secret: String,
}

#[derive(Debug, Deserialize, ToSchema)]
pub struct FirstCode {
    /// What the app shows now.
    #[schema(value_type = String)]
    code: Field<String>,
}

/// They replace the app when it is lost, each code once. They are shown here and never again.
#[derive(Debug, Serialize, ToSchema)]
pub struct RecoveryCodes {
    recovery_codes: Vec<String>,
}

/// Begin to set up a second factor
///
/// Needs a password given within the last half hour and, where the account has passkeys, one of them shown in this session. A
/// second call replaces the secret of the first.
#[utoipa::path(
    post,
    path = "/api/users/me/second-factor",
    responses(
        (status = 200, description = "What the app is given. It is shown here only.", body = Data<SecretShown>),
        (status = 403, description = "The password must be given again first, or a passkey shown.", body = PlatformError),
        (status = 409, description = "One is in use.", body = PlatformError),
    ),
    extensions(("x-refusals" = json!([
        ApiError::PasswordRequired, ApiError::PasskeyRequired, ApiError::Conflict(IN_USE)
    ]))),
)]
pub async fn begin_second_factor(mut write: Write<SignedIn>) -> Answer<SecretShown> {
    write.proved_own_factor().await?;
    let user_id = write.caller.user.user_id;
    let secret = AuthenticatorSecret::new(App::random());
    let sealed = secret
        .seal(&write.app.sealing_keys, user_id, App::random())
        .map_err(ApiError::unexpected)?;
    let user = own_account(&mut write.db, user_id).await?;
    if !second_factors::begin(&mut write.db, user_id, &sealed, write.app.clock.now()).await? {
        return Err(ApiError::Conflict(IN_USE));
    }
    write.commit().await?;
    Ok(data(SecretShown {
        uri: secret.uri(&user.email).map_err(ApiError::unexpected)?,
        secret: secret.text(),
    }))
}

/// Finish setting up a second factor
///
/// From now on signing in takes a code. Every other session ends.
#[utoipa::path(
    post,
    path = "/api/users/me/second-factor/enable",
    request_body = FirstCode,
    responses(
        (status = 200, description = "In use.", body = Data<RecoveryCodes>),
        (status = 400, description = "The code is not what the app shows now.", body = PlatformError),
        (status = 403, description = "The password must be given again first, or a passkey shown.", body = PlatformError),
        (status = 409, description = "None is being set up.", body = PlatformError),
        (status = 429, description = "Too many attempts.", body = RateLimited),
    ),
    extensions(("x-refusals" = json!([
        ApiError::bad_request("code is required"), ApiError::PasswordRequired, ApiError::PasskeyRequired,
        ApiError::Conflict(NOT_BEGUN)
    ]))),
)]
pub async fn enable_second_factor(
    State(app): State<App>,
    signed_in: SignedIn,
    body: RequestBody,
) -> Answer<RecoveryCodes> {
    let user = signed_in.user;
    user.just_proved(&app)?;
    let code = body.json::<FirstCode>()?.code.required("code is required")?;
    app.limits.spend_code(user.user_id).await?;
    let now = app.clock.now();
    let mut transaction = app.management.begin().await?;
    user.proved_own_factor(&app, &mut transaction).await?;
    let found = second_factors::lock(&mut transaction, user.user_id).await?;
    let factor = found
        .filter(|factor| factor.enabled_at.is_none())
        .ok_or(ApiError::Conflict(NOT_BEGUN))?;
    if !take_code(&app, &mut transaction, user.user_id, &factor, &code).await? {
        return Err(ApiError::bad_request("code is not what your app shows now"));
    }
    second_factors::enable(&mut transaction, user.user_id, now).await?;
    let codes = new_codes(&mut transaction, user.user_id).await?;
    sessions::revoke_others(&mut transaction, user.user_id, user.session_id, now).await?;
    signed_in
        .audit(&app, &mut transaction, "user.second_factor_enabled", json!({}))
        .await?;
    commit(transaction).await?;
    Ok(codes)
}

/// Get new recovery codes
///
/// Earlier codes are no longer accepted.
#[utoipa::path(
    post,
    path = "/api/users/me/second-factor/recovery-codes",
    request_body = PasswordAgain,
    responses(
        (status = 200, description = "Shown here only.", body = Data<RecoveryCodes>),
        (status = 400, description = "The password or the code is wrong.", body = PlatformError),
        (status = 403, description = "The code is missing.", body = PlatformError),
        (status = 409, description = "There is no second factor.", body = PlatformError),
        (status = 429, description = "Too many attempts.", body = RateLimited),
    ),
    extensions(("x-refusals" = json!([
        ApiError::bad_request(WRONG), ApiError::SecondFactorRequired, ApiError::Conflict(NONE)
    ]))),
)]
pub async fn renew_recovery_codes(
    State(app): State<App>,
    signed_in: SignedIn,
    body: RequestBody,
) -> Answer<RecoveryCodes> {
    let mut write = PasswordAgain::proved(&app, signed_in, body).await?;
    let user_id = write.caller.user.user_id;
    if second_factors::enabled(&mut write.db, user_id).await?.is_none() {
        return Err(ApiError::Conflict(NONE));
    }
    let codes = new_codes(&mut write.db, user_id).await?;
    write
        .audit_account("user.recovery_codes_renewed", json!({}))
        .await?;
    write.answer(codes).await
}

/// Remove one's second factor
///
/// The password is enough from then on. Where a workspace requires one, it stays.
#[utoipa::path(
    post,
    path = "/api/users/me/second-factor/remove",
    request_body = PasswordAgain,
    responses(
        (status = 204, description = "Removed."),
        (status = 400, description = "The password or the code is wrong.", body = PlatformError),
        (status = 403, description = "The code is missing.", body = PlatformError),
        (status = 409, description = "There is none, or a workspace requires one.", body = PlatformError),
        (status = 429, description = "Too many attempts.", body = RateLimited),
    ),
    extensions(("x-refusals" = json!([
        ApiError::bad_request(WRONG), ApiError::SecondFactorRequired, ApiError::Conflict(DEMANDED)
    ]))),
)]
pub async fn remove_second_factor(
    State(app): State<App>,
    signed_in: SignedIn,
    body: RequestBody,
) -> Result<StatusCode, ApiError> {
    let mut write = PasswordAgain::proved(&app, signed_in, body).await?;
    let user_id = write.caller.user.user_id;
    keep_a_required_one(&mut write.db, user_id).await?;
    if !second_factors::remove(&mut write.db, user_id).await? {
        return Err(ApiError::Conflict(NONE));
    }
    write
        .audit_account("user.second_factor_removed", json!({}))
        .await?;
    write.answer(StatusCode::NO_CONTENT).await
}

/// Refuses to remove the last factor of a user whose workspace requires one.
pub(super) async fn keep_a_required_one(
    connection: &mut PgConnection,
    user_id: UserId,
) -> Result<(), ApiError> {
    let memberships = workspaces::of_user(connection, user_id).await?;
    if memberships.iter().any(|of| of.second_factor_required) {
        return Err(ApiError::Conflict(DEMANDED));
    }
    Ok(())
}

async fn new_codes(connection: &mut PgConnection, user_id: UserId) -> Answer<RecoveryCodes> {
    let codes: Vec<RecoveryCode> = (0..RecoveryCode::ON_A_LIST)
        .map(|_| RecoveryCode::generate(App::random()))
        .collect();
    second_factors::set_recovery_codes(connection, user_id, &codes).await?;
    Ok(data(RecoveryCodes {
        recovery_codes: codes.iter().map(RecoveryCode::expose).collect(),
    }))
}
