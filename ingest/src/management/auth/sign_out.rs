//! `POST /api/auth/logout`: ends the session at once, on every ingest.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::json;
use storage::sessions;

use super::open_session::with_cookie;
use crate::app::App;
use crate::http::error::ApiError;
use crate::management::access::{SignedIn, end_cookie};

/// Sign out
#[utoipa::path(
    post,
    path = "/api/auth/logout",
    responses((status = 204, description = "The token is worth nothing any more."))
)]
pub async fn sign_out(State(app): State<App>, signed_in: SignedIn) -> Result<Response, ApiError> {
    let SignedIn { user, source } = signed_in;
    let mut transaction = app.management.begin().await?;
    sessions::revoke(&mut transaction, user.session_id, app.clock.now()).await?;
    source
        .audit_account(&app, &mut transaction, user.user_id, "user.signed_out", json!({}))
        .await?;
    transaction.commit().await?;
    Ok(with_cookie(end_cookie(), StatusCode::NO_CONTENT))
}
