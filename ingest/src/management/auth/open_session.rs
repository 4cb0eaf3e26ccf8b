//! Opens dashboard sessions.

use axum::Json;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use chrono::TimeDelta;
use domain::people::email_content::EmailContent;
use domain::token::SessionToken;
use serde_json::json;
use sqlx::PgConnection;
use storage::people::sessions::{NewSession, SessionKind, knows_place, open};
use storage::people::users::{self, User};

use crate::management::access::{Source, session_cookie};
use crate::management::emails;
use crate::management::prelude::*;

/// How long a session lasts. After that the user signs in again.
const SESSION_LASTS: TimeDelta = TimeDelta::days(14);

/// A user who has just signed in: `jwt` is the session's token, for an `Authorization: Bearer` header. Browsers get it
/// as a cookie, too.
#[derive(Debug, Serialize, ToSchema)]
pub struct SignedInAnswer {
    jwt: String,
    user: UserView,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct UserView {
    id: i64,
    email: String,
    name: String,
    /// `advertiser` or `partner`.
    kind: &'static str,
    /// It was shown that the address is theirs.
    verified: bool,
}

impl UserView {
    pub fn new(user: &User) -> Self {
        Self {
            id: user.user_id.get(),
            email: user.email.clone(),
            name: user.name.clone(),
            kind: user.kind.as_str(),
            verified: user.verified,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignInMethod {
    /// The password, with the code of a second factor if the account has one.
    Password,
    Passkey,
    /// The password of an account that an invitation has just created. The account has no known places yet.
    NewAccount,
}

/// Opens a dashboard session. The audit log gets the method, and how many attempts failed before.
pub async fn sign_in_by(
    method: SignInMethod,
    app: &App,
    connection: &mut PgConnection,
    source: &Source,
    user: &User,
) -> Result<Response, ApiError> {
    let failed = users::take_failed_sign_ins(connection, user.user_id).await?;
    let details = match method {
        SignInMethod::Password | SignInMethod::NewAccount => json!({ "failed_before": failed }),
        SignInMethod::Passkey => json!({ "failed_before": failed, "by": "passkey" }),
    };
    source
        .audit_account(app, connection, user.user_id, "user.signed_in", details)
        .await?;
    if method != SignInMethod::NewAccount {
        tell_of_new_place(app, connection, source, user).await?;
    }
    open_session(method, app, connection, source, user).await
}

/// E-mails the account's owner about a sign-in from a place where the account was not used before.
async fn tell_of_new_place(
    app: &App,
    connection: &mut PgConnection,
    source: &Source,
    user: &User,
) -> Result<(), ApiError> {
    let whereabouts = &source.whereabouts;
    if !app.emails.are_on() || knows_place(connection, user.user_id, whereabouts).await? {
        return Ok(());
    }
    let content = EmailContent::NewSignIn {
        at: app.clock.now(),
        address: whereabouts
            .address
            .map(|address| address.to_canonical().to_string()),
        country: whereabouts
            .country
            .as_ref()
            .map(|country| country.as_str().to_owned()),
        user_agent: whereabouts.user_agent.clone(),
        account_link: emails::account_link(app),
    };
    emails::write_to_owner(app, connection, user, &content).await
}

/// Opens a dashboard session. Only the answer shows the token.
pub async fn open_session(
    method: SignInMethod,
    app: &App,
    connection: &mut PgConnection,
    source: &Source,
    user: &User,
) -> Result<Response, ApiError> {
    let token = SessionToken::generate(App::random());
    let now = app.clock.now();
    let session = NewSession {
        user_id: user.user_id,
        kind: SessionKind::Dashboard,
        token_hash: token.hash(),
        created_at: now,
        expires_at: now + SESSION_LASTS,
        whereabouts: &source.whereabouts,
        by_passkey: method == SignInMethod::Passkey,
    };
    open(connection, &session).await?;
    let answer = SignedInAnswer {
        jwt: token.expose().to_owned(),
        user: UserView::new(user),
    };
    let cookie = session_cookie(&token, SESSION_LASTS.num_seconds());
    Ok(with_cookie(cookie, Json(answer)))
}

pub fn with_cookie(cookie: Option<HeaderValue>, answer: impl IntoResponse) -> Response {
    let mut response = answer.into_response();
    if let Some(cookie) = cookie {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
    response
}
