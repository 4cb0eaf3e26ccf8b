//! `workspaces`, their members and the members' rights.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::error::StorageResult;
use crate::page::{Whole, Window};
use crate::people::{cli_logins, invitations, management_keys, sessions};
use domain::ids::{MemberId, ProgramId, UserId, WorkspaceId};
use domain::money::Currency;
use domain::name::Name;
use domain::people::permission::{Permission, ProgramPermissions, ProgramScope, Role};
use domain::programs::outbound_event::WantedEvents;
use domain::programs::program::ProgramStatus;
use domain::sorting::{ProgramColumn, Sorting};

pub type WorkspaceName = Name;

#[derive(Debug, Clone)]
pub struct Membership {
    pub member_id: MemberId,
    pub workspace_id: WorkspaceId,
    pub workspace_name: String,
    pub role: Role,
    /// Members without a second factor can only set one up.
    pub second_factor_required: bool,
}

pub async fn create(connection: &mut PgConnection, name: &str) -> StorageResult<WorkspaceId> {
    Ok(fetch_scalar!(
        connection,
        r#"INSERT INTO workspaces (name) VALUES ($1) RETURNING id AS "id: WorkspaceId""#,
        name
    ))
}

/// Workspaces with this name, oldest first. Names are not unique.
pub async fn called(connection: &mut PgConnection, name: &str) -> StorageResult<Vec<WorkspaceId>> {
    Ok(fetch_scalars!(
        connection,
        r#"SELECT id AS "id: WorkspaceId" FROM workspaces WHERE name = $1 ORDER BY id"#,
        name
    ))
}

pub async fn exists(connection: &mut PgConnection, workspace_id: WorkspaceId) -> StorageResult<bool> {
    Ok(fetch_scalar!(
        connection,
        r#"SELECT EXISTS (SELECT FROM workspaces WHERE id = $1) AS "exists!""#,
        workspace_id.get(),
    ))
}

pub async fn rename(
    connection: &mut PgConnection,
    workspace_id: WorkspaceId,
    name: &WorkspaceName,
) -> StorageResult<()> {
    execute!(
        connection,
        "UPDATE workspaces SET name = $2 WHERE id = $1",
        workspace_id.get(),
        name.as_str(),
    );
    Ok(())
}

pub async fn require_second_factor(
    connection: &mut PgConnection,
    workspace_id: WorkspaceId,
    required: bool,
) -> StorageResult<()> {
    execute!(
        connection,
        "UPDATE workspaces SET second_factor_required = $2 WHERE id = $1",
        workspace_id.get(),
        required,
    );
    Ok(())
}

/// The programs that belong to the workspace, including archived ones.
pub async fn programs_of(
    connection: &mut PgConnection,
    workspace_id: WorkspaceId,
    program_ids: &[i64],
) -> StorageResult<Vec<i64>> {
    Ok(fetch_scalars!(
        connection,
        "SELECT id FROM programs WHERE workspace_id = $1 AND id = ANY($2)",
        workspace_id.get(),
        program_ids,
    ))
}

pub async fn of_user(connection: &mut PgConnection, user_id: UserId) -> StorageResult<Vec<Membership>> {
    Ok(fetch_all!(
        connection,
        Membership,
        r#"SELECT m.id AS member_id, m.workspace_id, w.name AS workspace_name, m.role AS "role: _", w.second_factor_required
           FROM workspace_members m JOIN workspaces w ON w.id = m.workspace_id
           WHERE m.user_id = $1 ORDER BY m.workspace_id"#,
        user_id.get(),
    ))
}

/// `None` when the user is already a member.
pub async fn add_member(
    connection: &mut PgConnection,
    workspace_id: WorkspaceId,
    user_id: UserId,
    role: Role,
) -> StorageResult<Option<MemberId>> {
    Ok(fetch_optional_scalar!(
        connection,
        r#"INSERT INTO workspace_members (workspace_id, user_id, role) VALUES ($1, $2, $3)
         ON CONFLICT (user_id, workspace_id) DO NOTHING
         RETURNING id AS "id: MemberId""#,
        workspace_id.get(),
        user_id.get(),
        role.as_str(),
    ))
}

#[derive(Debug, Clone)]
pub struct ProgramForUser {
    pub workspace_id: WorkspaceId,
    pub status: ProgramStatus,
    /// The currency of its totals.
    pub currency: Currency,
    pub created_at: DateTime<Utc>,
    /// The user's role in the program's workspace; `None` for non-members, and without a user.
    pub role: Option<Role>,
    pub permissions: ProgramPermissions,
    pub wanted_events: WantedEvents,
}

/// `None` when the program does not exist. With `user_id: None`, reads the program alone.
pub async fn program_for_user(
    connection: &mut PgConnection,
    program_id: ProgramId,
    user_id: Option<UserId>,
) -> StorageResult<Option<ProgramForUser>> {
    Ok(sqlx::query!(
        r#"SELECT p.workspace_id AS "workspace_id: WorkspaceId", p.status AS "status: ProgramStatus",
                  p.currency AS "currency: Currency", p.created_at, p.wanted_events AS "wanted_events: WantedEvents",
                  m.role AS "role?: Role", g.permissions AS "permissions?: ProgramPermissions"
           FROM programs p
           LEFT JOIN workspace_members m ON m.workspace_id = p.workspace_id AND m.user_id = $2
           LEFT JOIN member_permissions g ON g.member_id = m.id AND g.program_id = p.id
           WHERE p.id = $1"#,
        program_id.get(),
        user_id.map(UserId::get),
    )
    .map(|row| ProgramForUser {
        workspace_id: row.workspace_id,
        status: row.status,
        currency: row.currency,
        created_at: row.created_at,
        role: row.role,
        permissions: row.permissions.unwrap_or_default(),
        wanted_events: row.wanted_events,
    })
    .fetch_optional(connection)
    .await?)
}

/// The programs that a caller may see.
#[derive(Debug, Clone)]
pub enum Reach {
    /// Programs of workspaces that the user manages, and programs for which the user has this permission.
    User { user_id: UserId, permission: Permission },
    /// Programs of a management key.
    Key {
        workspace_id: WorkspaceId,
        program_scope: ProgramScope,
    },
}

#[derive(Debug, Clone, Default)]
pub struct ProgramFilter {
    /// Only archived programs if true, only others if false.
    pub archived: bool,
    pub status: Option<ProgramStatus>,
    /// Searched in the name, ignoring case.
    pub text: Option<Name>,
}

/// Ids of a page of programs, newest first unless sorted, and the total number.
pub async fn programs_within(
    connection: &mut PgConnection,
    reach: &Reach,
    filter: &ProgramFilter,
    sorting: Option<Sorting<ProgramColumn>>,
    window: Window,
) -> StorageResult<(Vec<ProgramId>, Whole)> {
    let (user_id, permission, workspace_id, scope) = match reach {
        Reach::User { user_id, permission } => (Some(user_id.get()), Some(permission.as_str()), None, None),
        Reach::Key {
            workspace_id,
            program_scope,
        } => (None, None, Some(workspace_id.get()), program_scope.ids()),
    };
    let mut ids = fetch_scalars!(
        connection,
        r#"SELECT p.id FROM programs p
           LEFT JOIN workspace_members m ON m.workspace_id = p.workspace_id AND m.user_id = $1
           LEFT JOIN member_permissions g ON g.member_id = m.id AND g.program_id = p.id
           WHERE (p.status = 'archived') = $5 AND ($6::text IS NULL OR p.status = $6)
             AND ($7::text IS NULL OR strpos(folded(p.name), folded($7)) > 0)
             AND CASE WHEN $1::bigint IS NULL
                      THEN p.workspace_id = $3 AND ($4::bigint[] IS NULL OR p.id = ANY($4))
                      ELSE coalesce(m.role IN ('owner', 'admin') OR $2::text = ANY(g.permissions), false) END
           ORDER BY CASE WHEN $8::integer > 0 THEN folded(p.name) END COLLATE "und-x-icu",
                    CASE WHEN $8 < 0 THEN folded(p.name) END COLLATE "und-x-icu" DESC, p.id DESC"#,
        user_id,
        permission,
        workspace_id,
        scope.as_deref(),
        filter.archived,
        filter.status.map(ProgramStatus::as_str),
        filter.text.as_ref().map(Name::as_str),
        sorting.map(|sorting| sorting.sign()),
    );
    ids.retain(|id| *id <= window.up_to);
    let whole = Whole {
        count: i64::try_from(ids.len()).unwrap_or(i64::MAX),
        up_to: ids.iter().copied().max(),
    };
    let ids = window.of(ids).into_iter().map(ProgramId::new).collect();
    Ok((ids, whole))
}

/// Ends management keys, open invitations, CLI logins and CLI sessions whose creator lost the right to make
/// them. Returns the audit log's action and the id of each.
pub async fn end_unsupported(
    connection: &mut PgConnection,
    workspace_id: WorkspaceId,
    now: DateTime<Utc>,
) -> StorageResult<Vec<(&'static str, i64)>> {
    let keys = management_keys::revoke_unsupported(connection, workspace_id, now).await?;
    let keys = keys.into_iter().map(|id| ("api_key.revoked", id.get()));
    let withdrawn = invitations::withdraw_unsupported(connection, workspace_id, now).await?;
    let withdrawn = withdrawn.into_iter().map(|id| ("invitation.withdrawn", id.get()));
    // Logins first: a login that is being handed over already has its session when its lock is released.
    let logins = cli_logins::end_unsupported(connection, workspace_id, now).await?;
    let logins = logins.into_iter().map(|id| ("cli_login.ended", id));
    let ended = sessions::revoke_unsupported(connection, workspace_id, now).await?;
    let ended = ended.into_iter().map(|id| ("cli_session.ended", id.get()));
    Ok(keys.chain(withdrawn).chain(logins).chain(ended).collect())
}
