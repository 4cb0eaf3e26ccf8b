//! `referral_links`: links of advertisers, and the program, membership and partner that earn by them.

pub mod list;

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::error::StorageResult;
use domain::ids::{PartnerId, PartnerProgramId, ProgramId, ReferralLinkId};
use domain::programs::partner::{LinkStatus, ShortCode};
use domain::tracking::sale::{LinkOwner, Membership};
use domain::tracking::signal::PartnerAddresses;

#[derive(Debug, Default)]
pub struct Owners {
    pub links: HashMap<ReferralLinkId, LinkOwner>,
    /// E-mail addresses of the partners who earn by these links.
    pub addresses: PartnerAddresses,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Memberships {
    /// Only memberships that are approved now.
    Approved,
    /// All memberships: an earlier sale may belong to one that is no longer approved.
    All,
}

pub async fn owners(
    connection: &mut PgConnection,
    links: &[i64],
    memberships: Memberships,
) -> StorageResult<Owners> {
    let rows = fetch_all!(
        connection,
        r#"SELECT l.id AS "id!: ReferralLinkId", l.program_id AS "program_id: ProgramId",
                  p.id AS "partner_program_id?: PartnerProgramId", p.partner_id AS "partner_id?: PartnerId",
                  r.email AS "record_address?", u.email AS "account_address?"
           FROM referral_links l
           LEFT JOIN partner_programs p ON p.id = l.partner_program_id AND (p.status = 'approved' OR $2)
           LEFT JOIN partners r ON r.id = p.partner_id
           LEFT JOIN users u ON u.id = r.user_id
           WHERE l.id = ANY($1)"#,
        links,
        memberships == Memberships::All,
    );
    let mut owners = Owners::default();
    for row in rows {
        let partner_id = row.partner_id;
        let membership = row.partner_program_id.map(|partner_program_id| Membership {
            partner_program_id,
            partner_id,
        });
        let owner = LinkOwner {
            program_id: row.program_id,
            membership,
        };
        owners.links.insert(row.id, owner);
        if let Some(partner_id) = partner_id {
            let addresses = row.record_address.into_iter().chain(row.account_address);
            owners.addresses.insert(partner_id, addresses.collect());
        }
    }
    Ok(owners)
}

#[derive(Debug, Clone)]
pub struct NamedLink {
    pub short_code: String,
    pub partner_id: Option<PartnerId>,
}

pub async fn named(
    connection: &mut PgConnection,
    links: &[i64],
) -> StorageResult<HashMap<ReferralLinkId, NamedLink>> {
    let rows = fetch_all!(
        connection,
        r#"SELECT id AS "id: ReferralLinkId", short_code, partner_id AS "partner_id: PartnerId"
           FROM referral_links WHERE id = ANY($1)"#,
        links
    );
    Ok(rows
        .into_iter()
        .map(|row| {
            let named = NamedLink {
                short_code: row.short_code,
                partner_id: row.partner_id,
            };
            (row.id, named)
        })
        .collect())
}

/// Creates an active link for a membership. `None` when another link, of any program, has the code.
pub async fn create(
    connection: &mut PgConnection,
    membership: PartnerProgramId,
    short_code: &ShortCode,
    created_at: DateTime<Utc>,
) -> StorageResult<Option<ReferralLinkId>> {
    // `updated_at` comes from the database's clock: the edges use it to find changes.
    let id = fetch_optional_scalar!(
        connection,
        "INSERT INTO referral_links (short_code, program_id, partner_id, partner_program_id, created_at)
         SELECT $2, program_id, partner_id, id, $3 FROM partner_programs WHERE id = $1
         ON CONFLICT (short_code) DO NOTHING
         RETURNING id",
        membership.get(),
        short_code.as_str(),
        created_at,
    );
    Ok(id.map(ReferralLinkId::new))
}

#[derive(Debug, Clone)]
pub struct StoredLink {
    pub referral_link_id: ReferralLinkId,
    pub partner_program_id: Option<PartnerProgramId>,
    pub partner_name: Option<String>,
    /// As created: older codes may not match [`ShortCode`].
    pub short_code: String,
    pub status: LinkStatus,
    /// If false, the advertiser created it.
    pub made_by_partner: bool,
    pub clicks: i64,
    pub last_clicked: Option<DateTime<Utc>>,
    pub created_at: DateTime<Utc>,
    pub updated_at: DateTime<Utc>,
}

pub async fn find(
    connection: &mut PgConnection,
    program_id: ProgramId,
    referral_link_id: ReferralLinkId,
) -> StorageResult<Option<StoredLink>> {
    Ok(fetch_optional!(
        connection,
        StoredLink,
        r#"SELECT l.id AS "referral_link_id!", l.partner_program_id AS "partner_program_id: _", p.name AS "partner_name?",
                  l.short_code AS "short_code!", l.status AS "status!: _", l.made_by_partner AS "made_by_partner!", l.clicks AS "clicks!", l.last_clicked, l.created_at AS "created_at!",
                  l.updated_at AS "updated_at!"
           FROM referral_links l LEFT JOIN partners p ON p.id = l.partner_id
           WHERE l.program_id = $1 AND l.id = $2"#,
        program_id.get(),
        referral_link_id.get(),
    ))
}

pub async fn lock(
    connection: &mut PgConnection,
    program_id: ProgramId,
    referral_link_id: ReferralLinkId,
) -> StorageResult<Option<StoredLink>> {
    fetch_optional!(
        &mut *connection,
        "SELECT id FROM referral_links WHERE id = $1 AND program_id = $2 FOR NO KEY UPDATE",
        referral_link_id.get(),
        program_id.get(),
    );
    find(connection, program_id, referral_link_id).await
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Updated {
    Done,
    /// Another link has the code; nothing was changed.
    CodeTaken,
}

/// `None` leaves a field unchanged. A partner cannot turn on a link that the advertiser turned off. A trigger
/// notifies the edges.
pub async fn update(
    connection: &mut PgConnection,
    referral_link_id: ReferralLinkId,
    short_code: Option<&ShortCode>,
    status: Option<LinkStatus>,
) -> StorageResult<Updated> {
    let updated = sqlx::query!(
        "UPDATE referral_links SET short_code = coalesce($2, short_code), status = coalesce($3, status),
             turned_off_by = CASE $3 WHEN 'active' THEN NULL WHEN 'inactive' THEN 'advertiser' ELSE turned_off_by END
         WHERE id = $1 AND NOT EXISTS (SELECT 1 FROM referral_links o WHERE o.short_code = $2 AND o.id <> $1)",
        referral_link_id.get(),
        short_code.map(ShortCode::as_str),
        status.map(LinkStatus::as_str),
    )
    .execute(connection)
    .await;
    match updated {
        Ok(updated) if updated.rows_affected() == 1 => Ok(Updated::Done),
        Ok(_) => Ok(Updated::CodeTaken),
        // A concurrent update took the code after the check: the unique index detects it.
        Err(sqlx::Error::Database(error)) if error.constraint() == Some("referral_links_short_code_key") => {
            Ok(Updated::CodeTaken)
        }
        Err(error) => Err(error.into()),
    }
}
