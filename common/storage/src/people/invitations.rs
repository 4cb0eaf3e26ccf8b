//! `invitations`: one-time links to join a workspace, or to claim a partner's own account.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;
use sqlx::types::Json;

use crate::error::{StorageError, StorageResult};
use crate::operations::audit_log::AuditActor;
use crate::page::{Whole, Window, page};
use crate::people::members::{self, GivenPermissions};
use domain::ids::{InvitationId, PartnerId, ProgramId, WorkspaceId};
use domain::name::Name;
use domain::people::account::{EmailAddress, UserKind};
use domain::people::permission::Role;
use domain::sorting::{InvitationColumn, Sorting};
use domain::token::TokenHash;

#[derive(Debug, Clone)]
pub enum Purpose {
    Member {
        role: Role,
        permissions: GivenPermissions,
    },
    /// An account for a partner of this program.
    Partner {
        partner_id: PartnerId,
        program_id: ProgramId,
    },
}

impl Purpose {
    /// The kind of account that can accept the invitation.
    pub const fn user_kind(&self) -> UserKind {
        match self {
            Self::Member { .. } => UserKind::Advertiser,
            Self::Partner { .. } => UserKind::Partner,
        }
    }
}

#[derive(Debug)]
pub struct NewInvitation<'a> {
    pub workspace_id: WorkspaceId,
    pub email: &'a EmailAddress,
    pub purpose: &'a Purpose,
    /// The inviting member. The invitation ends when the member loses the right to invite.
    pub invited_by: AuditActor,
    pub token_hash: TokenHash,
    /// The link is only in an e-mail, and shown to no other person.
    pub emailed: bool,
    pub created_at: DateTime<Utc>,
    pub expires_at: DateTime<Utc>,
}

/// Creates an invitation and ends the previous one for the same purpose.
pub async fn create(connection: &mut PgConnection, new: &NewInvitation<'_>) -> StorageResult<InvitationId> {
    // A concurrent invitation must see the earlier one, or both links would work.
    members::lock(connection, new.workspace_id).await?;
    let (role, permissions, partner, program) = match new.purpose {
        Purpose::Member { role, permissions } => (Some(role.as_str()), permissions.clone(), None, None),
        Purpose::Partner {
            partner_id,
            program_id,
        } => (
            None,
            GivenPermissions::new(),
            Some(partner_id.get()),
            Some(program_id.get()),
        ),
    };
    let (user, key) = match new.invited_by {
        AuditActor::User(user_id) => (Some(user_id.get()), None),
        AuditActor::Key(key_id) => (None, Some(key_id.get())),
        _ => (None, None),
    };
    execute!(
        &mut *connection,
        "UPDATE invitations SET withdrawn_at = $5
         WHERE workspace_id = $1 AND accepted_at IS NULL AND withdrawn_at IS NULL
           AND partner_id IS NOT DISTINCT FROM $2 AND program_id IS NOT DISTINCT FROM $3
           AND ($2::bigint IS NOT NULL OR lower(email) = lower($4))",
        new.workspace_id.get(),
        partner,
        program,
        new.email.as_str(),
        new.created_at,
    );
    Ok(fetch_scalar!(
        connection,
        r#"INSERT INTO invitations (token_hash, workspace_id, email, role, permissions, partner_id, program_id,
             created_at, expires_at, invited_by, invited_by_key, emailed)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) RETURNING id AS "id: InvitationId""#,
        new.token_hash.as_bytes().as_slice(),
        new.workspace_id.get(),
        new.email.as_str(),
        role,
        Json(permissions) as _,
        partner,
        program,
        new.created_at,
        new.expires_at,
        user,
        key,
        new.emailed,
    ))
}

/// The name of the invitation's target: the workspace or, for a partner, the program.
pub async fn target_name(
    connection: &mut PgConnection,
    workspace_id: WorkspaceId,
    purpose: &Purpose,
) -> StorageResult<String> {
    let program = match purpose {
        Purpose::Member { .. } => None,
        Purpose::Partner { program_id, .. } => Some(program_id.get()),
    };
    Ok(fetch_scalar!(
        connection,
        r#"SELECT coalesce(p.name, w.name) AS "name!" FROM workspaces w LEFT JOIN programs p ON p.id = $2 WHERE w.id = $1"#,
        workspace_id.get(),
        program,
    ))
}

#[derive(Debug, Clone)]
pub struct OpenInvitation {
    pub invitation_id: InvitationId,
    pub workspace_id: WorkspaceId,
    /// Name of the workspace or, for a partner, of the program.
    pub name: String,
    pub email: EmailAddress,
    /// The link was only sent to the mailbox, so the accepting person can read its mail.
    pub emailed: bool,
    pub purpose: Purpose,
    pub expires_at: DateTime<Utc>,
}

/// Finds an invitation that can be accepted. `None` for an unknown token, and for an invitation that was
/// accepted or withdrawn, has expired, or whose inviter lost the right to invite.
pub async fn find_open(
    connection: &mut PgConnection,
    token_hash: TokenHash,
    now: DateTime<Utc>,
) -> StorageResult<Option<OpenInvitation>> {
    let row = fetch_optional!(
        connection,
        r#"SELECT i.id AS "id: InvitationId", i.workspace_id AS "workspace_id: WorkspaceId", coalesce(p.name, w.name) AS "name!",
                  i.email AS "email: EmailAddress", i.emailed, i.role AS "role: Role",
                  i.permissions AS "permissions: Json<GivenPermissions>", i.partner_id AS "partner_id: PartnerId",
                  i.program_id AS "program_id: ProgramId", i.expires_at
           FROM invitations i
           JOIN workspaces w ON w.id = i.workspace_id
           LEFT JOIN programs p ON p.id = i.program_id
           WHERE i.token_hash = $1 AND i.accepted_at IS NULL AND i.withdrawn_at IS NULL AND i.expires_at > $2
             AND inviter_may_invite(i)"#,
        token_hash.as_bytes().as_slice(),
        now,
    );
    row.map(|row| {
        Ok(OpenInvitation {
            invitation_id: row.id,
            workspace_id: row.workspace_id,
            name: row.name,
            email: row.email,
            emailed: row.emailed,
            purpose: match (row.role, row.partner_id, row.program_id) {
                (Some(role), None, None) => Purpose::Member {
                    role,
                    permissions: row.permissions.0,
                },
                (None, Some(partner_id), Some(program_id)) => Purpose::Partner {
                    partner_id,
                    program_id,
                },
                _ => return Err(StorageError::corrupt("invitations", "role", row.id)),
            },
            expires_at: row.expires_at,
        })
    })
    .transpose()
}

/// Accepts an invitation. `false` when another request was faster, or the invitation ended after it was
/// found. The caller holds [`members::lock`], so that the inviter keeps the right until the transaction ends.
pub async fn accept(
    connection: &mut PgConnection,
    invitation_id: InvitationId,
    now: DateTime<Utc>,
) -> StorageResult<bool> {
    Ok(execute!(
        connection,
        "UPDATE invitations i SET accepted_at = $2
         WHERE id = $1 AND accepted_at IS NULL AND withdrawn_at IS NULL AND expires_at > $2
           AND inviter_may_invite(i)",
        invitation_id.get(),
        now,
    ) == 1)
}

/// Withdraws an invitation. `false` when it was no longer open.
pub async fn withdraw(
    connection: &mut PgConnection,
    invitation_id: InvitationId,
    now: DateTime<Utc>,
) -> StorageResult<bool> {
    Ok(execute!(
        connection,
        "UPDATE invitations SET withdrawn_at = $2
         WHERE id = $1 AND accepted_at IS NULL AND withdrawn_at IS NULL",
        invitation_id.get(),
        now,
    ) == 1)
}

/// Withdraws open invitations whose inviter lost the right to make them, and returns their ids.
pub async fn withdraw_unsupported(
    connection: &mut PgConnection,
    workspace_id: WorkspaceId,
    now: DateTime<Utc>,
) -> StorageResult<Vec<InvitationId>> {
    Ok(fetch_scalars!(
        connection,
        r#"UPDATE invitations i SET withdrawn_at = $2
         WHERE workspace_id = $1 AND accepted_at IS NULL AND withdrawn_at IS NULL AND NOT inviter_may_invite(i)
         RETURNING id AS "id: InvitationId""#,
        workspace_id.get(),
        now,
    ))
}

#[derive(Debug, Clone)]
pub struct MemberInvitation {
    pub invitation_id: InvitationId,
    pub workspace_id: WorkspaceId,
    pub email: String,
    pub role: Role,
    pub permissions: Json<GivenPermissions>,
    pub created_at: DateTime<Utc>,
    pub expires_at: DateTime<Utc>,
    pub accepted_at: Option<DateTime<Utc>>,
    pub withdrawn_at: Option<DateTime<Utc>>,
}

/// A page of a workspace's invitations, newest first unless sorted. `text` is searched in the address.
pub async fn page(
    connection: &mut PgConnection,
    workspace_id: WorkspaceId,
    text: Option<&Name>,
    sorting: Option<Sorting<InvitationColumn>>,
    window: Window,
) -> StorageResult<(Vec<MemberInvitation>, Whole)> {
    Ok(page!(
        connection,
        window,
        MemberInvitation,
        select r#"SELECT id AS invitation_id, workspace_id, email, role AS "role!: _", permissions AS "permissions: _",
                  created_at, expires_at, accepted_at, withdrawn_at"#,
        of "FROM invitations WHERE workspace_id = $1 AND role IS NOT NULL
              AND ($2::text IS NULL OR strpos(folded(email), folded($2)) > 0) AND id <= $3",
        order "id DESC",
        or by sorting: "CASE WHEN $6::text = 'expires_at' THEN extract(epoch FROM expires_at) * $7::integer END,
         CASE WHEN $6 = 'email' AND $7 > 0 THEN folded(email) END COLLATE \"und-x-icu\",
         CASE WHEN $6 = 'email' AND $7 < 0 THEN folded(email) END COLLATE \"und-x-icu\" DESC,
         id DESC",
        part "OFFSET $4 LIMIT $5",
        whole r#"SELECT count(*) AS "count!", max(id) AS up_to"#,
        workspace_id.get(),
        text.map(Name::as_str),
    ))
}

/// `None` for a partner's invitation, too: it belongs to the program.
pub async fn find(
    connection: &mut PgConnection,
    invitation_id: InvitationId,
) -> StorageResult<Option<MemberInvitation>> {
    Ok(fetch_optional!(
        connection,
        MemberInvitation,
        r#"SELECT id AS invitation_id, workspace_id, email, role AS "role!: _", permissions AS "permissions: _",
                  created_at, expires_at, accepted_at, withdrawn_at
           FROM invitations WHERE id = $1 AND role IS NOT NULL"#,
        invitation_id.get(),
    ))
}
