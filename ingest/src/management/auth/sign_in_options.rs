//! `GET /api/auth/sign-in-options`: which ways to sign in the page may offer.

use crate::management::prelude::*;

/// Of this installation.
#[derive(Debug, Serialize, ToSchema)]
pub struct SignInOptions {
    /// A forgotten password can be replaced with a link that is sent by e-mail.
    password_reset: bool,
}

/// What can be offered at the sign-in
#[utoipa::path(
    get,
    path = "/api/auth/sign-in-options",
    responses((status = 200, description = "As this installation is set up.", body = Data<SignInOptions>))
)]
pub async fn read_sign_in_options(State(app): State<App>) -> Answer<SignInOptions> {
    Ok(data(SignInOptions {
        password_reset: app.emails.are_on(),
    }))
}
