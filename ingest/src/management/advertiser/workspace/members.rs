//! `/api/advertiser/members`: who works in a workspace, as what, and what they were given. Joining is by invitation.
//!
//! Owners and admins run it; admins leave owners alone, and there is always an owner. Changes of one workspace's members
//! wait for each other, so that two of them cannot each leave the other to be the last owner. A right that ends takes
//! with it the management keys and open invitations that came from it.

use std::collections::BTreeMap;

use axum::extract::State;
use axum::http::StatusCode;
use chrono::{DateTime, Utc};
use domain::ids::{MemberId, ProgramId, WorkspaceId};
use domain::permission::{Permission, ProgramPermissions, Role};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use sqlx::PgConnection;
use storage::members::{self, GivenPermissions, Member};
use storage::workspaces;
use utoipa::ToSchema;

use crate::app::App;
use crate::http::body::RequestBody;
use crate::http::error::ApiError;
use crate::http::field::{Field, refused, stated};
use crate::http::openapi::envelopes::PlatformError;
use crate::http::openapi::examples::Examples;
use crate::http::query::Query;
use crate::management::access::{AdvertiserUser, Audited, differences, forbidden};
use crate::management::answers::{Answer, Data, Ids, List, Listed, Page, PageQuery, as_instant, data};

const NO_PERMISSIONS: &str =
    "must map ids of this workspace's programs to lists of permissions, such as {\"1\": [\"tracking:read\"]}";

/// What is there is changed; what is not stays as it is.
#[derive(Debug, Deserialize, ToSchema)]
pub struct MemberChanges {
    /// `owner`, `admin` or `member`.
    #[serde(default, deserialize_with = "stated")]
    #[schema(value_type = Option<String>)]
    role: Option<Field<String>>,
    /// By program id: some of `tracking:read`, `tracking:list`, `program:list`, `program:read`, `program:update`,
    /// `program:delete`, `program:go_live`, `program:regenerate-token`, `program:pay_out`, or `program:*` for every one of a
    /// program's. They take the place of all that were given before.
    #[serde(default, deserialize_with = "stated")]
    #[schema(value_type = Option<BTreeMap<String, Vec<String>>>)]
    permissions: Option<Field<Map<String, Value>>>,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct MemberView {
    /// Of the membership: what the paths are about.
    id: i64,
    user_id: i64,
    name: String,
    email: String,
    /// `owner`, `admin` or `member`.
    role: &'static str,
    /// It was shown that the address is theirs: the link of an invitation shows nothing, because who invited has seen it.
    verified: bool,
    /// A code is asked for when they sign in, beside the password.
    second_factor: bool,
    /// By program id. Owners and admins have every permission whatever stands here.
    permissions: BTreeMap<String, Vec<&'static str>>,
    #[serde(rename = "createdAt", serialize_with = "as_instant")]
    created_at: DateTime<Utc>,
}

/// List a workspace's members
///
/// Oldest first.
#[utoipa::path(
    get,
    path = "/api/advertiser/members",
    operation_id = "list_members",
    params(
        PageQuery,
        ("workspace_id" = Option<i64>, Query, description = "Needed by somebody who runs several workspaces.", example = 2),
    ),
    responses(
        (status = 200, description = "A page of them.", body = Listed<MemberView>),
        (status = 400, description = "A number in the query is none.", body = PlatformError),
    )
)]
pub async fn list(
    State(app): State<App>,
    user: AdvertiserUser,
    page: Page,
    query: Query,
) -> List<MemberView> {
    let mut connection = app.management.acquire().await?;
    let workspace_id = user.workspace_asked_for(&mut connection, &query).await?;
    let (members, total) = members::list(&mut connection, workspace_id, page.window()).await?;
    Ok(page.listed(members.iter().map(MemberView::new).collect(), total))
}

/// Change a member's role or permissions
#[utoipa::path(
    put,
    path = "/api/advertiser/members/{member_id}",
    operation_id = "update_member",
    request_body = MemberChanges,
    responses(
        (status = 200, description = "As they are now.", body = Data<MemberView>),
        (status = 409, description = "They are the last owner.", body = PlatformError),
    )
)]
pub async fn update(
    State(app): State<App>,
    user: AdvertiserUser,
    Ids(member_id): Ids<MemberId>,
    body: RequestBody,
) -> Answer<MemberView> {
    let mut transaction = app.management.begin().await?;
    let (acting, before) = judged(&user, &mut transaction, member_id).await?;
    user.user.just_proved(&app)?;
    let changes: MemberChanges = body.json()?;
    let role = changes.role.map(read_role).transpose()?;
    let given = match changes.permissions {
        Some(given) => Some(read_permissions(&mut transaction, acting.workspace_id, given).await?),
        None => None,
    };
    if let Some(role) = role.filter(|role| *role != before.role) {
        if role == Role::Owner && acting.role != Role::Owner {
            return Err(forbidden());
        }
        keep_an_owner(&mut transaction, acting.workspace_id, &before).await?;
        members::set_role(&mut transaction, member_id, role).await?;
    }
    if let Some(given) = &given {
        members::set_permissions(&mut transaction, member_id, given).await?;
    }
    end_unsupported(&app, &user, &mut transaction, acting.workspace_id).await?;
    let after = found(&mut transaction, member_id).await?;
    let audited = Audited::new(acting.workspace_id, "member.updated")
        .about(member_id.get())
        .with(differences(described(&before), &described(&after)));
    user.audit(&app, &mut transaction, audited).await?;
    transaction.commit().await?;
    Ok(data(MemberView::new(&after)))
}

/// Remove a member
///
/// What they could do here ends at once: management keys they created are revoked, invitations they made are withdrawn, command lines they connected are signed out. Their account and what they do elsewhere stay.
#[utoipa::path(
    delete,
    path = "/api/advertiser/members/{member_id}",
    operation_id = "remove_member",
    responses(
        (status = 204, description = "Removed."),
        (status = 409, description = "They are the last owner.", body = PlatformError),
    )
)]
pub async fn remove(
    State(app): State<App>,
    user: AdvertiserUser,
    Ids(member_id): Ids<MemberId>,
) -> Result<StatusCode, ApiError> {
    let mut transaction = app.management.begin().await?;
    let (acting, before) = judged(&user, &mut transaction, member_id).await?;
    user.user.just_proved(&app)?;
    keep_an_owner(&mut transaction, acting.workspace_id, &before).await?;
    members::remove(&mut transaction, member_id).await?;
    end_unsupported(&app, &user, &mut transaction, acting.workspace_id).await?;
    let audited = Audited::new(acting.workspace_id, "member.removed")
        .about(member_id.get())
        .with(json!({ "user_id": before.user_id.get(), "role": before.role.as_str() }));
    user.audit(&app, &mut transaction, audited).await?;
    transaction.commit().await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Ends the management keys, open invitations, CLI logins and CLI sessions whose right has just ended.
async fn end_unsupported(
    app: &App,
    user: &AdvertiserUser,
    connection: &mut PgConnection,
    workspace_id: WorkspaceId,
) -> Result<(), ApiError> {
    for (action, subject_id) in workspaces::end_unsupported(connection, workspace_id, app.clock.now()).await?
    {
        let audited = Audited::new(workspace_id, action)
            .about(subject_id)
            .with(json!({ "reason": "right_ended" }));
        user.audit(app, connection, audited).await?;
    }
    Ok(())
}

/// Who acts and on whom, both as they are once every change before this one is done.
async fn judged(
    user: &AdvertiserUser,
    connection: &mut PgConnection,
    member_id: MemberId,
) -> Result<(workspaces::Membership, Member), ApiError> {
    let workspace_id = members::workspace_of(connection, member_id)
        .await?
        .ok_or_else(unknown)?;
    members::lock(connection, workspace_id).await?;
    let acting = user.workspace(connection, Some(workspace_id)).await?;
    let member = found(connection, member_id).await?;
    if member.role == Role::Owner && acting.role != Role::Owner {
        return Err(forbidden());
    }
    Ok((acting, member))
}

async fn found(connection: &mut PgConnection, member_id: MemberId) -> Result<Member, ApiError> {
    members::find(connection, member_id).await?.ok_or_else(unknown)
}

/// Refuses to take the last owner away.
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
    Err(last_owner())
}

pub fn read_role(field: Field<String>) -> Result<Role, ApiError> {
    let role = match field {
        Field::Given(name) => Role::parse(&name),
        Field::Absent | Field::WrongType => None,
    };
    role.ok_or_else(|| refused("role", "must be one of owner, admin, member"))
}

/// Null takes all of them back.
pub async fn read_permissions(
    connection: &mut PgConnection,
    workspace_id: WorkspaceId,
    field: Field<Map<String, Value>>,
) -> Result<GivenPermissions, ApiError> {
    let wrong = || refused("permissions", NO_PERMISSIONS);
    let entries = match field {
        Field::Absent => Map::new(),
        Field::Given(entries) => entries,
        Field::WrongType => return Err(wrong()),
    };
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
    // Another's program and one that does not exist are answered alike.
    if asked.iter().any(|id| !own.contains(id)) {
        return Err(wrong());
    }
    Ok(given)
}

impl MemberView {
    fn new(member: &Member) -> Self {
        Self {
            id: member.member_id.get(),
            user_id: member.user_id.get(),
            name: member.name.clone(),
            email: member.email.clone(),
            role: member.role.as_str(),
            verified: member.verified,
            second_factor: member.has_second_factor,
            permissions: shown(&member.permissions),
            created_at: member.created_at,
        }
    }
}

/// For the audit log.
fn described(member: &Member) -> Value {
    json!({ "role": member.role.as_str(), "permissions": shown(&member.permissions) })
}

pub fn shown(given: &GivenPermissions) -> BTreeMap<String, Vec<&'static str>> {
    given
        .iter()
        .map(|(program_id, permissions)| (program_id.to_string(), permissions.names()))
        .collect()
}

fn unknown() -> ApiError {
    ApiError::NotFound("Member not found")
}

fn last_owner() -> ApiError {
    ApiError::Conflict("A workspace keeps at least one owner")
}

fn example() -> MemberView {
    MemberView {
        id: 6,
        user_id: 5,
        name: "Mika".to_owned(),
        email: "mika@shop.example".to_owned(),
        role: Role::Member.as_str(),
        verified: true,
        second_factor: true,
        permissions: BTreeMap::from([("1".to_owned(), vec![Permission::TrackingRead.as_str()])]),
        created_at: DateTime::UNIX_EPOCH + chrono::TimeDelta::days(20_000),
    }
}

pub fn list_examples() -> Examples {
    Examples::of_refusals([ApiError::bad_request("page must be a positive integer")]).page(example())
}

pub fn examples() -> Examples {
    let request = json!({ "role": "member", "permissions": { "1": ["tracking:read"] } });
    Examples::of_refusals([
        refused("role", "must be one of owner, admin, member"),
        last_owner(),
    ])
    .request("May look at one program's tracking", request)
    .data("The member", example())
}
