//! The data that a partner sees: rows of every `partners` record of their account, in all workspaces, and no
//! others.
//!
//! The queries never select what only the advertiser may see: customers, keys, click_ids, transaction_ids.

use chrono::{DateTime, NaiveDate, Utc};
use sqlx::PgConnection;

use crate::error::StorageResult;
use crate::page::{Whole, Window, page};
use domain::ids::{ProgramId, ReferralLinkId, UserId, WorkspaceId};
use domain::programs::program::ProgramStatus;

#[derive(Debug)]
pub struct PartnerMembership {
    pub partner_program_id: i64,
    pub program_id: i64,
    pub program_name: String,
    /// `draft`, `live` or `archived`.
    pub program_status: String,
    pub domain: Option<String>,
    pub logo_url: Option<String>,
    pub color: Option<String>,
    pub status: String,
    pub cookie_window_days: i16,
    /// The number of referral links that the partner may still create.
    pub links_left: i64,
    pub created_at: DateTime<Utc>,
}

/// The memberships of an account, newest first, and the total number.
pub async fn memberships(
    connection: &mut PgConnection,
    user_id: UserId,
    window: Window,
) -> StorageResult<(Vec<PartnerMembership>, Whole)> {
    Ok(page!(
        connection,
        window,
        PartnerMembership,
        select r#"SELECT m.id AS partner_program_id, g.id AS program_id, g.name AS program_name, g.status AS program_status, g.domain, g.logo_url, g.color,
                m.status, g.cookie_window_days, m.created_at,
                CASE WHEN m.status = 'approved' AND g.status <> 'archived' THEN greatest(g.partner_link_limit - (
                    SELECT count(*) FROM referral_links l WHERE l.partner_program_id = m.id AND l.made_by_partner), 0)
                    ELSE 0 END AS "links_left!"
         FROM partners p JOIN partner_programs m ON m.partner_id = p.id JOIN programs g ON g.id = m.program_id"#,
        of "WHERE p.user_id = $1 AND m.id <= $2",
        order "m.id DESC",
        part "OFFSET $3 LIMIT $4",
        whole r#"SELECT count(*) AS "count!", max(m.id) AS up_to FROM partners p JOIN partner_programs m ON m.partner_id = p.id"#,
        user_id.get(),
    ))
}

#[derive(Debug, Clone, Copy)]
pub struct OwnMembership {
    pub partner_program_id: i64,
    pub created_at: DateTime<Utc>,
}

pub async fn own_memberships(
    connection: &mut PgConnection,
    user_id: UserId,
    program_id: Option<ProgramId>,
) -> StorageResult<Vec<OwnMembership>> {
    Ok(fetch_all!(
        connection,
        OwnMembership,
        "SELECT m.id AS partner_program_id, m.created_at FROM partners p JOIN partner_programs m ON m.partner_id = p.id
         WHERE p.user_id = $1 AND ($2::bigint IS NULL OR m.program_id = $2)",
        user_id.get(),
        program_id.map(ProgramId::get),
    ))
}

#[derive(Debug)]
pub struct PartnerLink {
    pub id: i64,
    pub program_id: i64,
    pub program_name: String,
    /// `draft`, `live` or `archived`.
    pub program_status: String,
    pub domain: Option<String>,
    pub cookie_window_days: i16,
    pub short_code: String,
    pub status: String,
    pub clicks: i64,
    pub last_clicked: Option<DateTime<Utc>>,
    pub created_at: DateTime<Utc>,
    pub updated_at: DateTime<Utc>,
}

#[derive(Debug, Clone, Copy)]
pub struct LockedLink {
    pub workspace_id: WorkspaceId,
    pub program_id: ProgramId,
    pub program_status: ProgramStatus,
    /// Only the advertiser can turn it on again.
    pub turned_off_by_advertiser: bool,
}

pub async fn lock_link(
    connection: &mut PgConnection,
    user_id: UserId,
    link_id: ReferralLinkId,
) -> StorageResult<Option<LockedLink>> {
    Ok(fetch_optional!(
        connection,
        LockedLink,
        r#"SELECT g.workspace_id, g.id AS program_id, g.status AS "program_status: _",
                coalesce(l.turned_off_by = 'advertiser', false) AS "turned_off_by_advertiser!"
         FROM referral_links l JOIN partners p ON p.id = l.partner_id JOIN programs g ON g.id = l.program_id
         WHERE l.id = $1 AND p.user_id = $2 FOR UPDATE OF l"#,
        link_id.get(),
        user_id.get(),
    ))
}

pub async fn set_link_active(
    connection: &mut PgConnection,
    link_id: ReferralLinkId,
    active: bool,
) -> StorageResult<PartnerLink> {
    Ok(fetch_one!(
        connection,
        PartnerLink,
        r#"UPDATE referral_links l SET status = CASE WHEN $2 THEN 'active' ELSE 'inactive' END,
               turned_off_by = CASE WHEN NOT $2 THEN coalesce(l.turned_off_by, 'partner') END
           FROM programs g WHERE l.id = $1 AND g.id = l.program_id
           RETURNING l.id, g.id AS program_id, g.name AS program_name, g.status AS program_status, g.domain, g.cookie_window_days, l.short_code,
               l.status, l.clicks, l.last_clicked, l.created_at, l.updated_at"#,
        link_id.get(),
        active,
    ))
}

#[derive(Debug)]
pub struct PartnerCommission {
    pub id: i64,
    pub program_id: i64,
    pub program_name: String,
    pub amount_cents: i64,
    pub adjusted_cents: i64,
    pub deducted_cents: i64,
    pub currency: String,
    pub status: String,
    pub note: Option<String>,
    pub hold_until: DateTime<Utc>,
    pub approved_at: Option<DateTime<Utc>>,
    pub paid_at: Option<DateTime<Utc>>,
    pub payout_id: Option<i64>,
    pub created_at: DateTime<Utc>,
}

#[derive(Debug)]
pub struct PartnerBalance {
    pub partner_program_id: i64,
    pub program_id: i64,
    pub program_name: String,
    /// `draft`, `live` or `archived`.
    pub program_status: String,
    pub currency: String,
    pub balance_cents: i64,
    /// Unpaid commissions after deductions, less the debt.
    pub owed_cents: i64,
    /// Earned and on hold.
    pub pending_cents: i64,
    /// Earned and payable.
    pub approved_cents: i64,
    /// Received.
    pub paid_cents: i64,
    /// Deducted from commissions after they were paid, and not held back yet.
    pub debt_cents: i64,
}

/// Balances by membership and currency, and the total number. `now` decides which commissions are payable.
pub async fn balances(
    connection: &mut PgConnection,
    user_id: UserId,
    now: DateTime<Utc>,
    window: Window,
) -> StorageResult<(Vec<PartnerBalance>, i64)> {
    let rows = fetch_all!(
        &mut *connection,
        PartnerBalance,
        r#"SELECT m.id AS partner_program_id, g.id AS program_id, g.name AS program_name, g.status AS program_status,
                  b.currency AS "currency!", b.balance_cents AS "balance_cents!", b.owed_cents AS "owed_cents!",
                  coalesce(u.unpaid - u.approved, 0)::bigint AS "pending_cents!",
                  coalesce(u.approved, 0)::bigint AS "approved_cents!", coalesce(x.paid, 0)::bigint AS "paid_cents!",
                  coalesce((SELECT d.debt_cents FROM partner_program_debts d
                            WHERE d.partner_program_id = m.id AND d.currency = b.currency), 0) AS "debt_cents!"
           FROM partners p JOIN partner_programs m ON m.partner_id = p.id JOIN programs g ON g.id = m.program_id
           JOIN partner_program_owed b ON b.partner_program_id = m.id
           CROSS JOIN LATERAL (
             SELECT sum(c.amount_cents - c.deducted_cents) AS unpaid,
                    coalesce(sum(c.amount_cents - c.deducted_cents) FILTER (WHERE can_be_paid(c, g.needs_approval, $2)), 0)
                        AS approved
             FROM commissions c
             WHERE c.partner_program_id = m.id AND c.currency = b.currency AND c.paid_at IS NULL
               AND c.status <> 'reversed') u
           CROSS JOIN LATERAL (
             SELECT -sum(l.amount_cents) AS paid FROM ledger_entries l
             WHERE l.partner_program_id = m.id AND l.currency = b.currency AND l.kind = 'payout') x
           WHERE p.user_id = $1
           ORDER BY m.id, b.currency OFFSET $3 LIMIT $4"#,
        user_id.get(),
        now,
        window.offset,
        window.limit,
    );
    let total = fetch_scalar!(
        connection,
        r#"SELECT count(*) AS "count!" FROM partners p JOIN partner_programs m ON m.partner_id = p.id
           JOIN partner_program_balances b ON b.partner_program_id = m.id WHERE p.user_id = $1"#,
        user_id.get(),
    );
    Ok((rows, total))
}

/// The amount of a membership's commissions, in one currency, that becomes payable on one day.
#[derive(Debug)]
pub struct PartnerDue {
    pub partner_program_id: i64,
    pub currency: String,
    /// The UTC day on which the hold ends, today at the earliest; `None` for an approval by hand.
    pub day: Option<NaiveDate>,
    pub cents: i64,
}

/// Pending amounts by membership, currency and day, earliest first; those that need approval come last.
pub async fn dues(
    connection: &mut PgConnection,
    memberships: &[i64],
    now: DateTime<Utc>,
) -> StorageResult<Vec<PartnerDue>> {
    // During its hold a flagged commission looks like any other, because partners must not learn of signals.
    Ok(fetch_all!(
        connection,
        PartnerDue,
        r#"SELECT c.partner_program_id, c.currency,
                  CASE WHEN g.needs_approval <> 'all' AND (c.hold_until > $2 OR hold_ended(c, g.needs_approval, $2))
                       THEN (greatest(c.hold_until, $2) AT TIME ZONE 'UTC')::date END AS "day?",
                  sum(c.amount_cents - c.deducted_cents)::bigint AS "cents!"
           FROM commissions c JOIN programs g ON g.id = c.program_id
           WHERE c.partner_program_id = ANY($1) AND c.paid_at IS NULL AND c.status IN ('pending', 'refunded')
             AND c.amount_cents > c.deducted_cents AND NOT can_be_paid(c, g.needs_approval, $2)
           GROUP BY 1, 2, 3 ORDER BY 1, 2, 3"#,
        memberships,
        now,
    ))
}
