//! `GET /api/advertiser/audit-log` and `…/export.csv`: who signed in, and who did what to which credential,
//! setting or payout. For owners.

use std::sync::Arc;

use axum::response::Response;
use chrono::{DateTime, Utc};
use domain::ids::{ProgramId, WorkspaceId};
use domain::people::permission::Role;
use messages::instant::as_instant;
use serde_json::{Map, Value};
use sqlx::PgConnection;
use storage::operations::audit_log::{self, AuditActor, AuditEntry, AuditFilter};
use storage::people::workspaces;

use crate::http::field::refused;
use crate::http::query::Query;
use crate::management::access::{AdvertiserUser, FORBIDDEN, ListForAdvertiser};
use crate::management::answers::{List, Listed, PageQuery, view};
use crate::management::csv_download::{PIECE, Piece, csv_row, download};
use crate::management::prelude::*;
use crate::management::reports::dates::{FROM_AFTER_TO, Span};

#[derive(Debug, Serialize, ToSchema)]
pub struct AuditEntryView {
    id: i64,
    actor: ActorView,
    /// `<noun>.<what happened>`, such as `api_key.revoked`.
    action: String,
    /// What it was done to; which kind of thing that is, the action says.
    subject_id: Option<i64>,
    program_id: Option<i64>,
    /// What changed to what.
    #[schema(value_type = Object)]
    details: Map<String, Value>,
    /// Where the request came from.
    address: Option<String>,
    request_id: Option<String>,
    #[serde(rename = "createdAt", serialize_with = "as_instant")]
    created_at: DateTime<Utc>,
}

/// Which entries, as it is described.
#[derive(Debug, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "described, never built: a query is read by name")]
pub struct AuditQuery {
    /// Required for a user who runs several workspaces.
    #[param(example = 2)]
    workspace_id: Option<i64>,
    /// Only what was done to this program.
    #[param(example = 1)]
    program_id: Option<i64>,
    /// Only what `user`, `key`, `program` or `operator` did.
    #[param(example = "user")]
    actor: Option<String>,
    /// Only what the user, the key or the program with this id did.
    #[param(example = 4)]
    actor_id: Option<i64>,
    /// An action, or its noun for all of them.
    #[param(example = "commission")]
    action: Option<String>,
    /// ISO 8601: a UTC day or an instant.
    #[param(example = "2026-01-01")]
    from: Option<String>,
    /// The same; included.
    #[param(example = "2026-01-31")]
    to: Option<String>,
}

/// Who acted.
#[derive(Debug, Serialize, ToSchema)]
pub struct ActorView {
    /// `user`, `key`, `program` (by its own key) or `operator`.
    #[serde(rename = "type")]
    kind: &'static str,
    /// An operator at the installation's own command line has none.
    id: Option<i64>,
    name: String,
}

/// Read the audit log
///
/// Newest first; for owners.
#[utoipa::path(
    get,
    path = "/api/advertiser/audit-log",
    params(PageQuery, AuditQuery),
    responses(
        (status = 200, description = "A page of it.", body = Listed<AuditEntryView>),
        (status = 404, description = "There is no such program.", body = PlatformError),
    ),
    extensions(("x-refusals" = json!(refusals()))),
)]
pub async fn list_audit_log(mut list: ListForAdvertiser, query: Query) -> List<AuditEntryView> {
    let (workspace_id, filter) = asked(&list.session, &mut list.db, &query).await?;
    let found = audit_log::list(&mut list.db, workspace_id, &filter, list.page.window()).await?;
    Ok(list.page.listed(found))
}

/// The workspace, for its owners alone, and the filter of its entries.
async fn asked(
    user: &AdvertiserUser,
    connection: &mut PgConnection,
    query: &Query,
) -> Result<(WorkspaceId, AuditFilter), ApiError> {
    let named = query.integer("workspace_id")?.map(WorkspaceId::new);
    let filter = filter(query)?;
    let named = match filter.program_id {
        Some(program_id) => Some(workspace_of(connection, program_id, named).await?),
        None => named,
    };
    let membership = user.workspace(connection, named).await?;
    match membership.role {
        Role::Owner => Ok((membership.workspace_id, filter)),
        Role::Admin | Role::Member => Err(FORBIDDEN),
    }
}

fn filter(query: &Query) -> Result<AuditFilter, ApiError> {
    let days = Span::from_to(query)?;
    Ok(AuditFilter {
        program_id: query.integer("program_id")?.map(ProgramId::new),
        actor: query.parsed("actor", ACTORS, |text| {
            let kinds = ["user", "key", "program", "operator"];
            kinds.into_iter().find(|kind| *kind == text)
        })?,
        actor_id: query.integer("actor_id")?,
        action: query.parsed("action", ACTIONS, action)?,
        from: days.from,
        until: days.until,
    })
}

/// A noun, or a noun and a past participle.
fn action(text: &str) -> Option<String> {
    let is_part = |part: &str| {
        let letters = part.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
        letters && !part.is_empty()
    };
    let parts: Vec<&str> = text.split('.').collect();
    (parts.len() <= 2 && text.len() <= 64 && parts.into_iter().all(is_part)).then(|| text.to_owned())
}

const ACTORS: &str = "must be one of user, key, program, operator";
const ACTIONS: &str = "must be an action such as api_key.revoked, or its noun";

/// Export the audit log
///
/// As CSV, oldest first, with the same filters as the list; for owners.
#[utoipa::path(
    get,
    path = "/api/advertiser/audit-log/export.csv",
    params(AuditQuery),
    responses(
        (status = 200, description = "A file with a line an entry.", body = String, content_type = "text/csv"),
        (status = 404, description = "There is no such program.", body = PlatformError),
    ),
    extensions(("x-refusals" = json!(refusals()))),
)]
pub async fn export_audit_log(
    State(app): State<App>,
    user: AdvertiserUser,
    query: Query,
) -> Result<Response, ApiError> {
    let (workspace_id, filter) = asked(&user, &mut *app.management.acquire().await?, &query).await?;
    user.user.just_proved(&app)?;
    let filter = Arc::new(filter);
    let read = move |after| {
        let (pool, filter) = (app.management.clone(), Arc::clone(&filter));
        async move {
            let mut connection = pool.acquire().await?;
            let entries = audit_log::following(&mut connection, workspace_id, &filter, after, PIECE).await?;
            Ok(Piece::of(entries, |entry| entry.id, cells))
        }
    };
    download(&format!("audit-log-{workspace_id}"), COLUMNS, read).await
}

csv_row! { COLUMNS;
    fn cells(entry: AuditEntry) {
        "id": entry.id,
        "created_at": entry.created_at,
        "actor": entry.actor.as_str().to_owned(),
        "actor_id": entry.actor.id(),
        "actor_name": entry.actor_name,
        "action": entry.action,
        "subject_id": entry.subject_id,
        "program_id": entry.program_id.map(ProgramId::get),
        "details": entry.details.to_string(),
        "address": entry.address,
        "request_id": entry.request_id,
    }
}

/// A program determines the workspace. A workspace named beside it must be the same.
async fn workspace_of(
    connection: &mut PgConnection,
    program_id: ProgramId,
    named: Option<WorkspaceId>,
) -> Result<WorkspaceId, ApiError> {
    let program = workspaces::program_for_user(connection, program_id, None).await?;
    let program = program.ok_or(UNKNOWN)?;
    if named.is_some_and(|named| named != program.workspace_id) {
        return Err(FORBIDDEN);
    }
    Ok(program.workspace_id)
}

view! { |entry: AuditEntry| AuditEntryView {
    id, action, subject_id, address, request_id, created_at;
    actor: ActorView::new(entry.actor, entry.actor_name),
    program_id: entry.program_id.map(ProgramId::get),
    details: match entry.details { Value::Object(details) => details, _ => Map::new(), },
} }

impl ActorView {
    fn new(actor: AuditActor, name: Option<String>) -> Self {
        Self {
            kind: actor.as_str(),
            id: actor.id(),
            name: name.unwrap_or_else(|| actor.as_str().to_owned()),
        }
    }
}

const UNKNOWN: ApiError = ApiError::NotFound("Program not found");

fn refusals() -> [ApiError; 4] {
    [
        UNKNOWN,
        refused("actor", ACTORS),
        refused("action", ACTIONS),
        FROM_AFTER_TO,
    ]
}
