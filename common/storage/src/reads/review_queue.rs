//! Commissions that wait for a person: they have a signal, and are neither approved, nor paid, nor payable. A
//! partly refunded commission becomes payable at the end of its hold without an approval, unless the program
//! requires one, and leaves the queue. Served by the partial index `commissions_in_review`, whose condition
//! the queries repeat word for word.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::error::StorageResult;
use crate::page::{Whole, Window, page};
use domain::ids::{PartnerProgramId, ProgramId};
use domain::sorting::{FlaggedColumn, Sorting};
use domain::tracking::signal::Signal;

#[derive(Debug)]
pub struct FlaggedCommission {
    pub id: i64,
    pub sale_id: Option<i64>,
    pub transaction_id: Option<String>,
    pub sale_amount_cents: Option<i64>,
    pub sale_currency: Option<String>,
    pub customer_id: Option<i64>,
    /// `None` for a customer without a key, and for an erased customer.
    pub customer_key: Option<String>,
    pub partner_program_id: i64,
    pub partner_id: i64,
    /// `None` when the partner's record was removed.
    pub partner_name: Option<String>,
    pub amount_cents: i64,
    pub deducted_cents: i64,
    pub currency: String,
    pub status: String,
    /// The end of the hold period approves the commission, unless the program requires approval by hand.
    pub approves_itself: bool,
    pub hold_until: DateTime<Utc>,
    pub created_at: DateTime<Utc>,
    /// Names of signals.
    pub signals: Vec<String>,
}

#[derive(Debug, Clone, Copy, Default)]
pub struct Filter<'a> {
    pub membership: Option<PartnerProgramId>,
    /// Any of these; empty means no filter.
    pub signals: &'a [Signal],
}

/// Oldest first unless sorted: the oldest are the next to be approved automatically.
pub async fn page(
    connection: &mut PgConnection,
    program_id: ProgramId,
    filter: Filter<'_>,
    sorting: Option<Sorting<FlaggedColumn>>,
    now: DateTime<Utc>,
    window: Window,
) -> StorageResult<(Vec<FlaggedCommission>, Whole)> {
    let membership = filter.membership.map(PartnerProgramId::get);
    let names: Vec<&str> = filter.signals.iter().map(|signal| signal.as_str()).collect();
    let names = (!names.is_empty()).then_some(names.as_slice());
    Ok(page!(
        connection,
        window,
        FlaggedCommission,
        select r#"SELECT c.id, s.id AS "sale_id?", s.processor_event_id AS "transaction_id?", s.amount_cents AS "sale_amount_cents?",
                  s.currency AS "sale_currency?", k.id AS "customer_id?", k.customer_key AS "customer_key?", c.partner_program_id,
                  c.partner_id, p.name AS "partner_name?", c.amount_cents, c.deducted_cents, c.currency, c.status,
                  o.needs_approval = 'none' AS "approves_itself!", c.hold_until, c.created_at, c.signals
           FROM commissions c JOIN programs o ON o.id = c.program_id
           LEFT JOIN sale_events s ON s.id = coalesce(c.sale_id, c.for_sale_id)
           LEFT JOIN customers k ON k.id = c.customer_id
           LEFT JOIN partners p ON p.id = c.partner_id"#,
        of "WHERE c.program_id = $1 AND c.signals <> '{}' AND c.approved_at IS NULL AND c.paid_at IS NULL
              AND c.status IN ('pending', 'refunded') AND (c.status = 'pending' OR c.amount_cents > c.deducted_cents)
              AND ($2::bigint IS NULL OR c.partner_program_id = $2) AND ($3::text[] IS NULL OR c.signals && $3)
              AND NOT can_be_paid(c, o.needs_approval, $4) AND c.id <= $5",
        order "c.id",
        or by sorting: "CASE $8::text WHEN 'payable' THEN c.currency END,
         CASE $8 WHEN 'payable' THEN (c.amount_cents - c.deducted_cents)::numeric WHEN 'hold_until' THEN extract(epoch FROM c.hold_until)
         END * $9::integer, c.id",
        part "OFFSET $6 LIMIT $7",
        whole r#"SELECT count(*) AS "count!", max(c.id) AS up_to FROM commissions c JOIN programs o ON o.id = c.program_id"#,
        program_id.get(),
        membership,
        names as Option<&[&str]>,
        now,
    ))
}
