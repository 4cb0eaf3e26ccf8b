//! Links that partners create themselves.

use sqlx::PgConnection;

use crate::error::StorageResult;
use crate::reads::partner_view::PartnerLink;
use domain::ids::{PartnerProgramId, ProgramId, ReferralLinkId, UserId, WorkspaceId};
use domain::programs::partner::{MembershipStatus, ShortCode};
use domain::programs::program::ProgramStatus;

/// A partner's locked membership of a program, with the program's status (the program is not locked). Of two
/// concurrent requests that create a link, the second counts the link of the first.
#[derive(Debug, Clone, Copy)]
pub struct LockedMembership {
    pub workspace_id: WorkspaceId,
    pub program_status: ProgramStatus,
    pub partner_program_id: PartnerProgramId,
    pub status: MembershipStatus,
    pub links_left: i64,
}

/// Locks a partner's membership. If the partner has several in the program, locks an approved one first.
pub async fn lock_membership(
    connection: &mut PgConnection,
    user_id: UserId,
    program_id: ProgramId,
) -> StorageResult<Option<LockedMembership>> {
    let locked = fetch_optional_scalar!(
        &mut *connection,
        "SELECT m.id FROM partners p JOIN partner_programs m ON m.partner_id = p.id
         WHERE p.user_id = $1 AND m.program_id = $2
         ORDER BY m.status = 'approved' DESC, m.id LIMIT 1 FOR NO KEY UPDATE OF m",
        user_id.get(),
        program_id.get(),
    );
    let Some(id) = locked else { return Ok(None) };
    // A statement of its own: it sees rows that were committed while the previous one waited for the lock.
    let membership = fetch_one!(
        connection,
        LockedMembership,
        r#"SELECT g.workspace_id, g.status AS "program_status: _", m.id AS partner_program_id, m.status AS "status: _",
               g.partner_link_limit - (
               SELECT count(*) FROM referral_links l WHERE l.partner_program_id = m.id AND l.made_by_partner) AS "links_left!"
           FROM partner_programs m JOIN programs g ON g.id = m.program_id WHERE m.id = $1"#,
        id,
    );
    Ok(Some(membership))
}

/// Whether another link of the workspace has, or once had, this code, ignoring case. Clicks on a published
/// URL must not be credited to another partner.
pub async fn is_like_anothers(
    connection: &mut PgConnection,
    workspace_id: WorkspaceId,
    short_code: &ShortCode,
) -> StorageResult<bool> {
    Ok(fetch_scalar!(
        connection,
        r#"SELECT EXISTS (SELECT 1 FROM referral_links l JOIN programs g ON g.id = l.program_id
                          WHERE g.workspace_id = $1 AND lower(l.short_code) = lower($2))
               OR EXISTS (SELECT 1 FROM audit_log WHERE workspace_id = $1 AND action = 'referral_link.updated'
                            AND lower(details -> 'before' ->> 'short_code') = lower($2)) AS "found!""#,
        workspace_id.get(),
        short_code.as_str(),
    ))
}

/// Marks a link as created by its partner.
pub async fn set_made_by_partner(
    connection: &mut PgConnection,
    link_id: ReferralLinkId,
) -> StorageResult<PartnerLink> {
    Ok(fetch_one!(
        connection,
        PartnerLink,
        "UPDATE referral_links l SET made_by_partner = true FROM programs g WHERE l.id = $1 AND g.id = l.program_id
         RETURNING l.id, g.id AS program_id, g.name AS program_name, g.status AS program_status, g.domain, g.cookie_window_days, l.short_code,
             l.status, l.clicks, l.last_clicked, l.created_at, l.updated_at",
        link_id.get(),
    ))
}
