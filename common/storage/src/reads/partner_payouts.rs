//! Payouts as one partner received them, from the ledger's `payout` entries.
//!
//! Which payouts a membership has part in, the index of its commissions by payout tells: each step finds the next one. Only those of the
//! page are added up.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::error::StorageResult;
use crate::money::payouts::{PartnerShare, StoredPayout};
use crate::page::{Whole, Window, page};
use domain::ids::{PartnerProgramId, PayoutId, ProgramId, UserId};

/// What a partner's account received by one payout. Cents of `currency`.
#[derive(Debug)]
pub struct PartnerPayout {
    pub id: i64,
    pub program_id: i64,
    pub program_name: String,
    pub currency: String,
    pub commission_count: i64,
    /// What was left of the commissions.
    pub requested_cents: i64,
    /// What of it settled a debt.
    pub shortfall_cents: i64,
    /// What was received.
    pub amount_cents: i64,
    pub created_at: DateTime<Utc>,
}

/// Those of all programs of an account, newest first, and how many there are.
pub async fn received(
    connection: &mut PgConnection,
    user_id: UserId,
    window: Window,
) -> StorageResult<(Vec<PartnerPayout>, Whole)> {
    Ok(page!(
        connection,
        window,
        PartnerPayout,
        r#"WITH RECURSIVE memberships AS MATERIALIZED (
               SELECT m.id FROM partners p JOIN partner_programs m ON m.partner_id = p.id WHERE p.user_id = $1
           ), paid AS (
               SELECT m.id, (SELECT max(c.payout_id) FROM commissions c
                             WHERE c.partner_program_id = m.id AND c.payout_id <= $2) AS payout_id
               FROM memberships m
               UNION ALL
               SELECT paid.id, (SELECT max(c.payout_id) FROM commissions c
                                WHERE c.partner_program_id = paid.id AND c.payout_id < paid.payout_id)
               FROM paid WHERE paid.payout_id IS NOT NULL
           ), newest AS (
               SELECT DISTINCT payout_id FROM paid WHERE payout_id IS NOT NULL ORDER BY payout_id DESC OFFSET $3 LIMIT $4
           )
           SELECT o.id AS "id!", g.id AS "program_id!", g.name AS "program_name!", o.currency AS "currency!",
                  s.commissions AS "commission_count!", s.requested AS "requested_cents!", s.shortfall AS "shortfall_cents!",
                  s.amount AS "amount_cents!", o.created_at AS "created_at!"
           FROM newest n JOIN payouts o ON o.id = n.payout_id JOIN programs g ON g.id = o.program_id
           CROSS JOIN LATERAL (
               SELECT count(*) AS commissions, coalesce(sum(l.requested_cents), 0)::bigint AS requested,
                      coalesce(sum(l.shortfall_cents), 0)::bigint AS shortfall, -coalesce(sum(l.amount_cents), 0)::bigint AS amount
               FROM commissions c JOIN ledger_entries l ON l.commission_id = c.id AND l.kind = 'payout' AND l.account = 'partner'
               WHERE c.payout_id = o.id AND c.partner_program_id = ANY(ARRAY(SELECT id FROM memberships))) s
           ORDER BY o.id DESC"#,
        r#"WITH RECURSIVE paid AS (
               SELECT m.id, (SELECT max(c.payout_id) FROM commissions c
                             WHERE c.partner_program_id = m.id AND c.payout_id <= $2) AS payout_id
               FROM partners p JOIN partner_programs m ON m.partner_id = p.id WHERE p.user_id = $1
               UNION ALL
               SELECT paid.id, (SELECT max(c.payout_id) FROM commissions c
                                WHERE c.partner_program_id = paid.id AND c.payout_id < paid.payout_id)
               FROM paid WHERE paid.payout_id IS NOT NULL
           )
           SELECT count(DISTINCT payout_id) AS "count!", max(payout_id) AS up_to FROM paid"#,
        user_id.get(),
    ))
}

/// `None` when nothing of the payout is theirs.
pub async fn find_received(
    connection: &mut PgConnection,
    user_id: UserId,
    payout_id: PayoutId,
) -> StorageResult<Option<PartnerPayout>> {
    let payout = sqlx::query_as!(
        PartnerPayout,
        r#"SELECT o.id AS "id!", g.id AS "program_id!", g.name AS "program_name!", o.currency AS "currency!",
                  count(*) AS "commission_count!", sum(l.requested_cents)::bigint AS "requested_cents!",
                  sum(l.shortfall_cents)::bigint AS "shortfall_cents!", -sum(l.amount_cents)::bigint AS "amount_cents!",
                  o.created_at AS "created_at!"
           FROM payouts o JOIN programs g ON g.id = o.program_id
           JOIN commissions c ON c.payout_id = o.id
           JOIN ledger_entries l ON l.commission_id = c.id AND l.kind = 'payout' AND l.account = 'partner'
           WHERE o.id = $2 AND c.partner_program_id = ANY(ARRAY(
               SELECT m.id FROM partners p JOIN partner_programs m ON m.partner_id = p.id WHERE p.user_id = $1))
           GROUP BY o.id, g.id"#,
        user_id.get(),
        payout_id.get(),
    )
    .fetch_optional(connection)
    .await?;
    Ok(payout)
}

/// A commission, as a payout paid it.
#[derive(Debug)]
pub struct ReceivedCommission {
    pub id: i64,
    pub requested_cents: i64,
    pub shortfall_cents: i64,
    pub amount_cents: i64,
    /// Of one that was added by hand.
    pub note: Option<String>,
    pub created_at: DateTime<Utc>,
}

/// Those of a payout that are theirs, oldest first: not more than one payout pays.
pub async fn received_commissions(
    connection: &mut PgConnection,
    user_id: UserId,
    payout_id: PayoutId,
) -> StorageResult<Vec<ReceivedCommission>> {
    let commissions = sqlx::query_as!(
        ReceivedCommission,
        r#"SELECT c.id, l.requested_cents, l.shortfall_cents, -l.amount_cents AS "amount_cents!", c.note, c.created_at
           FROM commissions c
           JOIN ledger_entries l ON l.commission_id = c.id AND l.kind = 'payout' AND l.account = 'partner'
           WHERE c.payout_id = $2 AND c.partner_program_id = ANY(ARRAY(
               SELECT m.id FROM partners p JOIN partner_programs m ON m.partner_id = p.id WHERE p.user_id = $1))
           ORDER BY c.id"#,
        user_id.get(),
        payout_id.get(),
    )
    .fetch_all(connection)
    .await?;
    Ok(commissions)
}

/// A payout, and one partner's part of it.
#[derive(Debug)]
pub struct SharedPayout {
    pub payout: StoredPayout,
    pub share: PartnerShare,
}

struct SharedRow {
    id: i64,
    currency: String,
    amount_cents: i64,
    commission_count: i32,
    reference: Option<String>,
    created_at: DateTime<Utc>,
    partner_program_id: i64,
    partner_id: i64,
    partner_name: Option<String>,
    share_commissions: i64,
    share_requested: i64,
    share_shortfall: i64,
    share_amount: i64,
}

impl From<SharedRow> for SharedPayout {
    fn from(row: SharedRow) -> Self {
        Self {
            payout: StoredPayout {
                id: row.id,
                currency: row.currency,
                amount_cents: row.amount_cents,
                commission_count: row.commission_count,
                reference: row.reference,
                created_at: row.created_at,
            },
            share: PartnerShare {
                partner_program_id: row.partner_program_id,
                partner_id: row.partner_id,
                partner_name: row.partner_name,
                commission_count: row.share_commissions,
                amount_cents: row.share_amount,
                requested_cents: row.share_requested,
                shortfall_cents: row.share_shortfall,
            },
        }
    }
}

/// A program's payouts that one membership has part in, newest first, and how many there are. None for another program's membership.
pub async fn of_membership(
    connection: &mut PgConnection,
    program_id: ProgramId,
    membership: PartnerProgramId,
    window: Window,
) -> StorageResult<(Vec<SharedPayout>, Whole)> {
    let (rows, whole) = page!(
        connection,
        window,
        SharedRow,
        r#"WITH RECURSIVE paid AS (
               SELECT m.id, (SELECT max(c.payout_id) FROM commissions c
                             WHERE c.partner_program_id = m.id AND c.payout_id <= $3) AS payout_id
               FROM partner_programs m WHERE m.id = $2 AND m.program_id = $1
               UNION ALL
               SELECT paid.id, (SELECT max(c.payout_id) FROM commissions c
                                WHERE c.partner_program_id = paid.id AND c.payout_id < paid.payout_id)
               FROM paid WHERE paid.payout_id IS NOT NULL
           ), newest AS (
               SELECT payout_id FROM paid WHERE payout_id IS NOT NULL ORDER BY payout_id DESC OFFSET $4 LIMIT $5
           )
           SELECT o.id AS "id!", o.currency AS "currency!", o.amount_cents AS "amount_cents!",
                  o.commission_count AS "commission_count!", o.reference AS "reference?", o.created_at AS "created_at!",
                  s.partner_program_id AS "partner_program_id!", s.partner_id AS "partner_id!", r.name AS "partner_name?",
                  s.commissions AS "share_commissions!", s.requested AS "share_requested!", s.shortfall AS "share_shortfall!",
                  s.amount AS "share_amount!"
           FROM newest n JOIN payouts o ON o.id = n.payout_id
           CROSS JOIN LATERAL (
               SELECT c.partner_program_id, c.partner_id, count(*) AS commissions, sum(l.requested_cents)::bigint AS requested,
                      sum(l.shortfall_cents)::bigint AS shortfall, -sum(l.amount_cents)::bigint AS amount
               FROM commissions c JOIN ledger_entries l ON l.commission_id = c.id AND l.kind = 'payout' AND l.account = 'partner'
               WHERE c.payout_id = o.id AND c.partner_program_id = $2
               GROUP BY 1, 2) s
           LEFT JOIN partners r ON r.id = s.partner_id
           ORDER BY o.id DESC"#,
        r#"WITH RECURSIVE paid AS (
               SELECT m.id, (SELECT max(c.payout_id) FROM commissions c
                             WHERE c.partner_program_id = m.id AND c.payout_id <= $3) AS payout_id
               FROM partner_programs m WHERE m.id = $2 AND m.program_id = $1
               UNION ALL
               SELECT paid.id, (SELECT max(c.payout_id) FROM commissions c
                                WHERE c.partner_program_id = paid.id AND c.payout_id < paid.payout_id)
               FROM paid WHERE paid.payout_id IS NOT NULL
           )
           SELECT count(payout_id) AS "count!", max(payout_id) AS up_to FROM paid"#,
        program_id.get(),
        membership.get(),
    );
    Ok((rows.into_iter().map(Into::into).collect(), whole))
}
