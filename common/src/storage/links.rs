//! Where referral links lead the money: program, membership, partner.

use std::collections::HashMap;

use sqlx::PgConnection;

use super::StorageResult;
use crate::domain::ids::{PartnerId, PartnerProgramId, ProgramId, ReferralLinkId};
use crate::domain::sale::{LinkOwner, Membership};

pub async fn owners(
    connection: &mut PgConnection,
    links: &[i64],
) -> StorageResult<HashMap<ReferralLinkId, LinkOwner>> {
    let rows = sqlx::query!(
        r#"SELECT l.id AS "id!", l.program_id, p.id AS "partner_program_id?", p.partner_id
           FROM referral_links l
           -- A membership that is not approved, or no longer, earns nothing.
           LEFT JOIN partner_programs p ON p.id = l.partner_program_id AND p.status = 'approved'
           WHERE l.id = ANY($1)"#,
        links,
    )
    .fetch_all(connection)
    .await?;
    Ok(rows
        .into_iter()
        .map(|row| {
            let membership = row.partner_program_id.map(|id| Membership {
                partner_program_id: PartnerProgramId::new(id),
                partner_id: row.partner_id.map(PartnerId::new),
            });
            let owner = LinkOwner {
                program_id: row.program_id.map(ProgramId::new),
                membership,
            };
            (ReferralLinkId::new(row.id), owner)
        })
        .collect())
}
