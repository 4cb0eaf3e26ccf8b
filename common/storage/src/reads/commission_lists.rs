//! Lists of commissions for advertisers: a page, or all of them in order, in pieces.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::error::StorageResult;
use crate::page::{Whole, Window, page};
use domain::earnings::commission::CommissionStatus;
use domain::ids::{PartnerProgramId, PayoutId, ProgramId};
use domain::sorting::{CommissionColumn, Sorting};
use domain::text::Label;
use domain::tracking::signal::Signal;

#[derive(Debug)]
pub struct ListedCommission {
    pub id: i64,
    /// `None`, like all fields of the sale, for a commission added by hand that makes up for no sale.
    pub sale_id: Option<i64>,
    pub transaction_id: Option<String>,
    pub sale_amount_cents: Option<i64>,
    /// The part of the amount on which percentages are computed.
    pub commissionable_cents: Option<i64>,
    pub sale_currency: Option<String>,
    pub partner_program_id: i64,
    pub partner_id: i64,
    /// `None` when the partner's record was removed.
    pub partner_name: Option<String>,
    pub amount_cents: i64,
    pub deducted_cents: i64,
    pub currency: String,
    pub status: String,
    pub refund_reason: Option<String>,
    pub adjusted_cents: i64,
    pub rejection_reason: Option<String>,
    /// The advertiser's note on a commission that was added by hand.
    pub note: Option<String>,
    pub hold_until: DateTime<Utc>,
    pub approved_at: Option<DateTime<Utc>>,
    pub paid_at: Option<DateTime<Utc>>,
    pub payout_id: Option<i64>,
    /// The amount that the payout moved, and the amount that it held back for a debt.
    pub paid_cents: Option<i64>,
    pub shortfall_cents: Option<i64>,
    pub created_at: DateTime<Utc>,
    /// Names of signals.
    pub signals: Vec<String>,
}

#[derive(Debug, Default)]
pub struct Wanted<'a> {
    pub status: Option<CommissionStatus>,
    /// Whether the commission was paid, whatever its status is now.
    pub paid: Option<bool>,
    pub payout_id: Option<PayoutId>,
    pub partner_program_id: Option<PartnerProgramId>,
    /// Any of these; empty means no filter.
    pub signals: &'static [Signal],
    /// Of the sale with this transaction_id.
    pub transaction: Option<&'a Label>,
}

#[derive(Debug, Clone)]
pub struct Filter {
    status: Option<&'static str>,
    paid: Option<bool>,
    payout: Option<i64>,
    signals: Option<Vec<&'static str>>,
    membership: Option<i64>,
    /// The membership's partner, for the index by partner. Without it the query uses the program's index.
    partner: Option<i64>,
    ids: Option<Vec<i64>>,
}

impl Filter {
    /// `None` when the membership belongs to another program: nothing matches.
    pub async fn resolve(
        connection: &mut PgConnection,
        program_id: ProgramId,
        wanted: &Wanted<'_>,
    ) -> StorageResult<Option<Self>> {
        let partner = match wanted.partner_program_id {
            None => None,
            Some(membership) => {
                let found = fetch_optional_scalar!(
                    &mut *connection,
                    "SELECT partner_id FROM partner_programs WHERE id = $1 AND program_id = $2",
                    membership.get(),
                    program_id.get(),
                );
                match found {
                    None => return Ok(None),
                    Some(partner_id) => partner_id,
                }
            }
        };
        let ids = match wanted.transaction {
            None => None,
            Some(transaction) => Some(of_transaction(connection, program_id, transaction).await?),
        };
        let signals: Vec<&str> = wanted.signals.iter().map(|signal| signal.as_str()).collect();
        Ok(Some(Self {
            status: wanted.status.map(CommissionStatus::as_str),
            paid: wanted.paid,
            payout: wanted.payout_id.map(PayoutId::get),
            signals: (!signals.is_empty()).then_some(signals),
            membership: wanted.partner_program_id.map(PartnerProgramId::get),
            partner,
            ids,
        }))
    }
}

/// The commissions of a sale, and those that were added by hand for it.
async fn of_transaction(
    connection: &mut PgConnection,
    program_id: ProgramId,
    transaction: &Label,
) -> StorageResult<Vec<i64>> {
    Ok(fetch_scalars!(
        connection,
        r#"SELECT c.id AS "id!"
           FROM (SELECT coalesce(duplicate_of, id) AS id FROM sale_events
                 WHERE processor_event_id = $2 AND NOT is_test AND program_id = $1) s
           CROSS JOIN LATERAL (
               SELECT id FROM commissions WHERE sale_id = s.id
               UNION ALL
               SELECT id FROM commissions WHERE for_sale_id = s.id AND for_sale_id IS NOT NULL AND rejected_at IS NULL) c"#,
        program_id.get(),
        transaction.as_str(),
    ))
}

/// A page of commissions, newest first unless sorted, and the total number. The count reads the program's
/// part of an index, so its cost grows with the program. A sort reads all matches.
pub async fn page(
    connection: &mut PgConnection,
    program_id: ProgramId,
    filter: &Filter,
    sorting: Option<Sorting<CommissionColumn>>,
    window: Window,
) -> StorageResult<(Vec<ListedCommission>, Whole)> {
    Ok(page!(
        connection,
        window,
        ListedCommission,
        select r#"SELECT c.id AS "id!", s.id AS "sale_id?", s.processor_event_id AS "transaction_id?",
                  c.partner_program_id AS "partner_program_id!", c.partner_id AS "partner_id!", p.name AS "partner_name?",
                  c.amount_cents AS "amount_cents!", c.deducted_cents AS "deducted_cents!", c.currency AS "currency!",
                  c.status AS "status!", c.refund_reason, c.hold_until AS "hold_until!", c.approved_at, c.paid_at, c.payout_id,
                  c.created_at AS "created_at!", c.signals AS "signals!", c.adjusted_cents AS "adjusted_cents!",
                  c.rejection_reason, c.note, s.amount_cents AS "sale_amount_cents?",
                  coalesce(s.commissionable_cents, s.amount_cents) AS commissionable_cents,
                  s.currency AS "sale_currency?", -l.amount_cents AS paid_cents, l.shortfall_cents AS "shortfall_cents?"
           FROM (SELECT c.* FROM commissions c LEFT JOIN partners p ON p.id = c.partner_id"#,
        of "WHERE c.program_id = $1 AND ($2::text IS NULL OR c.status = $2)
              AND ($3::bigint IS NULL OR c.partner_program_id = $3) AND ($4::bigint IS NULL OR c.partner_id = $4)
              AND ($5::text[] IS NULL OR c.signals && $5) AND ($6::bigint[] IS NULL OR c.id = ANY($6))
              AND ($7::boolean IS NULL OR (c.paid_at IS NOT NULL) = $7) AND ($8::bigint IS NULL OR c.payout_id = $8) AND c.id <= $9",
        order "c.id DESC",
        or by sorting: "CASE $12::text WHEN 'amount' THEN c.currency END,
         CASE $12 WHEN 'amount' THEN c.amount_cents::numeric WHEN 'hold_until' THEN extract(epoch FROM c.hold_until) END * $13::integer,
         CASE WHEN $12 = 'partner' AND $13 > 0 THEN folded(p.name) END COLLATE \"und-x-icu\",
         CASE WHEN $12 = 'partner' AND $13 < 0 THEN folded(p.name) END COLLATE \"und-x-icu\" DESC NULLS LAST,
         c.id DESC",
        part "OFFSET $10 LIMIT $11",
        then r#") c
           LEFT JOIN sale_events s ON s.id = coalesce(c.sale_id, c.for_sale_id)
           LEFT JOIN ledger_entries l ON l.commission_id = c.id AND l.kind = 'payout'
           LEFT JOIN partners p ON p.id = c.partner_id"#,
        whole r#"SELECT count(*) AS "count!", max(id) AS up_to FROM commissions c"#,
        program_id.get(),
        filter.status,
        filter.membership,
        filter.partner,
        filter.signals.as_deref() as Option<&[&str]>,
        filter.ids.as_deref() as Option<&[i64]>,
        filter.paid,
        filter.payout,
    ))
}

/// The next `limit` commissions after `after`, oldest first.
pub async fn following(
    connection: &mut PgConnection,
    program_id: ProgramId,
    filter: &Filter,
    after: i64,
    limit: i64,
) -> StorageResult<Vec<ListedCommission>> {
    Ok(fetch_all!(
        connection,
        ListedCommission,
        r#"SELECT c.id, s.id AS "sale_id?", s.processor_event_id AS "transaction_id?", c.partner_program_id, c.partner_id,
                  p.name AS "partner_name?", c.amount_cents, c.deducted_cents, c.currency, c.status, c.refund_reason,
                  c.hold_until, c.approved_at, c.paid_at, c.payout_id, c.created_at, c.signals, c.adjusted_cents,
                  c.rejection_reason, c.note, s.amount_cents AS "sale_amount_cents?",
                  coalesce(s.commissionable_cents, s.amount_cents) AS commissionable_cents,
                  s.currency AS "sale_currency?", -l.amount_cents AS paid_cents, l.shortfall_cents AS "shortfall_cents?"
           FROM commissions c LEFT JOIN sale_events s ON s.id = coalesce(c.sale_id, c.for_sale_id)
           LEFT JOIN ledger_entries l ON l.commission_id = c.id AND l.kind = 'payout'
           LEFT JOIN partners p ON p.id = c.partner_id
           WHERE c.program_id = $1 AND c.id > $9 AND ($2::text IS NULL OR c.status = $2)
             AND ($3::bigint IS NULL OR c.partner_program_id = $3) AND ($4::bigint IS NULL OR c.partner_id = $4)
             AND ($5::text[] IS NULL OR c.signals && $5) AND ($6::bigint[] IS NULL OR c.id = ANY($6))
             AND ($7::boolean IS NULL OR (c.paid_at IS NOT NULL) = $7) AND ($8::bigint IS NULL OR c.payout_id = $8)
           ORDER BY c.id LIMIT $10"#,
        program_id.get(),
        filter.status,
        filter.membership,
        filter.partner,
        filter.signals.as_deref() as Option<&[&str]>,
        filter.ids.as_deref() as Option<&[i64]>,
        filter.paid,
        filter.payout,
        after,
        limit,
    ))
}
