//! `/api/users/me/sessions`: lists and ends the signed-in user's sessions at dashboards and command lines.

use storage::people::sessions::{self, ListedSession, SessionKind};

use crate::management::access::User;
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

impl SessionView {
    fn new(session: ListedSession, user: User) -> Self {
        let (kind, workspace_id) = match session.kind {
            SessionKind::Dashboard => ("dashboard", None),
            SessionKind::Cli(workspace_id) => ("cli", Some(workspace_id.get())),
        };
        Self {
            id: session.session_id.get(),
            kind,
            current: session.session_id == user.session_id,
            workspace_id,
            user_agent: session.user_agent,
            address: session.address,
            country: session.country,
            created_at: session.created_at,
            last_used_at: session.last_used_at,
            ends_at: session.ends_at,
        }
    }
}

/// List one's sessions
///
/// Those that are open, the most recently used first; at most 200.
#[utoipa::path(
    get,
    path = "/api/users/me/sessions",
    operation_id = "list_sessions",
    responses((status = 200, description = "Where one is signed in.", body = Data<Vec<SessionView>>))
)]
pub async fn list(State(app): State<App>, signed_in: SignedIn) -> Answer<Vec<SessionView>> {
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
    operation_id = "end_session",
    responses(
        (status = 204, description = "Its token is no longer accepted."),
        (status = 404, description = "They have no open session of this id.", body = PlatformError),
    ),
    extensions(("x-refusals" = json!([ApiError::NotFound(NONE)]))),
)]
pub async fn end(mut write: Write<SignedIn, Ids<SessionId>>) -> Result<StatusCode, ApiError> {
    let user = write.caller.user;
    let Ids(session_id) = write.on;
    if !sessions::revoke_own(&mut write.db, user.user_id, session_id, write.app.clock.now()).await? {
        return Err(ApiError::NotFound(NONE));
    }
    let details = json!({ "session_id": session_id.get() });
    write.audit_account("user.session_ended", details).await?;
    write.commit().await?;
    Ok(StatusCode::NO_CONTENT)
}

/// End all of one's other sessions
///
/// At dashboards and command lines; the one that asks goes on.
#[utoipa::path(
    delete,
    path = "/api/users/me/sessions",
    operation_id = "end_other_sessions",
    responses((status = 204, description = "Their tokens are no longer accepted."))
)]
pub async fn end_others(mut write: Write<SignedIn>) -> Result<StatusCode, ApiError> {
    let user = write.caller.user;
    sessions::revoke_others(
        &mut write.db,
        user.user_id,
        user.session_id,
        write.app.clock.now(),
    )
    .await?;
    write
        .audit_account("user.other_sessions_ended", json!({}))
        .await?;
    write.commit().await?;
    Ok(StatusCode::NO_CONTENT)
}
