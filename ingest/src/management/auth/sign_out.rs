//! `POST /api/auth/logout`: ends the session at once, on every ingest.

use axum::http::StatusCode;
use axum::response::Response;
use serde_json::json;
use storage::people::sessions;

use super::open_session::with_cookie;
use crate::management::access::{SignedIn, Write, end_cookie};
use crate::management::prelude::*;

/// Sign out
#[utoipa::path(
    post,
    path = "/api/auth/logout",
    responses((status = 204, description = "The token is no longer accepted."))
)]
pub async fn sign_out(mut write: Write<SignedIn>) -> Result<Response, ApiError> {
    let user = write.caller.user;
    sessions::revoke(&mut write.db, user.session_id, write.app.clock.now()).await?;
    write.audit_account("user.signed_out", json!({})).await?;
    write.commit().await?;
    Ok(with_cookie(end_cookie(), StatusCode::NO_CONTENT))
}
