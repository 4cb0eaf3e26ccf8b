//! `POST /api/auth/confirm-password`: the signed-in user enters the password again, for the routes that
//! require it.

use axum::http::StatusCode;
use storage::people::{sessions, users};

use crate::http::body::RequestBody;
use crate::http::field::Field;
use crate::http::openapi::envelopes::RateLimited;
use crate::management::access::{Proof, SignedIn, Write};
use crate::management::prelude::*;

pub const WRONG: &str = "The password is wrong";

/// The password, and a code where the account has a second factor.
#[derive(Debug, Deserialize, ToSchema)]
pub struct PasswordAgain {
    #[schema(value_type = String, max_length = 128)]
    password: Field<String>,
    /// What the authenticator app shows, or a recovery code.
    #[schema(value_type = Option<String>)]
    code: Field<String>,
}

impl PasswordAgain {
    /// Begins a change of the account by its signed-in user. The body holds the password and, if the account
    /// has one, a code of the second factor. No transaction is open while the password is checked.
    pub async fn proved(
        app: &App,
        signed_in: SignedIn,
        body: RequestBody,
    ) -> Result<Write<SignedIn>, ApiError> {
        let given: Self = body.json()?;
        let password = given.password.required("password is required")?;
        let proof = Proof::of(password, given.code)?;
        let (user_id, source) = (signed_in.user.user_id, &signed_in.source);
        // Guesses are counted as at sign-in: a stolen session must not allow guessing the password.
        app.limits
            .spend_sign_in(source.client, &format!("user:{user_id}"))
            .await?;
        let user = users::find(&mut *app.management.acquire().await?, user_id).await?;
        if !proof.has_password_of(app, source, user.as_ref()).await? {
            return Err(ApiError::bad_request(WRONG));
        }
        let mut write = Write::begin(app, signed_in, (), RequestBody::default()).await?;
        proof
            .take_second_factor(app, &mut write.db, &write.caller.source, user_id)
            .await?;
        Ok(write)
    }
}

/// Give one's password again
///
/// For the next half hour this session may do what asks for it: make keys, pay out, take files of data, erase.
#[utoipa::path(
    post,
    path = "/api/auth/confirm-password",
    request_body = PasswordAgain,
    responses(
        (status = 204, description = "It is theirs."),
        (status = 400, description = "The password or the code is wrong.", body = PlatformError),
        (status = 403, description = "The account has a second factor, whose code is missing.", body = PlatformError),
        (status = 429, description = "Too many attempts.", body = RateLimited),
    ),
    extensions(("x-refusals" = json!([ApiError::bad_request(WRONG), ApiError::SecondFactorRequired]))),
)]
pub async fn confirm_password(
    State(app): State<App>,
    signed_in: SignedIn,
    body: RequestBody,
) -> Result<StatusCode, ApiError> {
    let mut write = PasswordAgain::proved(&app, signed_in, body).await?;
    let (session_id, now) = (write.caller.user.session_id, write.now());
    sessions::prove(&mut write.db, session_id, false, now).await?;
    write.answer(StatusCode::NO_CONTENT).await
}
