//! `/api/advertiser/members`: the members of a workspace, their roles and their permissions. Users join by
//! invitation.
//!
//! Owners and admins run a workspace. Admins cannot change owners, and a workspace always has an owner.
//! Changes of one workspace's members run one after another; otherwise two concurrent changes could remove
//! the last two owners. When a right ends, the management keys and open invitations that depend on it end
//! too.

use std::collections::BTreeMap;

use axum::http::StatusCode;
use chrono::{DateTime, Utc};
use domain::ids::{MemberId, ProgramId, WorkspaceId};
use domain::people::permission::{ProgramPermissions, Role};
use domain::sorting::MemberColumn;
use messages::instant::as_instant;
use serde_json::{Map, Value, json};
use sqlx::PgConnection;
use storage::people::members::{self, GivenPermissions, Member};
use storage::people::workspaces;

use crate::http::field::{Field, if_present, refused};
use crate::http::query::{NO_TEXT, Query};
use crate::management::access::{AdvertiserUser, Audited, FORBIDDEN, ListForAdvertiser, Write, differences};
use crate::management::answers::{Ids, List, Listed, OrderQuery, PageQuery, view};
use crate::management::prelude::*;

const NO_PERMISSIONS: &str =
    "must map ids of this workspace's programs to lists of permissions, such as {\"1\": [\"tracking:read\"]}";

const NO_COLUMN: &str = "must be one of name, email, created_at";

/// A field that is present is changed. A field that is missing keeps its value.
#[derive(Debug, Deserialize, ToSchema)]
pub struct MemberChanges {
    /// `owner`, `admin` or `member`.
    #[serde(default, deserialize_with = "if_present")]
    #[schema(value_type = Option<String>)]
    role: Option<Field<String>>,
    /// By program id: some of `tracking:read`, `tracking:list`, `program:list`, `program:read`, `program:update`,
    /// `program:delete`, `program:go_live`, `program:regenerate-token`, `program:pay_out`, `events:read`, or `program:*` for every one
    /// of a program's. They replace all that were given before.
    #[serde(default, deserialize_with = "if_present")]
    #[schema(value_type = Option<BTreeMap<String, Vec<String>>>)]
    permissions: Option<Field<Map<String, Value>>>,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct MemberView {
    /// The id of the membership. The paths use it as `member_id`.
    id: i64,
    user_id: i64,
    name: String,
    email: String,
    /// `owner`, `admin` or `member`.
    role: &'static str,
    /// The user has proved that the address is theirs. An invitation's link is no proof, because the inviter has seen it.
    verified: bool,
    /// A code is asked for when they sign in, beside the password.
    second_factor: bool,
    /// By program id. Owners and admins have every permission in any case.
    permissions: BTreeMap<String, Vec<&'static str>>,
    #[serde(rename = "createdAt", serialize_with = "as_instant")]
    created_at: DateTime<Utc>,
}

/// List a workspace's members
///
/// Oldest first unless sorted.
#[utoipa::path(
    get,
    path = "/api/advertiser/members",
    params(
        ("search" = Option<String>, Query, description = "Only those with this in their name or address, whatever its case."),
        ("sort" = Option<String>, Query, description = "`name`, `email` or `created_at`."),
        OrderQuery,
        PageQuery,
        ("workspace_id" = Option<i64>, Query, description = "Required for a user who runs several workspaces.", example = 2),
    ),
    responses((status = 200, description = "A page of them.", body = Listed<MemberView>)),
    extensions(("x-refusals" = json!([refused("search", NO_TEXT), refused("sort", NO_COLUMN)]))),
)]
pub async fn list_members(mut list: ListForAdvertiser, query: Query) -> List<MemberView> {
    let workspace_id = list.session.workspace_asked_for(&mut list.db, &query).await?;
    let (text, window) = (query.search()?, list.page.window());
    let sorting = query.sorting(NO_COLUMN, MemberColumn::parse)?;
    let found = members::list(&mut list.db, workspace_id, text.as_ref(), sorting, window).await?;
    Ok(list.page.listed(found))
}

/// Change a member's role or permissions
#[utoipa::path(
    put,
    path = "/api/advertiser/members/{member_id}",
    request_body = MemberChanges,
    responses(
        (status = 200, description = "As they are now.", body = Data<MemberView>),
        (status = 409, description = "They are the last owner.", body = PlatformError),
    ),
    extensions(("x-refusals" = json!([refused("role", "must be one of owner, admin, member"), LAST_OWNER]))),
)]
pub async fn update_member(mut write: Write<AdvertiserUser, Ids<MemberId>>) -> Answer<MemberView> {
    let Ids(member_id) = write.on;
    let (acting, before) = judged(&mut write).await?;
    let workspace_id = acting.workspace_id;
    write.just_proved()?;
    let changes: MemberChanges = write.body().json()?;
    let role = changes.role.map(read_role).transpose()?;
    let given = match changes.permissions {
        Some(given) => Some(read_permissions(&mut write.db, workspace_id, given).await?),
        None => None,
    };
    if let Some(role) = role.filter(|role| *role != before.role) {
        if role == Role::Owner && acting.role != Role::Owner {
            return Err(FORBIDDEN);
        }
        keep_an_owner(&mut write.db, workspace_id, &before).await?;
        members::set_role(&mut write.db, member_id, role).await?;
    }
    if let Some(given) = &given {
        members::set_permissions(&mut write.db, member_id, given).await?;
    }
    end_unsupported(&mut write, workspace_id).await?;
    let after = found(&mut write.db, member_id).await?;
    let audited = Audited::new(workspace_id, "member.updated").about(member_id.get());
    let details = differences(described(&before), &described(&after));
    write.record(audited.with(details));
    write.answer(data(after.into())).await
}

/// Remove a member
///
/// What they could do here ends at once: management keys they created are revoked, invitations they made are withdrawn, command lines they connected are signed out. Their account and what they do elsewhere stay.
#[utoipa::path(
    delete,
    path = "/api/advertiser/members/{member_id}",
    responses(
        (status = 204, description = "Removed."),
        (status = 409, description = "They are the last owner.", body = PlatformError),
    ),
    extensions(("x-refusals" = json!([LAST_OWNER]))),
)]
pub async fn remove_member(mut write: Write<AdvertiserUser, Ids<MemberId>>) -> Result<StatusCode, ApiError> {
    let Ids(member_id) = write.on;
    let (acting, before) = judged(&mut write).await?;
    let workspace_id = acting.workspace_id;
    write.just_proved()?;
    keep_an_owner(&mut write.db, workspace_id, &before).await?;
    members::remove(&mut write.db, member_id).await?;
    end_unsupported(&mut write, workspace_id).await?;
    let audited = Audited::new(workspace_id, "member.removed").about(member_id.get());
    let details = json!({ "user_id": before.user_id.get(), "role": before.role.as_str() });
    write.record(audited.with(details));
    write.answer(StatusCode::NO_CONTENT).await
}

/// Ends the management keys, open invitations, CLI logins and CLI sessions whose right has just ended.
async fn end_unsupported<On>(
    write: &mut Write<AdvertiserUser, On>,
    workspace_id: WorkspaceId,
) -> Result<(), ApiError> {
    let now = write.now();
    for (action, subject_id) in workspaces::end_unsupported(&mut write.db, workspace_id, now).await? {
        let audited = Audited::new(workspace_id, action).about(subject_id);
        write.record(audited.with(json!({ "reason": "right_ended" })));
    }
    Ok(())
}

/// The acting member and the changed member, read after every earlier change has finished. Only an owner may
/// change an owner.
async fn judged(
    write: &mut Write<AdvertiserUser, Ids<MemberId>>,
) -> Result<(workspaces::Membership, Member), ApiError> {
    let (Ids(member_id), connection) = (write.on, &mut *write.db);
    let workspace_id = members::workspace_of(connection, member_id).await?;
    let workspace_id = workspace_id.ok_or(UNKNOWN)?;
    members::lock(connection, workspace_id).await?;
    let acting = write.caller.workspace(connection, Some(workspace_id)).await?;
    let member = found(connection, member_id).await?;
    if member.role == Role::Owner && acting.role != Role::Owner {
        return Err(FORBIDDEN);
    }
    Ok((acting, member))
}

async fn found(connection: &mut PgConnection, member_id: MemberId) -> Result<Member, ApiError> {
    members::find(connection, member_id).await?.ok_or(UNKNOWN)
}

/// Refuses to remove the last owner.
async fn keep_an_owner(
    connection: &mut PgConnection,
    workspace_id: WorkspaceId,
    leaving: &Member,
) -> Result<(), ApiError> {
    if leaving.role != Role::Owner
        || members::has_another_owner(connection, workspace_id, leaving.member_id).await?
    {
        return Ok(());
    }
    Err(LAST_OWNER)
}

pub fn read_role(field: Field<String>) -> Result<Role, ApiError> {
    field.word(Role::parse, || {
        refused("role", "must be one of owner, admin, member")
    })
}

/// Null removes all permissions.
pub async fn read_permissions(
    connection: &mut PgConnection,
    workspace_id: WorkspaceId,
    field: Field<Map<String, Value>>,
) -> Result<GivenPermissions, ApiError> {
    let wrong = || refused("permissions", NO_PERMISSIONS);
    let entries = field.optional(wrong)?.unwrap_or_default();
    let mut given = GivenPermissions::new();
    for (program_id, names) in &entries {
        let program_id = program_id.parse().map_err(|_| wrong())?;
        let names = names.as_array().ok_or_else(wrong)?;
        let names: Option<Vec<&str>> = names.iter().map(Value::as_str).collect();
        let permissions = ProgramPermissions::parse(names.ok_or_else(wrong)?)
            .map_err(|name| ApiError::bad_request(format!("permissions names no permission: {name}")))?;
        if permissions != ProgramPermissions::default() {
            given.insert(ProgramId::new(program_id), permissions);
        }
    }
    let asked: Vec<i64> = given.keys().map(|program_id| program_id.get()).collect();
    let own = workspaces::programs_of(connection, workspace_id, &asked).await?;
    // A program of another workspace and a missing program get the same answer.
    if asked.iter().any(|id| !own.contains(id)) {
        return Err(wrong());
    }
    Ok(given)
}

view! { |member: Member| MemberView {
    name, email, verified, created_at;
    id: member.member_id.get(),
    user_id: member.user_id.get(),
    role: member.role.as_str(),
    second_factor: member.has_second_factor,
    permissions: shown(&member.permissions),
} }

/// The settings as the audit log shows them.
fn described(member: &Member) -> Value {
    json!({ "role": member.role.as_str(), "permissions": shown(&member.permissions) })
}

pub fn shown(given: &GivenPermissions) -> BTreeMap<String, Vec<&'static str>> {
    given
        .iter()
        .map(|(program_id, permissions)| (program_id.to_string(), permissions.names()))
        .collect()
}

const UNKNOWN: ApiError = ApiError::NotFound("Member not found");
const LAST_OWNER: ApiError = ApiError::Conflict("A workspace keeps at least one owner");
