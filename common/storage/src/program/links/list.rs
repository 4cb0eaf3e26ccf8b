//! A program's referral links, a page at a time.

use sqlx::PgConnection;

use super::StoredLink;
use crate::error::StorageResult;
use crate::page::{Whole, Window, page};
use domain::ids::{PartnerProgramId, ProgramId};
use domain::name::Name;
use domain::programs::partner::LinkStatus;
use domain::sorting::{LinkColumn, Sorting};

#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// A membership of another program matches nothing.
    pub membership: Option<PartnerProgramId>,
    pub status: Option<LinkStatus>,
    /// Searched in the code and the partner's name, ignoring case.
    pub text: Option<Name>,
}

/// A page of links, newest first unless sorted, and the total. Search and sort read all links of the program.
pub async fn page(
    connection: &mut PgConnection,
    program_id: ProgramId,
    filter: &Filter,
    sorting: Option<Sorting<LinkColumn>>,
    window: Window,
) -> StorageResult<(Vec<StoredLink>, Whole)> {
    Ok(page!(
        connection,
        window,
        StoredLink,
        select r#"SELECT l.id AS "referral_link_id!", l.partner_program_id AS "partner_program_id: _", p.name AS "partner_name?",
                  l.short_code AS "short_code!", l.status AS "status!: _", l.made_by_partner AS "made_by_partner!", l.clicks AS "clicks!", l.last_clicked, l.created_at AS "created_at!",
                  l.updated_at AS "updated_at!""#,
        of "FROM referral_links l LEFT JOIN partners p ON p.id = l.partner_id
            WHERE l.program_id = $1 AND ($2::bigint IS NULL OR l.partner_program_id = $2) AND ($3::text IS NULL OR l.status = $3)
              AND ($4::text IS NULL OR strpos(folded(l.short_code), folded($4)) > 0 OR strpos(folded(p.name), folded($4)) > 0)
              AND l.id <= $5",
        order "l.id DESC",
        or by sorting: "CASE $8::text WHEN 'clicks' THEN l.clicks::numeric WHEN 'last_clicked' THEN extract(epoch FROM l.last_clicked)
         END * $9::integer NULLS LAST,
         CASE WHEN $9 > 0 THEN CASE $8 WHEN 'short_code' THEN folded(l.short_code) WHEN 'partner' THEN folded(p.name) END END COLLATE \"und-x-icu\",
         CASE WHEN $9 < 0 THEN CASE $8 WHEN 'short_code' THEN folded(l.short_code) WHEN 'partner' THEN folded(p.name) END END COLLATE \"und-x-icu\"
             DESC NULLS LAST,
         l.id DESC",
        part "OFFSET $6 LIMIT $7",
        whole r#"SELECT count(*) AS "count!", max(l.id) AS up_to"#,
        program_id.get(),
        filter.membership.map(PartnerProgramId::get),
        filter.status.map(LinkStatus::as_str),
        filter.text.as_ref().map(Name::as_str),
    ))
}
