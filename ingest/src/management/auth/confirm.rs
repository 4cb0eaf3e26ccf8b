//! `POST /api/auth/confirm-password`: whoever is signed in gives the password again, for what asks for it.

use axum::extract::State;
use axum::http::StatusCode;
use serde::Deserialize;
use serde_json::json;
use storage::{sessions, users};
use utoipa::ToSchema;

use crate::app::App;
use crate::http::body::RequestBody;
use crate::http::error::ApiError;
use crate::http::field::Field;
use crate::http::openapi::envelopes::{PlatformError, RateLimited};
use crate::http::openapi::examples::Examples;
use crate::management::access::{Proof, SignedIn};

const WRONG: &str = "The password is wrong";

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
    /// Refuses who does not know the password; the proof's code is still to be taken.
    pub async fn of(app: &App, signed_in: &SignedIn, body: RequestBody) -> Result<Proof, ApiError> {
        let given: Self = body.json()?;
        let Field::Given(password) = given.password else {
            return Err(ApiError::bad_request("password is required"));
        };
        let proof = Proof::of(password, given.code)?;
        let user_id = signed_in.user.user_id;
        // Guesses count here as they do at the door: a stolen session must not find out the password.
        app.limits
            .spend_sign_in(signed_in.source.client, &format!("user:{user_id}"))
            .await?;
        let user = users::find(&mut *app.management.acquire().await?, user_id).await?;
        if proof
            .has_password_of(app, &signed_in.source, user.as_ref())
            .await?
        {
            Ok(proof)
        } else {
            Err(ApiError::bad_request(WRONG))
        }
    }

    /// For the description.
    pub fn examples() -> Examples {
        Examples::of_refusals([
            ApiError::bad_request(WRONG),
            ApiError::SecondFactorRequired,
            ApiError::RateLimited {
                retry_after_seconds: 21,
            },
        ])
        .request("The password", json!({ "password": "correct horse battery" }))
        .request(
            "With a second factor",
            json!({ "password": "correct horse battery", "code": "287082" }),
        )
    }
}

/// Give one's password again
///
/// For the next half hour this session may do what asks for it: make keys, pay out, take files of data, erase.
#[utoipa::path(
    post,
    path = "/api/auth/confirm-password",
    operation_id = "confirm_password",
    request_body = PasswordAgain,
    responses(
        (status = 204, description = "It is theirs."),
        (status = 400, description = "The password or the code is wrong.", body = PlatformError),
        (status = 403, description = "The account has a second factor, whose code is missing.", body = PlatformError),
        (status = 429, description = "Too many attempts.", body = RateLimited),
    )
)]
pub async fn confirm(
    State(app): State<App>,
    signed_in: SignedIn,
    body: RequestBody,
) -> Result<StatusCode, ApiError> {
    let proof = PasswordAgain::of(&app, &signed_in, body).await?;
    let SignedIn { user, source } = signed_in;
    let mut transaction = app.management.begin().await?;
    proof
        .take_second_factor(&app, &mut transaction, &source, user.user_id)
        .await?;
    sessions::prove(&mut transaction, user.session_id, false, app.clock.now()).await?;
    transaction.commit().await?;
    Ok(StatusCode::NO_CONTENT)
}

pub fn examples() -> Examples {
    PasswordAgain::examples()
}
