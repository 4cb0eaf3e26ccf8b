//! Payouts, a page at a time: a program's payouts, or those that include some memberships, with their part
//! from the ledger's `payout` entries.
//!
//! The index of a membership's commissions by payout finds its payouts: each step finds the next one. Parts
//! are summed for the page only, unless the order depends on them. The payouts are looked up by an array of
//! ids, because a join would read the index of all payouts.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::error::StorageResult;
use crate::money::payouts::StoredPayout;
use crate::page::{Whole, Window, page};
use domain::ids::ProgramId;
use domain::money::Currency;
use domain::name::Name;
use domain::sorting::{PayoutColumn, Sorting};

#[derive(Debug, Clone, Default)]
pub struct Filter {
    pub currency: Option<Currency>,
    /// Searched in the reference, ignoring case.
    pub text: Option<Name>,
}

impl Filter {
    fn currency(&self) -> Option<&str> {
        self.currency.as_ref().map(Currency::as_str)
    }

    fn text(&self) -> Option<&str> {
        self.text.as_ref().map(Name::as_str)
    }
}

/// A page of payouts, newest first unless sorted, and the total number.
pub async fn page(
    connection: &mut PgConnection,
    program_id: ProgramId,
    filter: &Filter,
    sorting: Option<Sorting<PayoutColumn>>,
    window: Window,
) -> StorageResult<(Vec<StoredPayout>, Whole)> {
    Ok(page!(
        connection,
        window,
        StoredPayout,
        select "SELECT id, currency, amount_cents, commission_count, reference, created_at",
        of "FROM payouts
            WHERE program_id = $1 AND ($2::text IS NULL OR currency = $2)
              AND ($3::text IS NULL OR strpos(folded(reference), folded($3)) > 0) AND id <= $4",
        order "id DESC",
        or by sorting: "CASE $7::text WHEN 'amount' THEN currency END,
         CASE $7 WHEN 'amount' THEN amount_cents::numeric WHEN 'date' THEN extract(epoch FROM created_at) END * $8::integer,
         id DESC",
        part "OFFSET $5 LIMIT $6",
        whole r#"SELECT count(*) AS "count!", max(id) AS up_to"#,
        program_id.get(),
        filter.currency(),
        filter.text(),
    ))
}

#[derive(Debug)]
pub struct PayoutPart {
    pub id: i64,
    pub program_id: i64,
    pub program_name: String,
    pub currency: String,
    /// Of the whole payout.
    pub whole_cents: i64,
    /// Of the whole payout.
    pub whole_count: i32,
    pub reference: Option<String>,
    pub created_at: DateTime<Utc>,
    pub commission_count: i64,
    /// The remainder of the commissions.
    pub requested_cents: i64,
    /// The part of it that settled a debt.
    pub shortfall_cents: i64,
    pub amount_cents: i64,
}

/// A page of payouts, newest first unless sorted, and the total number.
pub async fn parts(
    connection: &mut PgConnection,
    memberships: &[i64],
    filter: &Filter,
    sorting: Option<Sorting<PayoutColumn>>,
    window: Window,
) -> StorageResult<(Vec<PayoutPart>, Whole)> {
    Ok(page!(
        connection,
        window,
        PayoutPart,
        select r#"SELECT o.id AS "id!", o.program_id AS "program_id!", g.name AS "program_name!", o.currency AS "currency!",
                  o.amount_cents AS "whole_cents!", o.commission_count AS "whole_count!", o.reference AS "reference?",
                  o.created_at AS "created_at!", s.commissions AS "commission_count!", s.requested AS "requested_cents!",
                  s.shortfall AS "shortfall_cents!", s.amount AS "amount_cents!"
           FROM (SELECT o.*"#,
        of "FROM payouts o
            WHERE o.id = ANY(ARRAY(WITH RECURSIVE paid AS (
                SELECT m.id, (SELECT max(c.payout_id) FROM commissions c
                              WHERE c.partner_program_id = m.id AND c.payout_id <= $4) AS payout_id
                FROM unnest($1::bigint[]) m (id)
                UNION ALL
                SELECT paid.id, (SELECT max(c.payout_id) FROM commissions c
                                 WHERE c.partner_program_id = paid.id AND c.payout_id < paid.payout_id)
                FROM paid WHERE paid.payout_id IS NOT NULL
            )
            SELECT payout_id FROM paid WHERE payout_id IS NOT NULL)) AND ($2::text IS NULL OR o.currency = $2)
              AND ($3::text IS NULL OR strpos(folded(o.reference), folded($3)) > 0)",
        order "o.id DESC",
        or by sorting: "CASE $7::text WHEN 'amount' THEN o.currency END,
         CASE $7 WHEN 'amount' THEN (SELECT -sum(l.amount_cents) FROM commissions c
                                     JOIN ledger_entries l ON l.commission_id = c.id AND l.kind = 'payout'
                                     WHERE c.payout_id = o.id AND c.partner_program_id = ANY($1))
                 WHEN 'date' THEN extract(epoch FROM o.created_at) END * $8::integer,
         o.id DESC",
        part "OFFSET $5 LIMIT $6",
        then r#") o
           JOIN programs g ON g.id = o.program_id
           CROSS JOIN LATERAL (
               SELECT count(*) AS commissions, coalesce(sum(l.requested_cents), 0)::bigint AS requested,
                      coalesce(sum(l.shortfall_cents), 0)::bigint AS shortfall, -coalesce(sum(l.amount_cents), 0)::bigint AS amount
               FROM commissions c JOIN ledger_entries l ON l.commission_id = c.id AND l.kind = 'payout'
               WHERE c.payout_id = o.id AND c.partner_program_id = ANY($1)) s"#,
        whole r#"SELECT count(*) AS "count!", max(o.id) AS up_to"#,
        memberships,
        filter.currency(),
        filter.text(),
    ))
}
