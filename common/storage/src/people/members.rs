//! `workspace_members` and `member_permissions`: the members of a workspace, and their permissions.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::error::StorageResult;
use crate::page::{Whole, Window, page};
use domain::ids::{MemberId, ProgramId, UserId, WorkspaceId};
use domain::name::Name;
use domain::people::account::EmailAddress;
use domain::people::permission::{ProgramPermissions, Role};
use domain::sorting::{MemberColumn, Sorting};

/// By program.
pub type GivenPermissions = BTreeMap<ProgramId, ProgramPermissions>;

#[derive(Debug, Clone)]
pub struct Member {
    pub member_id: MemberId,
    pub user_id: UserId,
    pub name: String,
    pub email: String,
    pub role: Role,
    pub permissions: GivenPermissions,
    pub verified: bool,
    pub has_second_factor: bool,
    pub created_at: DateTime<Utc>,
}

/// The workspace of a membership; `None` when the membership does not exist.
pub async fn workspace_of(
    connection: &mut PgConnection,
    member_id: MemberId,
) -> StorageResult<Option<WorkspaceId>> {
    Ok(fetch_optional_scalar!(
        connection,
        r#"SELECT workspace_id AS "id: WorkspaceId" FROM workspace_members WHERE id = $1"#,
        member_id.get(),
    ))
}

/// Serialises changes of a workspace's members. Facts that a change depends on (the caller's role, the number
/// of owners) must still hold when it is made. Taken before any read.
pub async fn lock(connection: &mut PgConnection, workspace_id: WorkspaceId) -> StorageResult<()> {
    // A lock of this mode still allows new rows that reference the workspace.
    fetch_optional!(
        connection,
        "SELECT id FROM workspaces WHERE id = $1 FOR NO KEY UPDATE",
        workspace_id.get(),
    );
    Ok(())
}

pub async fn find(connection: &mut PgConnection, member_id: MemberId) -> StorageResult<Option<Member>> {
    let row = fetch_optional!(
        &mut *connection,
        MemberRow,
        r#"SELECT m.id, m.user_id, u.name, u.email, m.role AS "role: _", m.created_at, u.verified_at IS NOT NULL AS "verified!",
                EXISTS (SELECT FROM second_factors f WHERE f.user_id = m.user_id AND f.enabled_at IS NOT NULL)
                    AS "has_second_factor!"
         FROM workspace_members m JOIN users u ON u.id = m.user_id WHERE m.id = $1"#,
        member_id.get(),
    );
    Ok(with_permissions(connection, row.into_iter().collect())
        .await?
        .pop())
}

/// A page of a workspace's members, oldest first unless sorted. `text` is searched in name and address.
pub async fn list(
    connection: &mut PgConnection,
    workspace_id: WorkspaceId,
    text: Option<&Name>,
    sorting: Option<Sorting<MemberColumn>>,
    window: Window,
) -> StorageResult<(Vec<Member>, Whole)> {
    let (rows, total) = page!(
        &mut *connection,
        window,
        MemberRow,
        select r#"SELECT m.id, m.user_id, u.name, u.email, m.role AS "role: _", m.created_at, u.verified_at IS NOT NULL AS "verified!",
                  EXISTS (SELECT FROM second_factors f WHERE f.user_id = m.user_id AND f.enabled_at IS NOT NULL)
                      AS "has_second_factor!""#,
        of "FROM workspace_members m JOIN users u ON u.id = m.user_id
            WHERE m.workspace_id = $1
              AND ($2::text IS NULL OR strpos(folded(u.name), folded($2)) > 0 OR strpos(folded(u.email), folded($2)) > 0)
              AND m.id <= $3",
        order "m.id",
        or by sorting: "CASE WHEN $6::text = 'created_at' THEN extract(epoch FROM m.created_at) * $7::integer END,
         CASE WHEN $7 > 0 THEN CASE $6 WHEN 'name' THEN folded(u.name) WHEN 'email' THEN folded(u.email) END END COLLATE \"und-x-icu\",
         CASE WHEN $7 < 0 THEN CASE $6 WHEN 'name' THEN folded(u.name) WHEN 'email' THEN folded(u.email) END END COLLATE \"und-x-icu\" DESC,
         m.id",
        part "OFFSET $4 LIMIT $5",
        whole r#"SELECT count(*) AS "count!", max(m.id) AS up_to"#,
        workspace_id.get(),
        text.map(Name::as_str),
    );
    Ok((with_permissions(connection, rows).await?, total))
}

/// Whether the workspace has another owner. Suspended owners do not count: they cannot run the workspace.
pub async fn has_another_owner(
    connection: &mut PgConnection,
    workspace_id: WorkspaceId,
    member_id: MemberId,
) -> StorageResult<bool> {
    Ok(fetch_scalar!(
        connection,
        r#"SELECT EXISTS (
               SELECT FROM workspace_members m JOIN users u ON u.id = m.user_id
               WHERE m.workspace_id = $1 AND m.id <> $2 AND m.role = 'owner' AND u.status = 'active') AS "has!""#,
        workspace_id.get(),
        member_id.get(),
    ))
}

pub async fn has_address(
    connection: &mut PgConnection,
    workspace_id: WorkspaceId,
    email: &EmailAddress,
) -> StorageResult<bool> {
    Ok(fetch_scalar!(
        connection,
        r#"SELECT EXISTS (SELECT FROM workspace_members m JOIN users u ON u.id = m.user_id
                          WHERE m.workspace_id = $1 AND lower(u.email) = lower($2)) AS "has!""#,
        workspace_id.get(),
        email.as_str(),
    ))
}

pub async fn set_role(connection: &mut PgConnection, member_id: MemberId, role: Role) -> StorageResult<()> {
    execute!(
        connection,
        "UPDATE workspace_members SET role = $2 WHERE id = $1",
        member_id.get(),
        role.as_str(),
    );
    Ok(())
}

/// Replaces all permissions of a member.
pub async fn set_permissions(
    connection: &mut PgConnection,
    member_id: MemberId,
    given: &GivenPermissions,
) -> StorageResult<()> {
    execute!(
        &mut *connection,
        "DELETE FROM member_permissions WHERE member_id = $1",
        member_id.get()
    );
    for (program_id, permissions) in given {
        let names: Vec<String> = permissions.names().into_iter().map(str::to_owned).collect();
        execute!(
            &mut *connection,
            "INSERT INTO member_permissions (member_id, program_id, permissions) VALUES ($1, $2, $3)",
            member_id.get(),
            program_id.get(),
            &names,
        );
    }
    Ok(())
}

/// Ends a membership with its permissions. The account stays.
pub async fn remove(connection: &mut PgConnection, member_id: MemberId) -> StorageResult<()> {
    execute!(
        connection,
        "DELETE FROM workspace_members WHERE id = $1",
        member_id.get()
    );
    Ok(())
}

struct MemberRow {
    id: MemberId,
    user_id: UserId,
    name: String,
    email: String,
    role: Role,
    verified: bool,
    has_second_factor: bool,
    created_at: DateTime<Utc>,
}

/// Permissions by member. Members without permissions are absent.
pub async fn permissions_of(
    connection: &mut PgConnection,
    member_ids: &[i64],
) -> StorageResult<BTreeMap<i64, GivenPermissions>> {
    let given = fetch_all!(
        connection,
        r#"SELECT member_id, program_id AS "program_id: ProgramId", permissions AS "permissions: ProgramPermissions"
           FROM member_permissions WHERE member_id = ANY($1)"#,
        member_ids,
    );
    let mut by_member: BTreeMap<i64, GivenPermissions> = BTreeMap::new();
    for row in given {
        by_member
            .entry(row.member_id)
            .or_default()
            .insert(row.program_id, row.permissions);
    }
    Ok(by_member)
}

async fn with_permissions(connection: &mut PgConnection, rows: Vec<MemberRow>) -> StorageResult<Vec<Member>> {
    let ids: Vec<i64> = rows.iter().map(|row| row.id.get()).collect();
    let mut by_member = permissions_of(connection, &ids).await?;
    let members = rows.into_iter().map(|row| Member {
        member_id: row.id,
        user_id: row.user_id,
        name: row.name,
        email: row.email,
        role: row.role,
        permissions: by_member.remove(&row.id.get()).unwrap_or_default(),
        verified: row.verified,
        has_second_factor: row.has_second_factor,
        created_at: row.created_at,
    });
    Ok(members.collect())
}
