//! `/api/advertiser/invitations`: invitations into a workspace. `partners.rs` and `partner_invitation.rs`
//! invite partners.

use std::collections::BTreeMap;

use chrono::{DateTime, TimeDelta, Utc};
use domain::ids::{InvitationId, PartnerId, WorkspaceId};
use domain::people::account::EmailAddress;
use domain::people::email_content::EmailContent;
use domain::people::permission::Role;
use domain::sorting::InvitationColumn;
use domain::token::InvitationToken;
use messages::instant::as_instant;
use serde_json::{Map, Value, json};
use sqlx::PgConnection;
use storage::people::invitations::{self, MemberInvitation, NewInvitation, Purpose};
use storage::people::members;
use storage::program::programs;

use super::members::{read_permissions, read_role, shown};
use crate::http::field::{Field, refused};
use crate::http::query::{NO_TEXT, Query};
use crate::management::access::right::Update;
use crate::management::access::{
    AdvertiserUser, Audited, Caller, ListForAdvertiser, ProgramIds, Write, WriteProgram,
};
use crate::management::answers::{Created, Ids, List, Listed, OrderQuery, PageQuery, created, view};
use crate::management::emails;
use crate::management::prelude::*;

/// How long the link works.
const INVITATION_LASTS: TimeDelta = TimeDelta::days(7);
const PAGE: &str = "/invitation";
const NO_COLUMN: &str = "must be one of email, expires_at";

#[derive(Debug, Deserialize, ToSchema)]
pub struct NewInvitationRequest {
    #[schema(value_type = String, max_length = 254)]
    email: Field<String>,
    /// `owner`, `admin` or `member`. Only owners invite owners.
    #[schema(value_type = String)]
    role: Field<String>,
    /// Of a member: what they may do, by program id.
    #[schema(value_type = Option<BTreeMap<String, Vec<String>>>)]
    permissions: Field<Map<String, Value>>,
    /// Required for a user who runs several workspaces.
    #[schema(value_type = Option<i64>)]
    workspace_id: Field<i64>,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct InvitationView {
    id: i64,
    workspace_id: i64,
    email: String,
    /// `owner`, `admin` or `member`.
    role: &'static str,
    permissions: BTreeMap<String, Vec<&'static str>>,
    /// `pending`, `accepted`, `withdrawn` or `expired`.
    status: &'static str,
    #[serde(serialize_with = "as_instant")]
    expires_at: DateTime<Utc>,
    #[serde(rename = "createdAt", serialize_with = "as_instant")]
    created_at: DateTime<Utc>,
}

/// A new invitation.
#[derive(Debug, Serialize, ToSchema)]
pub struct CreatedInvitation {
    #[serde(flatten)]
    invitation: InvitationView,
    /// Where e-mail is off: the link that identifies the invitee. Shown here only; share it with them alone.
    invitation_url: Option<String>,
    /// The link is sent to the address, and shown to nobody else.
    emailed: bool,
}

/// A one-time link to an account.
#[derive(Debug, Serialize, ToSchema)]
pub struct InvitationLink {
    /// Where e-mail is off. Shown here only; share it with the invitee alone.
    pub invitation_url: Option<String>,
    #[serde(serialize_with = "as_instant")]
    pub expires_at: DateTime<Utc>,
    /// The link is sent to the address, and shown to nobody else.
    pub emailed: bool,
}

view! { |row: MemberInvitation, now: DateTime<Utc>| InvitationView {
    email, expires_at, created_at;
    id: row.invitation_id.get(),
    workspace_id: row.workspace_id.get(),
    role: row.role.as_str(),
    permissions: shown(&row.permissions),
    status: match (row.accepted_at, row.withdrawn_at) {
        (Some(_), _) => "accepted",
        (None, Some(_)) => "withdrawn",
        (None, None) if row.expires_at <= now => "expired",
        (None, None) => "pending",
    },
} }

/// Creates an invitation and its link. The link is shown once or, if e-mail is on, sent by e-mail. An earlier
/// invitation of the address for the same purpose ends. `None`, without a change, if no e-mail may be sent to
/// the address.
async fn invite<C: Caller, On: Send>(
    write: &mut Write<C, On>,
    workspace_id: WorkspaceId,
    email: &EmailAddress,
    purpose: &Purpose,
) -> Result<Option<(InvitationId, InvitationLink)>, ApiError> {
    let token = InvitationToken::generate(App::random());
    let now = write.now();
    let expires_at = now + INVITATION_LASTS;
    let link = if write.app.emails.are_on() {
        let content = content(write, workspace_id, purpose, expires_at).await?;
        let (app, db) = (&write.app, &mut write.db);
        if !emails::write(app, db, email, &content, Some(token.expose()), Some(workspace_id)).await? {
            return Ok(None);
        }
        // The link is not shown: a caller that could try it would learn whether the address has an account.
        InvitationLink {
            invitation_url: None,
            expires_at,
            emailed: true,
        }
    } else {
        InvitationLink {
            // The token stands behind the `#`, which browsers do not send: no proxy logs it.
            invitation_url: Some(format!("{}#{}", emails::link(&write.app, PAGE), token.expose())),
            expires_at,
            emailed: false,
        }
    };
    let new = NewInvitation {
        workspace_id,
        email,
        purpose,
        invited_by: write.caller.actor(),
        token_hash: token.hash(),
        emailed: link.emailed,
        created_at: now,
        expires_at,
    };
    let invitation_id = invitations::create(&mut write.db, &new).await?;
    Ok(Some((invitation_id, link)))
}

async fn content<C, On>(
    write: &mut Write<C, On>,
    workspace_id: WorkspaceId,
    purpose: &Purpose,
    expires_at: DateTime<Utc>,
) -> Result<EmailContent, ApiError> {
    let name = invitations::target_name(&mut write.db, workspace_id, purpose).await?;
    let link = emails::link(&write.app, PAGE);
    Ok(match purpose {
        Purpose::Member { .. } => EmailContent::MemberInvitation {
            workspace: name,
            link,
            expires_at,
        },
        Purpose::Partner { program_id, .. } => EmailContent::PartnerInvitation {
            program: name,
            identity: programs::identity(&mut write.db, *program_id).await?,
            link,
            expires_at,
        },
    })
}

/// Invites a partner to an account of their own. `None`, without a change, if no e-mail may be sent to the
/// address.
pub async fn invite_partner<I: ProgramIds>(
    write: &mut WriteProgram<Update, I>,
    partner_id: PartnerId,
    email: &EmailAddress,
) -> Result<Option<InvitationLink>, ApiError> {
    let access = write.on.access;
    let purpose = Purpose::Partner {
        partner_id,
        program_id: access.program_id,
    };
    let invited = invite(write, access.workspace_id, email, &purpose).await?;
    Ok(invited.map(|(_, link)| link))
}

/// Invite a user into a workspace
///
/// For its owners and admins. The link works once, for seven days; one made before for the same address stops working. Where e-mail is on, it is
/// sent to the address alone; else it is answered.
#[utoipa::path(
    post,
    path = "/api/advertiser/invitations",
    request_body = NewInvitationRequest,
    responses(
        (status = 201, description = "Invited.", body = Data<CreatedInvitation>),
        (status = 409, description = "They work there already, or the address gets no e-mail at present.", body = PlatformError),
    ),
    extensions(("x-refusals" = json!([MEMBER_ALREADY, GETS_NO_EMAIL]))),
)]
pub async fn invite_member(mut write: Write<AdvertiserUser>) -> Created<CreatedInvitation> {
    let request: NewInvitationRequest = write.body().json()?;
    let email = address(request.email)?;
    let role = read_role(request.role)?;
    if role != Role::Member && request.permissions != Field::Absent {
        return Err(refused(
            "permissions",
            "must be null: owners and admins may do everything",
        ));
    }
    let named = request.workspace_id.integer("workspace_id")?;
    let named = named.map(WorkspaceId::new);
    let inviter = write.caller.workspace(&mut write.db, named).await?;
    if role == Role::Owner && inviter.role != Role::Owner {
        return Err(ApiError::Forbidden("Only owners invite owners"));
    }
    // The invitee signs in with a password of their own.
    write.just_proved()?;
    let workspace_id = inviter.workspace_id;
    let permissions = read_permissions(&mut write.db, workspace_id, request.permissions).await?;
    if members::has_address(&mut write.db, workspace_id, &email).await? {
        return Err(MEMBER_ALREADY);
    }
    let details = json!({ "role": role.as_str(), "permissions": shown(&permissions) });
    let purpose = Purpose::Member { role, permissions };
    let (id, link) = invite(&mut write, workspace_id, &email, &purpose)
        .await?
        .ok_or(GETS_NO_EMAIL)?;
    let audited = Audited::new(workspace_id, "member.invited")
        .about(id.get())
        .with(details);
    write.record(audited);
    let invitation = stored(&mut write.db, id).await?;
    let now = write.now();
    write.commit().await?;
    Ok(created(CreatedInvitation {
        invitation: InvitationView::new(invitation, now),
        invitation_url: link.invitation_url,
        emailed: link.emailed,
    }))
}

/// List invitations
///
/// Of members, in any state; newest first unless sorted. For owners and admins.
#[utoipa::path(
    get,
    path = "/api/advertiser/invitations",
    params(
        ("search" = Option<String>, Query, description = "Only those with this in their address, whatever its case."),
        ("sort" = Option<String>, Query, description = "`email` or `expires_at`."),
        OrderQuery,
        PageQuery,
        ("workspace_id" = Option<i64>, Query, description = "Required for a user who runs several workspaces."),
    ),
    responses((status = 200, description = "A page of them.", body = Listed<InvitationView>)),
    extensions(("x-refusals" = json!([
        refused("workspace_id", "must be an integer"), refused("search", NO_TEXT),
        refused("sort", NO_COLUMN)
    ]))),
)]
pub async fn list_invitations(
    State(app): State<App>,
    mut list: ListForAdvertiser,
    query: Query,
) -> List<InvitationView> {
    let workspace_id = list.session.workspace_asked_for(&mut list.db, &query).await?;
    let (text, window) = (query.search()?, list.page.window());
    let sorting = query.sorting(NO_COLUMN, InvitationColumn::parse)?;
    let (invitations, total) =
        invitations::page(&mut list.db, workspace_id, text.as_ref(), sorting, window).await?;
    let now = app.clock.now();
    let view = |invitation| InvitationView::new(invitation, now);
    Ok(list.page.listed((invitations.into_iter().map(view), total)))
}

/// Withdraw an invitation
#[utoipa::path(
    delete,
    path = "/api/advertiser/invitations/{invitation_id}",
    responses(
        (status = 200, description = "Its link no longer works.", body = Data<InvitationView>),
        (status = 409, description = "It was accepted, or withdrawn before.", body = PlatformError),
    ),
    extensions(("x-refusals" = json!([ENDED]))),
)]
pub async fn withdraw_invitation(
    mut write: Write<AdvertiserUser, Ids<InvitationId>>,
) -> Answer<InvitationView> {
    let Ids(invitation_id) = write.on;
    let workspace_id = stored(&mut write.db, invitation_id).await?.workspace_id;
    write.caller.workspace(&mut write.db, Some(workspace_id)).await?;
    let now = write.now();
    if !invitations::withdraw(&mut write.db, invitation_id, now).await? {
        return Err(ENDED);
    }
    let audited = Audited::new(workspace_id, "invitation.withdrawn").about(invitation_id.get());
    write.record(audited);
    let invitation = stored(&mut write.db, invitation_id).await?;
    write.answer(data(InvitationView::new(invitation, now))).await
}

async fn stored(
    connection: &mut PgConnection,
    invitation_id: InvitationId,
) -> Result<MemberInvitation, ApiError> {
    let found = invitations::find(connection, invitation_id).await?;
    found.ok_or(ApiError::NotFound("Invitation not found"))
}

/// A required e-mail address that can receive e-mail.
pub fn address(field: Field<String>) -> Result<EmailAddress, ApiError> {
    field
        .parsed("email", EmailAddress::for_sending)?
        .ok_or_else(|| ApiError::bad_request("email is required"))
}

pub const MEMBER_ALREADY: ApiError = ApiError::Conflict("They work in this workspace already");

/// The refusal of an invitation that would reach no one.
pub const GETS_NO_EMAIL: ApiError = ApiError::Conflict(
    "This address gets no e-mail at present: its mailbox refused one, or it has had too many invitations within an hour",
);

const ENDED: ApiError = ApiError::Conflict("This invitation has ended already");
