//! `/api/users/me/sessions`: lists and ends the signed-in user's sessions at dashboards and command lines.

use axum::http::StatusCode;
use chrono::{DateTime, Utc};
use domain::ids::SessionId;
use messages::instant::{as_instant, as_instant_if_any};
use serde_json::json;
use storage::people::sessions::{self, ListedSession, SessionKind};

use crate::management::access::{SignedIn, User, Write};
use crate::management::answers::{Ids, view};
use crate::management::prelude::*;

const NONE: &str = "Session not found";

/// A session of the signed-in user.
#[derive(Debug, Serialize, ToSchema)]
pub struct SessionView {
    id: i64,
    /// `dashboard` or `cli`.
    kind: &'static str,
    /// This is the session that asks.
    current: bool,
    /// Of a command line: the workspace it acts in.
    workspace_id: Option<i64>,
    /// Where it was last used, as the browser or program called itself.
    user_agent: Option<String>,
    address: Option<String>,
    /// Two letters (ISO 3166-1), where a proxy of the installation's names them.
    country: Option<String>,
    #[serde(serialize_with = "as_instant")]
    created_at: DateTime<Utc>,
    #[serde(serialize_with = "as_instant_if_any")]
    last_used_at: Option<DateTime<Utc>>,
    /// If it is not used before.
    #[serde(serialize_with = "as_instant")]
    ends_at: DateTime<Utc>,
}

view! { |session: ListedSession, user: User| SessionView {
    user_agent, address, country, created_at, last_used_at, ends_at;
    id: session.session_id.get(),
    kind: match session.kind { SessionKind::Dashboard => "dashboard", SessionKind::Cli(_) => "cli" },
    current: session.session_id == user.session_id,
    workspace_id: match session.kind {
        SessionKind::Dashboard => None,
        SessionKind::Cli(workspace_id) => Some(workspace_id.get()),
    },
} }

/// List one's sessions
///
/// Those that are open, the most recently used first; at most 200.
#[utoipa::path(
    get,
    path = "/api/users/me/sessions",
    responses((status = 200, description = "Where one is signed in.", body = Data<Vec<SessionView>>))
)]
pub async fn list_sessions(State(app): State<App>, signed_in: SignedIn) -> Answer<Vec<SessionView>> {
    let user = signed_in.user;
    let mut connection = app.management.acquire().await?;
    let listed = sessions::of_user(&mut connection, user.user_id, app.clock.now()).await?;
    let views = listed.into_iter().map(|session| SessionView::new(session, user));
    Ok(data(views.collect()))
}

/// End one of one's sessions
#[utoipa::path(
    delete,
    path = "/api/users/me/sessions/{session_id}",
    responses(
        (status = 204, description = "Its token is no longer accepted."),
        (status = 404, description = "They have no open session of this id.", body = PlatformError),
    ),
    extensions(("x-refusals" = json!([ApiError::NotFound(NONE)]))),
)]
pub async fn end_session(mut write: Write<SignedIn, Ids<SessionId>>) -> Result<StatusCode, ApiError> {
    let user = write.caller.user;
    let Ids(session_id) = write.on;
    if !sessions::revoke_own(&mut write.db, user.user_id, session_id, write.app.clock.now()).await? {
        return Err(ApiError::NotFound(NONE));
    }
    let details = json!({ "session_id": session_id.get() });
    write.audit_account("user.session_ended", details).await?;
    write.answer(StatusCode::NO_CONTENT).await
}

/// End all of one's other sessions
///
/// At dashboards and command lines; the one that asks goes on.
#[utoipa::path(
    delete,
    path = "/api/users/me/sessions",
    responses((status = 204, description = "Their tokens are no longer accepted."))
)]
pub async fn end_other_sessions(mut write: Write<SignedIn>) -> Result<StatusCode, ApiError> {
    let user = write.caller.user;
    let now = write.now();
    sessions::revoke_others(&mut write.db, user.user_id, user.session_id, now).await?;
    write
        .audit_account("user.other_sessions_ended", json!({}))
        .await?;
    write.answer(StatusCode::NO_CONTENT).await
}
