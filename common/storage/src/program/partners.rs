//! `partners` and `partner_programs`: partners, and their memberships of programs.
//!
//! A partner is one workspace's record of a person. Other workspaces have their own records.

pub mod list;

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::error::{StorageResult, expect_rows};
use crate::money::balances::{self, Balance};
use crate::reads::rollups::Deltas;
use domain::ids::{PartnerId, PartnerProgramId, ProgramId, UserId};
use domain::people::account::EmailAddress;
use domain::programs::partner::{MembershipStatus, PartnerName};

#[derive(Debug)]
pub struct NewPartner<'a> {
    /// The partner belongs to the workspace of this program.
    pub program_id: ProgramId,
    pub name: &'a PartnerName,
    pub email: Option<&'a EmailAddress>,
    pub created_at: DateTime<Utc>,
}

/// The workspace's partner with this address (compared without case), or else a new partner.
pub async fn provide(connection: &mut PgConnection, new: &NewPartner<'_>) -> StorageResult<PartnerId> {
    let email = new.email.map(EmailAddress::as_str);
    let made = fetch_optional_scalar!(
        &mut *connection,
        "INSERT INTO partners (workspace_id, name, email, created_at)
         SELECT workspace_id, $2, $3::text, $4 FROM programs WHERE id = $1
         ON CONFLICT (workspace_id, lower(email)) WHERE email IS NOT NULL DO NOTHING
         RETURNING id",
        new.program_id.get(),
        new.name.as_str(),
        email,
        new.created_at,
    );
    if let Some(id) = made {
        return Ok(PartnerId::new(id));
    }
    let id = fetch_scalar!(
        connection,
        "SELECT p.id FROM partners p JOIN programs g ON g.workspace_id = p.workspace_id
         WHERE g.id = $1 AND lower(p.email) = lower($2)",
        new.program_id.get(),
        email,
    );
    Ok(PartnerId::new(id))
}

/// The partners of a program's workspace with this name. Names are not unique.
pub async fn called(
    connection: &mut PgConnection,
    program_id: ProgramId,
    name: &PartnerName,
) -> StorageResult<Vec<PartnerId>> {
    Ok(fetch_scalars!(
        connection,
        r#"SELECT p.id AS "id: PartnerId" FROM partners p JOIN programs g ON g.workspace_id = p.workspace_id
         WHERE g.id = $1 AND p.name = $2 ORDER BY p.id"#,
        program_id.get(),
        name.as_str(),
    ))
}

/// A partner's membership of a program; `None` when the partner is not a member.
pub async fn membership(
    connection: &mut PgConnection,
    program_id: ProgramId,
    partner_id: PartnerId,
) -> StorageResult<Option<(PartnerProgramId, MembershipStatus)>> {
    Ok(sqlx::query!(
        r#"SELECT id AS "id: PartnerProgramId", status AS "status: MembershipStatus"
           FROM partner_programs WHERE program_id = $1 AND partner_id = $2"#,
        program_id.get(),
        partner_id.get(),
    )
    .map(|row| (row.id, row.status))
    .fetch_optional(connection)
    .await?)
}

#[derive(Debug)]
pub struct NewMembership {
    pub program_id: ProgramId,
    pub partner_id: PartnerId,
    pub status: MembershipStatus,
    pub created_at: DateTime<Utc>,
}

/// `None` when the partner is already a member. Day rollups count new memberships, approved or not.
pub async fn join(
    connection: &mut PgConnection,
    new: &NewMembership,
) -> StorageResult<Option<PartnerProgramId>> {
    let id = fetch_optional_scalar!(
        &mut *connection,
        "INSERT INTO partner_programs (program_id, partner_id, status, created_at, updated_at)
         VALUES ($1, $2, $3, $4, $4)
         ON CONFLICT (program_id, partner_id) DO NOTHING
         RETURNING id",
        new.program_id.get(),
        new.partner_id.get(),
        new.status.as_str(),
        new.created_at,
    );
    if id.is_some() {
        Deltas::of_membership(new.program_id, new.created_at)
            .append(connection)
            .await?;
    }
    Ok(id.map(PartnerProgramId::new))
}

#[derive(Debug, Clone)]
pub struct ProgramPartner {
    pub partner_program_id: PartnerProgramId,
    /// `None` once the partner's record is removed.
    pub partner: Option<Partner>,
    pub status: MembershipStatus,
    pub clicks: i64,
    pub last_clicked: Option<DateTime<Utc>>,
    pub balances: Vec<Balance>,
    pub created_at: DateTime<Utc>,
    pub updated_at: DateTime<Utc>,
}

#[derive(Debug, Clone)]
pub struct Partner {
    pub partner_id: PartnerId,
    pub name: String,
    pub email: Option<String>,
    /// The account that holds this partner record.
    pub user_id: Option<UserId>,
}

/// Names of the partners of these memberships. Removed partners are absent.
pub async fn names(
    connection: &mut PgConnection,
    memberships: &[i64],
) -> StorageResult<BTreeMap<PartnerProgramId, String>> {
    let rows = fetch_all!(
        connection,
        r#"SELECT m.id AS "id: PartnerProgramId", p.name
           FROM partner_programs m JOIN partners p ON p.id = m.partner_id WHERE m.id = ANY($1)"#,
        memberships,
    );
    Ok(rows.into_iter().map(|row| (row.id, row.name)).collect())
}

pub async fn find(
    connection: &mut PgConnection,
    program_id: ProgramId,
    partner_program_id: PartnerProgramId,
) -> StorageResult<Option<ProgramPartner>> {
    let row = fetch_optional!(
        &mut *connection,
        MembershipRow,
        r#"SELECT m.id AS "id!", m.partner_id AS "partner_id: _", p.name AS "name?", p.email, p.user_id AS "user_id: _",
                  m.status AS "status!: _", m.clicks AS "clicks!", m.last_clicked, m.created_at AS "created_at!", m.updated_at AS "updated_at!"
           FROM partner_programs m LEFT JOIN partners p ON p.id = m.partner_id
           WHERE m.program_id = $1 AND m.id = $2"#,
        program_id.get(),
        partner_program_id.get(),
    );
    Ok(with_balances(connection, row.into_iter().collect()).await?.pop())
}

async fn with_balances(
    connection: &mut PgConnection,
    rows: Vec<MembershipRow>,
) -> StorageResult<Vec<ProgramPartner>> {
    let ids: Vec<i64> = rows.iter().map(|row| row.id.get()).collect();
    let mut balances = balances::of(connection, &ids).await?;
    let partners = rows.into_iter().map(|row| ProgramPartner {
        partner_program_id: row.id,
        partner: row.partner_id.zip(row.name).map(|(partner_id, name)| Partner {
            partner_id,
            name,
            email: row.email,
            user_id: row.user_id,
        }),
        status: row.status,
        clicks: row.clicks,
        last_clicked: row.last_clicked,
        balances: balances.remove(&row.id).unwrap_or_default(),
        created_at: row.created_at,
        updated_at: row.updated_at,
    });
    Ok(partners.collect())
}

/// Locks a membership for a change. Its links are locked first, in the order in which the click step locks.
pub async fn lock(
    connection: &mut PgConnection,
    program_id: ProgramId,
    partner_program_id: PartnerProgramId,
) -> StorageResult<Option<ProgramPartner>> {
    fetch_all!(
        &mut *connection,
        "SELECT id FROM referral_links WHERE partner_program_id = $1 AND program_id = $2 ORDER BY id
         FOR NO KEY UPDATE",
        partner_program_id.get(),
        program_id.get(),
    );
    fetch_optional!(
        &mut *connection,
        "SELECT id FROM partner_programs WHERE id = $1 AND program_id = $2 FOR NO KEY UPDATE",
        partner_program_id.get(),
        program_id.get(),
    );
    find(connection, program_id, partner_program_id).await
}

/// Changes the status of a membership. The status applies to its links too: a trigger notifies the edges.
pub async fn set_status(
    connection: &mut PgConnection,
    partner_program_id: PartnerProgramId,
    status: MembershipStatus,
    now: DateTime<Utc>,
) -> StorageResult<()> {
    let updated = execute!(
        connection,
        "UPDATE partner_programs SET status = $2, updated_at = $3 WHERE id = $1",
        partner_program_id.get(),
        status.as_str(),
        now,
    );
    expect_rows("partner_programs", 1, updated)
}

/// Changes the partner's name in all programs of the workspace.
pub async fn rename(
    connection: &mut PgConnection,
    partner_id: PartnerId,
    name: &PartnerName,
) -> StorageResult<()> {
    let updated = execute!(
        connection,
        "UPDATE partners SET name = $2 WHERE id = $1",
        partner_id.get(),
        name.as_str(),
    );
    expect_rows("partners", 1, updated)
}

/// Assigns the partner record to an account. `false` when another account holds it.
pub async fn give_to(
    connection: &mut PgConnection,
    partner_id: PartnerId,
    user_id: UserId,
) -> StorageResult<bool> {
    Ok(execute!(
        connection,
        "UPDATE partners SET user_id = $2 WHERE id = $1 AND (user_id IS NULL OR user_id = $2)",
        partner_id.get(),
        user_id.get(),
    ) == 1)
}

struct MembershipRow {
    id: PartnerProgramId,
    partner_id: Option<PartnerId>,
    name: Option<String>,
    email: Option<String>,
    user_id: Option<UserId>,
    status: MembershipStatus,
    clicks: i64,
    last_clicked: Option<DateTime<Utc>>,
    created_at: DateTime<Utc>,
    updated_at: DateTime<Utc>,
}
