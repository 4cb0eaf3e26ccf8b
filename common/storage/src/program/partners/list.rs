//! A program's partners, a page at a time.

use sqlx::PgConnection;

use super::{MembershipRow, ProgramPartner, with_balances};
use crate::error::StorageResult;
use crate::page::{Whole, Window, page};
use domain::ids::ProgramId;
use domain::name::Name;
use domain::programs::partner::MembershipStatus;
use domain::sorting::{PartnerColumn, Sorting};

/// Selects a program's partners. A text search does not find partners whose record was removed.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    pub status: Option<MembershipStatus>,
    /// Searched in the name and the address, ignoring case.
    pub text: Option<Name>,
}

/// A page of memberships, newest first unless sorted, and the total. Search and sort read all memberships.
pub async fn page(
    connection: &mut PgConnection,
    program_id: ProgramId,
    filter: &Filter,
    sorting: Option<Sorting<PartnerColumn>>,
    window: Window,
) -> StorageResult<(Vec<ProgramPartner>, Whole)> {
    let (rows, whole) = page!(
        &mut *connection,
        window,
        MembershipRow,
        select r#"SELECT m.id AS "id!", m.partner_id AS "partner_id: _", p.name AS "name?", p.email, p.user_id AS "user_id: _",
                  m.status AS "status!: _", m.clicks AS "clicks!", m.last_clicked, m.created_at AS "created_at!", m.updated_at AS "updated_at!""#,
        of "FROM partner_programs m LEFT JOIN partners p ON p.id = m.partner_id
            WHERE m.program_id = $1 AND ($2::text IS NULL OR m.status = $2)
              AND ($3::text IS NULL OR strpos(folded(p.name), folded($3)) > 0 OR strpos(folded(p.email), folded($3)) > 0)
              AND m.id <= $4",
        order "m.id DESC",
        or by sorting: "CASE $7::text WHEN 'clicks' THEN m.clicks::numeric
                       WHEN 'last_clicked' THEN extract(epoch FROM m.last_clicked)
                       WHEN 'owed' THEN (SELECT b.owed_cents FROM partner_program_owed b JOIN programs g ON g.currency = b.currency
                                            WHERE g.id = m.program_id AND b.partner_program_id = m.id)
         END * $8::integer NULLS LAST,
         CASE WHEN $7 = 'name' AND $8 > 0 THEN folded(p.name) END COLLATE \"und-x-icu\",
         CASE WHEN $7 = 'name' AND $8 < 0 THEN folded(p.name) END COLLATE \"und-x-icu\" DESC NULLS LAST,
         m.id DESC",
        part "OFFSET $5 LIMIT $6",
        whole r#"SELECT count(*) AS "count!", max(m.id) AS up_to"#,
        program_id.get(),
        filter.status.map(MembershipStatus::as_str),
        filter.text.as_ref().map(Name::as_str),
    );
    Ok((with_balances(connection, rows).await?, whole))
}
