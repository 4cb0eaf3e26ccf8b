//! `POST /api/auth/local`: opens a session for an address and a password.

use axum::response::Response;
use domain::people::account::EmailAddress;
use storage::people::users;

use super::open_session::{SignInMethod, SignedInAnswer, sign_in_by};
use crate::http::body::RequestBody;
use crate::http::field::Field;
use crate::http::openapi::envelopes::RateLimited;
use crate::management::access::{Proof, Source, commit};
use crate::management::prelude::*;

/// The same message for an unknown address and for a wrong password.
const REFUSED: &str = "Invalid identifier or password";

#[derive(Debug, Deserialize, ToSchema)]
pub struct SignInRequest {
    #[schema(value_type = String)]
    identifier: Field<String>,
    #[schema(value_type = String)]
    password: Field<String>,
    /// Where the account has a second factor: what its authenticator app shows, or a recovery code.
    #[schema(value_type = Option<String>)]
    code: Field<String>,
}

/// Sign in
///
/// The answer holds the session's token as `jwt`, and sets it as the cookie `__Host-session`.
#[utoipa::path(
    post,
    path = "/api/auth/local",
    request_body = SignInRequest,
    responses(
        (status = 200, description = "Signed in, for 14 days.", body = SignedInAnswer),
        (status = 400, description = "No such address, or not its password.", body = PlatformError),
        (status = 403, description = "A code is required (`error.details.code` is `SECOND_FACTOR_REQUIRED`), the account is suspended, or a \
                                      page of another site asks.", body = PlatformError),
        (status = 429, description = "Too many attempts from this address, or for this account.", body = RateLimited),
    ),
    extensions(("x-refusals" = json!([
        ApiError::bad_request(REFUSED), ApiError::AccountBlocked, ApiError::SecondFactorRequired
    ]))),
)]
pub async fn sign_in(
    State(app): State<App>,
    source: Source,
    body: RequestBody,
) -> Result<Response, ApiError> {
    let request: SignInRequest = body.json()?;
    let identifier = not_empty(request.identifier, "identifier is required")?;
    let password = not_empty(request.password, "password is required")?;
    let proof = Proof::of(password, request.code)?;
    app.limits.spend_sign_in(source.client, &identifier).await?;
    let account = match EmailAddress::parse(&identifier) {
        Ok(email) => users::find_by_email(&mut *app.management.acquire().await?, &email).await?,
        Err(_) => None,
    };
    if !proof.has_password_of(&app, &source, account.as_ref()).await? {
        return Err(ApiError::bad_request(REFUSED));
    }
    let user = account.ok_or(ApiError::bad_request(REFUSED))?;
    if user.suspended {
        return Err(ApiError::AccountBlocked);
    }
    let mut transaction = app.management.begin().await?;
    proof
        .take_second_factor(&app, &mut transaction, &source, user.user_id)
        .await?;
    let answer = sign_in_by(SignInMethod::Password, &app, &mut transaction, &source, &user).await?;
    commit(transaction).await?;
    Ok(answer)
}

fn not_empty(field: Field<String>, missing: &'static str) -> Result<String, ApiError> {
    match field {
        Field::Given(text) if !text.is_empty() => Ok(text),
        _ => Err(ApiError::bad_request(missing)),
    }
}
