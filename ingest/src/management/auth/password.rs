//! `POST /api/auth/change-password`: sets a new password, given the current one. Every other session ends.

use axum::response::Response;
use domain::people::account::Password;
use domain::people::email_content::EmailContent;
use serde_json::json;
use storage::people::one_time_links::{self, LinkPurpose};
use storage::people::{sessions, users};

use super::open_session::{SignInMethod, SignedInAnswer, open_session};
use crate::http::body::RequestBody;
use crate::http::field::{Field, refused};
use crate::http::openapi::envelopes::RateLimited;
use crate::management::access::{Proof, SignedIn, commit};
use crate::management::emails;
use crate::management::prelude::*;

const WRONG: &str = "The current password is wrong";

#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChangePasswordRequest {
    #[schema(value_type = String)]
    current_password: Field<String>,
    /// Where the account has a second factor.
    #[schema(value_type = Option<String>)]
    code: Field<String>,
    #[schema(value_type = String, min_length = 10, max_length = 128)]
    password: Field<String>,
    #[schema(value_type = String)]
    password_confirmation: Field<String>,
}

/// Change one's password
///
/// Every session ends; the answer opens a new one.
#[utoipa::path(
    post,
    path = "/api/auth/change-password",
    request_body = ChangePasswordRequest,
    responses(
        (status = 200, description = "Changed.", body = SignedInAnswer),
        (status = 400, description = "The current password is wrong, or the new one will not do.", body = PlatformError),
        (status = 403, description = "The account has a second factor, whose code is missing.", body = PlatformError),
        (status = 429, description = "Too many attempts.", body = RateLimited),
    ),
    extensions(("x-refusals" = json!([ApiError::bad_request(WRONG), ApiError::SecondFactorRequired]))),
)]
pub async fn change(
    State(app): State<App>,
    signed_in: SignedIn,
    body: RequestBody,
) -> Result<Response, ApiError> {
    let request: ChangePasswordRequest = body.json()?;
    let (Field::Given(current), Field::Given(new), Field::Given(again)) = (
        request.current_password,
        request.password,
        request.password_confirmation,
    ) else {
        return Err(ApiError::bad_request(
            "currentPassword, password and passwordConfirmation are required",
        ));
    };
    let wrong = || ApiError::bad_request(WRONG);
    if new != again {
        return Err(ApiError::bad_request("Passwords do not match"));
    }
    let proof = Proof::of(current, request.code)?;
    let user_id = signed_in.user.user_id;
    // Guesses are counted as at sign-in: a stolen session must not allow guessing the password.
    app.limits
        .spend_sign_in(signed_in.source.client, &format!("user:{user_id}"))
        .await?;
    let user = users::find(&mut *app.management.acquire().await?, user_id).await?;
    let user = user.ok_or_else(wrong)?;
    let new = Password::choose(new, &[&user.name, &user.email])
        .map_err(|error| refused("password", &error.to_string()))?;
    if !proof
        .has_password_of(&app, &signed_in.source, Some(&user))
        .await?
    {
        return Err(wrong());
    }
    let hash = app.passwords.hash(new, App::random()).await?;
    let mut transaction = app.management.begin().await?;
    let source = &signed_in.source;
    proof
        .take_second_factor(&app, &mut transaction, source, user_id)
        .await?;
    // Of several concurrent changes only one succeeds: for the others the current password has changed.
    if !users::replace_password(&mut transaction, &user, &hash).await? {
        return Err(wrong());
    }
    sessions::revoke_all(&mut transaction, user_id, app.clock.now()).await?;
    signed_in
        .audit(&app, &mut transaction, "user.password_changed", json!({}))
        .await?;
    let (purpose, now) = (LinkPurpose::PasswordReset, app.clock.now());
    one_time_links::end_all(&mut transaction, purpose, user_id, now).await?;
    let content = EmailContent::PasswordChanged {
        at: app.clock.now(),
        by_link: false,
        account_link: emails::account_link(&app),
    };
    emails::write_to_owner(&app, &mut transaction, &user, &content).await?;
    let answer = open_session(SignInMethod::Password, &app, &mut transaction, source, &user).await?;
    commit(transaction).await?;
    Ok(answer)
}
