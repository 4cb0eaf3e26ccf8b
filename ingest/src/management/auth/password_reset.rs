//! `POST /api/auth/password-reset`, `…/inspect` and `…/complete`: replaces a forgotten password by a link
//! that is e-mailed to the account's address. The token comes in the body: paths and queries end up in logs.
//!
//! A request is answered before the account is looked up, so neither the answer nor its timing shows whether
//! the account exists.

use axum::http::StatusCode;
use chrono::{DateTime, TimeDelta, Utc};
use domain::people::account::{EmailAddress, Password, PasswordError};
use domain::people::email_content::EmailContent;
use domain::token::PasswordReset;
use messages::instant::as_instant;
use serde_json::json;
use storage::people::one_time_links::{self, LinkPurpose};
use storage::people::{second_factors, sessions, users};

use crate::http::body::RequestBody;
use crate::http::field::{Field, refused};
use crate::http::openapi::envelopes::RateLimited;
use crate::management::access::{Proof, Source, commit};
use crate::management::emails;
use crate::management::one_time_links::{NONE, OneTimeLink, open, send};
use crate::management::prelude::*;

impl OneTimeLink for PasswordReset {
    const PURPOSE: LinkPurpose = LinkPurpose::PasswordReset;
    const LASTS: TimeDelta = TimeDelta::hours(1);
    const PAGE: &'static str = "/password-reset";

    fn content(link: String, expires_at: DateTime<Utc>) -> EmailContent {
        EmailContent::PasswordReset { link, expires_at }
    }
}

#[derive(Debug, Deserialize, ToSchema)]
pub struct ResetRequest {
    #[schema(value_type = String, max_length = 254)]
    email: Field<String>,
}

/// The same for every address.
#[derive(Debug, Serialize, ToSchema)]
pub struct ResetRequested {
    /// If the address has an account, it gets a link.
    requested: bool,
}

#[derive(Debug, Deserialize, ToSchema)]
pub struct ResetToken {
    /// The last part of the link.
    #[schema(value_type = String)]
    token: Field<String>,
}

/// What a link is for.
#[derive(Debug, Serialize, ToSchema)]
pub struct ResetInspected {
    /// The account's address.
    email: String,
    /// The account has a second factor: its code is asked for.
    second_factor: bool,
    #[serde(serialize_with = "as_instant")]
    expires_at: DateTime<Utc>,
}

#[derive(Debug, Deserialize, ToSchema)]
pub struct CompleteRequest {
    /// The last part of the link.
    #[schema(value_type = String)]
    token: Field<String>,
    /// The new one.
    #[schema(value_type = String, min_length = 10, max_length = 128)]
    password: Field<String>,
    /// Where the account has a second factor: what its authenticator app shows, or a recovery code.
    #[schema(value_type = Option<String>)]
    code: Field<String>,
}

/// Ask for a link that replaces a forgotten password
///
/// It is sent to the address if that has an account, and works once, for an hour. The answer is the same for every address.
#[utoipa::path(
    post,
    path = "/api/auth/password-reset",
    request_body = ResetRequest,
    responses(
        (status = 200, description = "Whether the address has an account or not.", body = Data<ResetRequested>),
        (status = 404, description = "E-mail is not set up here.", body = PlatformError),
        (status = 429, description = "Too many attempts from this address, or for this account.", body = RateLimited),
    ),
    extensions(("x-refusals" = json!([NOT_OFFERED]))),
)]
pub async fn request_password_reset(
    State(app): State<App>,
    source: Source,
    body: RequestBody,
) -> Answer<ResetRequested> {
    app.emails.require(NOT_OFFERED)?;
    let request: ResetRequest = body.json()?;
    let email = request.email.parsed("email", EmailAddress::parse)?;
    let email = email.ok_or(ApiError::refusal("email is required"))?;
    app.limits
        .spend_on_account("password_reset", source.client, email.as_str())
        .await?;
    let behind = app.clone();
    app.emails
        .behind_the_answer(async move { send_link(&behind, &email).await })?;
    Ok(data(ResetRequested { requested: true }))
}

async fn send_link(app: &App, email: &EmailAddress) -> Result<(), ApiError> {
    let mut transaction = app.management.begin().await?;
    let account = users::find_by_email(&mut transaction, email).await?;
    let Some(user) = account.filter(|user| !user.suspended) else {
        return Ok(());
    };
    send::<PasswordReset>(app, &mut transaction, user.user_id, email).await?;
    commit(transaction).await?;
    Ok(())
}

/// What a link that replaces a password is for
#[utoipa::path(
    post,
    path = "/api/auth/password-reset/inspect",
    request_body = ResetToken,
    responses(
        (status = 200, description = "It works.", body = Data<ResetInspected>),
        (status = 404, description = "There is none, or it has ended.", body = PlatformError),
        (status = 429, description = "Too many unknown tokens from this address.", body = RateLimited),
    ),
    extensions(("x-refusals" = json!([NONE]))),
)]
pub async fn inspect_password_reset(
    State(app): State<App>,
    source: Source,
    body: RequestBody,
) -> Answer<ResetInspected> {
    app.emails.require(NOT_OFFERED)?;
    let request: ResetToken = body.json()?;
    let (link, _) = open::<PasswordReset>(&app, source.client, request.token).await?;
    let factor = second_factors::enabled(&mut *app.management.acquire().await?, link.user_id).await?;
    Ok(data(ResetInspected {
        email: link.email,
        second_factor: factor.is_some(),
        expires_at: link.expires_at,
    }))
}

/// Replace a forgotten password
///
/// Every session of the account ends, at dashboards and command lines, and so do its other links. Its passkeys, second factor and management
/// keys stay. It does not sign in.
#[utoipa::path(
    post,
    path = "/api/auth/password-reset/complete",
    request_body = CompleteRequest,
    responses(
        (status = 204, description = "Replaced: sign in with it."),
        (status = 400, description = "The password will not do, or the code is wrong.", body = PlatformError),
        (status = 403, description = "The account has a second factor, whose code is missing.", body = PlatformError),
        (status = 404, description = "There is no such link, or it has ended.", body = PlatformError),
        (status = 429, description = "Too many attempts.", body = RateLimited),
    ),
    extensions(("x-refusals" = json!([
        refused("password", &PasswordError::Guessable.to_string()), NONE, ApiError::SecondFactorRequired
    ]))),
)]
pub async fn complete_password_reset(
    State(app): State<App>,
    source: Source,
    body: RequestBody,
) -> Result<StatusCode, ApiError> {
    app.emails.require(NOT_OFFERED)?;
    let request: CompleteRequest = body.json()?;
    let password = request.password.required("password is required")?;
    // The link proves the identity instead of a password; the code is still required.
    let proof = Proof::of(String::new(), request.code)?;
    let (link, token) = open::<PasswordReset>(&app, source.client, request.token).await?;
    let account = users::find(&mut *app.management.acquire().await?, link.user_id).await?;
    let user = account.ok_or(NONE)?;
    // Limited, because hashing is expensive and codes can be guessed.
    app.limits
        .spend_sign_in(source.client, &format!("user:{}", user.user_id))
        .await?;
    let password = Password::choose(password, &[&user.name, &user.email])
        .map_err(|error| refused("password", &error.to_string()))?;
    let hash = app.passwords.hash(password, App::random()).await?;
    let now = app.clock.now();
    let mut transaction = app.management.begin().await?;
    if !one_time_links::take(&mut transaction, LinkPurpose::PasswordReset, token.hash(), now).await? {
        return Err(NONE);
    }
    // If the code is missing or wrong, the rollback keeps the link usable.
    proof
        .take_second_factor(&app, &mut transaction, &source, user.user_id)
        .await?;
    users::set_password(&mut transaction, user.user_id, &hash).await?;
    one_time_links::end_all(&mut transaction, LinkPurpose::PasswordReset, user.user_id, now).await?;
    let ended = sessions::revoke_all(&mut transaction, user.user_id, now).await?;
    // Only the reader of the account's mailbox has seen the link.
    users::verify(&mut transaction, user.user_id, now).await?;
    let (action, details) = (
        "user.password_reset",
        json!({ "by": "email", "sessions_ended": ended }),
    );
    source
        .audit_account(&app, &mut transaction, user.user_id, action, details)
        .await?;
    let content = EmailContent::PasswordChanged {
        at: now,
        by_link: true,
        account_link: emails::account_link(&app),
    };
    emails::write_to_owner(&app, &mut transaction, &user, &content).await?;
    commit(transaction).await?;
    Ok(StatusCode::NO_CONTENT)
}

const NOT_OFFERED: ApiError =
    ApiError::NotFound("E-mail is not set up here: whoever runs this installation can replace a password");
