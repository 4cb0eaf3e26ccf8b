//! A partner's links, commissions and clicks, of all programs or of one, a page at a time.
//! [`partner_view`](super::partner_view) states which data a partner may see.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use super::partner_view::{PartnerCommission, PartnerLink};
use crate::error::StorageResult;
use crate::page::{Whole, Window, page};
use domain::earnings::commission::CommissionStatus;
use domain::ids::{CommissionId, ProgramId, UserId};
use domain::name::Name;
use domain::sorting::{CommissionColumn, LinkColumn, Sorting};

#[derive(Debug, Clone, Default)]
pub struct LinkFilter {
    pub program_id: Option<ProgramId>,
    /// Searched in the code, ignoring case.
    pub text: Option<Name>,
}

/// A page of links, newest first unless sorted, and the total number.
pub async fn links(
    connection: &mut PgConnection,
    user_id: UserId,
    filter: &LinkFilter,
    sorting: Option<Sorting<LinkColumn>>,
    window: Window,
) -> StorageResult<(Vec<PartnerLink>, Whole)> {
    Ok(page!(
        connection,
        window,
        PartnerLink,
        select "SELECT l.id, g.id AS program_id, g.name AS program_name, g.status AS program_status, g.domain, g.cookie_window_days, l.short_code,
                l.status, l.clicks, l.last_clicked, l.created_at, l.updated_at",
        of "FROM partners p JOIN referral_links l ON l.partner_id = p.id JOIN programs g ON g.id = l.program_id
            WHERE p.user_id = $1 AND ($2::bigint IS NULL OR g.id = $2)
              AND ($3::text IS NULL OR strpos(folded(l.short_code), folded($3)) > 0) AND l.id <= $4",
        order "l.id DESC",
        or by sorting: "CASE $7::text WHEN 'clicks' THEN l.clicks::numeric WHEN 'last_clicked' THEN extract(epoch FROM l.last_clicked)
         END * $8::integer NULLS LAST,
         CASE WHEN $7 = 'short_code' AND $8 > 0 THEN folded(l.short_code) END COLLATE \"und-x-icu\",
         CASE WHEN $7 = 'short_code' AND $8 < 0 THEN folded(l.short_code) END COLLATE \"und-x-icu\" DESC,
         l.id DESC",
        part "OFFSET $5 LIMIT $6",
        whole r#"SELECT count(*) AS "count!", max(l.id) AS up_to"#,
        user_id.get(),
        filter.program_id.map(ProgramId::get),
        filter.text.as_ref().map(Name::as_str),
    ))
}

#[derive(Debug, Clone, Copy, Default)]
pub struct CommissionFilter {
    pub program_id: Option<ProgramId>,
    pub status: Option<CommissionStatus>,
    /// Whether the commission was paid, whatever its status is now.
    pub paid: Option<bool>,
    pub commission_id: Option<CommissionId>,
}

/// A page of commissions, newest first unless sorted, and the total number.
pub async fn commissions(
    connection: &mut PgConnection,
    user_id: UserId,
    filter: CommissionFilter,
    sorting: Option<Sorting<CommissionColumn>>,
    window: Window,
) -> StorageResult<(Vec<PartnerCommission>, Whole)> {
    Ok(page!(
        connection,
        window,
        PartnerCommission,
        select "SELECT c.id, c.program_id, g.name AS program_name, c.amount_cents, c.deducted_cents, c.adjusted_cents, c.currency,
                c.status, c.note, c.hold_until, c.approved_at, c.paid_at, c.payout_id, c.created_at
         FROM commissions c JOIN programs g ON g.id = c.program_id",
        of "WHERE c.partner_id = ANY(ARRAY(SELECT p.id FROM partners p WHERE p.user_id = $1))
              AND ($2::bigint IS NULL OR c.program_id = $2) AND ($3::text IS NULL OR c.status = $3)
              AND ($4::boolean IS NULL OR (c.paid_at IS NOT NULL) = $4) AND ($5::bigint IS NULL OR c.id = $5) AND c.id <= $6",
        order "c.id DESC",
        or by sorting: "CASE $9::text WHEN 'amount' THEN c.currency END,
         CASE $9 WHEN 'amount' THEN c.amount_cents::numeric WHEN 'hold_until' THEN extract(epoch FROM c.hold_until) END * $10::integer,
         c.id DESC",
        part "OFFSET $7 LIMIT $8",
        whole r#"SELECT count(*) AS "count!", max(c.id) AS up_to FROM commissions c"#,
        user_id.get(),
        filter.program_id.map(ProgramId::get),
        filter.status.map(CommissionStatus::as_str),
        filter.paid,
        filter.commission_id.map(CommissionId::get),
    ))
}

/// A click in the form that its partner may see: no field identifies the visitor.
#[derive(Debug)]
pub struct PartnerClick {
    pub id: i64,
    pub referral_link_id: i64,
    pub short_code: String,
    pub program_id: i64,
    pub clicked_at: DateTime<Utc>,
    pub country: Option<String>,
    pub device_type: Option<String>,
    pub converted: bool,
}

/// A page of real, counted clicks on the links that match a filter, newest first. The index by link gives the
/// newest clicks of each link, as many as the page may need; a deep page also reads all clicks before it. The
/// total comes from the links' counters, so it includes clicks that arrived after the first page.
pub async fn clicks(
    connection: &mut PgConnection,
    user_id: UserId,
    filter: &LinkFilter,
    window: Window,
) -> StorageResult<(Vec<PartnerClick>, Whole)> {
    let (program_id, text) = (
        filter.program_id.map(ProgramId::get),
        filter.text.as_ref().map(Name::as_str),
    );
    let total = fetch_scalar!(
        &mut *connection,
        r#"SELECT coalesce(sum(l.clicks), 0)::bigint AS "count!"
           FROM partners p JOIN referral_links l ON l.partner_id = p.id
           WHERE p.user_id = $1 AND ($2::bigint IS NULL OR l.program_id = $2)
             AND ($3::text IS NULL OR strpos(folded(l.short_code), folded($3)) > 0)"#,
        user_id.get(),
        program_id,
        text,
    );
    if window.offset >= total {
        return Ok((Vec::new(), total.into()));
    }
    let rows = fetch_all!(
        connection,
        PartnerClick,
        r#"SELECT e.id AS "id!", l.id AS referral_link_id, l.short_code, e.program_id AS "program_id!",
                  e.click_timestamp AS "clicked_at!", e.geo_country AS "country?", e.device_type AS "device_type?",
                  coalesce(c.status = 'conversion', false) AS "converted!"
           FROM partners p JOIN referral_links l ON l.partner_id = p.id
           CROSS JOIN LATERAL (
             SELECT id, program_id, customer_id, click_timestamp, geo_country, device_type FROM click_events
             WHERE referral_link_id = l.id AND counted AND NOT is_test AND id <= $6
             ORDER BY click_timestamp DESC LIMIT $4::bigint + $5::bigint) e
           LEFT JOIN customers c ON c.id = e.customer_id
           WHERE p.user_id = $1 AND ($2::bigint IS NULL OR l.program_id = $2)
             AND ($3::text IS NULL OR strpos(folded(l.short_code), folded($3)) > 0)
           ORDER BY e.click_timestamp DESC, e.id DESC OFFSET $4 LIMIT $5"#,
        user_id.get(),
        program_id,
        text,
        window.offset,
        window.limit,
        window.up_to,
    );
    let up_to = match window.up_to {
        // The newest id is on the first page, unless clicks were recorded late.
        i64::MAX if window.offset == 0 => rows.iter().map(|click| click.id).max(),
        i64::MAX => None,
        asked => Some(asked),
    };
    Ok((rows, Whole { count: total, up_to }))
}
