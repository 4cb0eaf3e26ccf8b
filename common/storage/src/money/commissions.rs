//! `commissions`.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use sqlx::{PgConnection, PgPool};

use crate::batch::array_literal;
use crate::error::{StorageError, StorageResult, expect_rows};
use crate::outbound::outbound_commissions;
use crate::reads::cohorts::Counted;
use domain::earnings::commission::{CommissionStatus, Policy, Rate};
use domain::ids::{
    CommissionId, CustomerId, EventId, PartnerId, PartnerProgramId, ProgramId, ReferralLinkId, SaleId,
};
use domain::money::{Cents, Currency};
use domain::programs::outbound_event::OutboundEventType;
use domain::tracking::sale::Credit;
use domain::tracking::signal::Signal;
use messages::outbound_event::OutboundEvent;

#[derive(Debug)]
pub struct NewCommission<'a> {
    pub sale_id: SaleId,
    pub program_id: ProgramId,
    pub customer_id: CustomerId,
    pub credit: Credit,
    pub currency: Currency,
    /// Copied into the row, so that later versions of the policy do not change it.
    pub policy: &'a Policy,
    pub signals: Vec<Signal>,
    pub hold_until: DateTime<Utc>,
    pub created_at: DateTime<Utc>,
}

impl NewCommission<'_> {
    pub fn counted(&self) -> Counted {
        Counted {
            program_id: self.program_id,
            customer_id: self.customer_id,
            referral_link_id: Some(self.credit.referral_link_id),
            day: self.created_at.date_naive(),
            currency: self.currency,
        }
    }
}

/// Inserts commissions and returns their ids in the order given; ids ascend in that order.
pub async fn insert(
    connection: &mut PgConnection,
    commissions: &[NewCommission<'_>],
) -> StorageResult<Vec<CommissionId>> {
    if commissions.is_empty() {
        return Ok(Vec::new());
    }
    let rows = unnest!(
        query,
        r#"INSERT INTO commissions (sale_id, program_id, customer_id, partner_program_id, partner_id,
             referral_link_id, amount_cents, currency, policy_id, commission_type, default_duration_months,
             rate_bps, fixed_cents, hold_until, created_at, signals)
         SELECT sale_id, program_id, customer_id, partner_program_id, partner_id, link_id, amount, currency,
                policy_id, commission_type, months, rate, fixed, hold_until, created_at, signals::text[]
         FROM UNNEST($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[],
                     $7::bigint[], $8::text[], $9::bigint[], $10::text[], $11::int[], $12::int[], $13::bigint[],
                     $14::timestamptz[], $15::timestamptz[], $16::text[]) WITH ORDINALITY
              AS c (sale_id, program_id, customer_id, partner_program_id, partner_id, link_id, amount, currency,
                    policy_id, commission_type, months, rate, fixed, hold_until, created_at, signals, position)
         ORDER BY position
         RETURNING id, sale_id AS "sale_id!", partner_program_id"#,
        new in commissions =>
            sales: i64 = new.sale_id.get(),
            programs: i64 = new.program_id.get(),
            customers: i64 = new.customer_id.get(),
            memberships: i64 = new.credit.partner_program_id.get(),
            partners: i64 = new.credit.partner_id.get(),
            links: i64 = new.credit.referral_link_id.get(),
            amounts: i64 = new.credit.amount.get(),
            currencies: &str = new.currency.as_str(),
            policies: i64 = new.policy.id.get(),
            types: &str = new.policy.commission_type.as_str(),
            months: Option<i32> = new.policy.commission_type.default_duration_months(),
            rates: Option<i32> = rate_columns(&new.policy.rate).0,
            fixed: Option<i64> = rate_columns(&new.policy.rate).1,
            holds: DateTime<Utc> = new.hold_until,
            created_at: DateTime<Utc> = new.created_at,
            signals: String = array_literal(new.signals.iter().map(|signal| signal.as_str()))
    )
    .fetch_all(connection)
    .await?;
    let by_share: HashMap<(i64, i64), i64> = rows
        .into_iter()
        .map(|row| ((row.sale_id, row.partner_program_id), row.id))
        .collect();
    commissions
        .iter()
        .map(|new| {
            let share = (new.sale_id.get(), new.credit.partner_program_id.get());
            by_share
                .get(&share)
                .copied()
                .map(CommissionId::new)
                .ok_or(StorageError::RowsAffected {
                    table: "commissions",
                    expected: commissions.len() as u64,
                    actual: by_share.len() as u64,
                })
        })
        .collect()
}

/// Adds a signal to the commissions of these customers' sales, searched from each one's first purchase.
pub async fn flag(
    connection: &mut PgConnection,
    customers: &[(CustomerId, ProgramId, DateTime<Utc>)],
    signal: Signal,
) -> StorageResult<()> {
    write_batch!(
        connection,
        "UPDATE commissions SET signals = array_append(signals, $4)
         WHERE id IN (SELECT c.id
                      FROM UNNEST($1::bigint[], $2::bigint[], $3::timestamptz[]) AS n (customer_id, program_id, since)
                      JOIN sale_events s ON s.program_id = n.program_id AND s.sale_date >= n.since
                                        AND s.customer_id = n.customer_id AND NOT s.is_test
                      JOIN commissions c ON c.sale_id = s.id
                      WHERE $4 <> ALL (c.signals)
                      ORDER BY c.id FOR UPDATE OF c)",
        (customer, program, first_purchase) in customers =>
            ids: i64 = customer.get(),
            programs: i64 = program.get(),
            since: DateTime<Utc> = *first_purchase;
            signal.as_str()
    );
    Ok(())
}

#[derive(Debug, Clone)]
pub struct LockedCommission {
    pub commission_id: CommissionId,
    pub sale_id: SaleId,
    pub program_id: ProgramId,
    pub customer_id: CustomerId,
    pub partner_program_id: PartnerProgramId,
    pub partner_id: PartnerId,
    pub referral_link_id: ReferralLinkId,
    pub created_at: DateTime<Utc>,
    pub currency: Currency,
    pub amount: Cents,
    /// The part of the amount that was added or subtracted by hand.
    pub adjusted: Cents,
    pub deducted: Cents,
    pub status: CommissionStatus,
    pub paid_out: bool,
}

pub async fn lock_of_sales(
    connection: &mut PgConnection,
    sales: &[i64],
) -> StorageResult<Vec<LockedCommission>> {
    Ok(fetch_all!(
        connection,
        LockedCommission,
        r#"SELECT id AS commission_id, sale_id AS "sale_id!", program_id, customer_id AS "customer_id!", partner_program_id,
                  partner_id, referral_link_id AS "referral_link_id!", created_at, currency AS "currency: _",
                  amount_cents AS "amount: _", adjusted_cents AS "adjusted: _", deducted_cents AS "deducted: _",
                  status AS "status: _", paid_at IS NOT NULL AS "paid_out!"
           FROM commissions WHERE sale_id = ANY($1) AND superseded_at IS NULL ORDER BY id FOR UPDATE"#,
        sales,
    ))
}

impl LockedCommission {
    /// The amount earned, before changes by hand.
    pub fn earned(&self) -> Cents {
        self.amount.saturating_sub(self.adjusted)
    }

    pub fn counted(&self) -> Counted {
        Counted {
            program_id: self.program_id,
            customer_id: self.customer_id,
            referral_link_id: Some(self.referral_link_id),
            day: self.created_at.date_naive(),
            currency: self.currency,
        }
    }
}

#[derive(Debug)]
pub struct RefundedCommission<'a> {
    pub commission_id: CommissionId,
    /// Total deducted so far.
    pub deducted: Cents,
    pub status: CommissionStatus,
    pub refund_reason: Option<&'a str>,
}

/// Writes the effect of refunds on locked commissions. A refund without a reason keeps the stored one.
pub async fn save_refunded(
    connection: &mut PgConnection,
    commissions: &[RefundedCommission<'_>],
) -> StorageResult<()> {
    let updated = write_batch!(
        connection,
        "UPDATE commissions c
         SET deducted_cents = n.deducted, status = n.status, refund_reason = coalesce(n.reason, c.refund_reason)
         FROM UNNEST($1::bigint[], $2::bigint[], $3::text[], $4::text[]) AS n (id, deducted, status, reason)
         WHERE c.id = n.id",
        refunded in commissions =>
            ids: i64 = refunded.commission_id.get(),
            deducted: i64 = refunded.deducted.get(),
            statuses: &str = refunded.status.as_str(),
            reasons: Option<&str> = refunded.refund_reason
    );
    expect_rows("commissions", commissions.len(), updated)
}

/// Approves locked commissions. A commission that a refund has deducted from stays `refunded`.
pub async fn approve(connection: &mut PgConnection, ids: &[i64], now: DateTime<Utc>) -> StorageResult<()> {
    let updated = execute!(
        connection,
        "UPDATE commissions SET status = CASE status WHEN 'pending' THEN 'approved' ELSE status END, approved_at = $2
         WHERE id = ANY($1)",
        ids,
        now,
    );
    expect_rows("commissions", ids.len(), updated)
}

/// Extends the hold of locked commissions until a moment. A hold period that ends later stays.
pub async fn hold(connection: &mut PgConnection, ids: &[i64], until: DateTime<Utc>) -> StorageResult<()> {
    let updated = execute!(
        connection,
        "UPDATE commissions SET hold_until = greatest(hold_until, $2) WHERE id = ANY($1)",
        ids,
        until,
    );
    expect_rows("commissions", ids.len(), updated)
}

/// Approves pending commissions whose hold period is over at `now` and that need no approval by hand. Returns
/// how many. Bounded; skips commissions that a refund has locked, which the next round finds.
pub async fn approve_held(
    pool: &PgPool,
    now: DateTime<Utc>,
    limit: i64,
    new_event_id: impl Fn() -> EventId,
) -> StorageResult<u64> {
    let mut transaction = pool.begin().await?;
    // Program by program, to skip programs that approve everything by hand: they may have any number of due
    // commissions.
    let approved = fetch_one!(
        &mut *transaction,
        r#"WITH approved AS (
               UPDATE commissions SET status = 'approved', approved_at = $1
               WHERE id IN (SELECT due.id
                            FROM programs p
                            CROSS JOIN LATERAL (
                                SELECT c.id FROM commissions c
                                WHERE c.program_id = p.id AND c.status = 'pending' AND c.hold_until <= $1
                                  AND hold_ended(c, p.needs_approval, $1)
                                ORDER BY c.hold_until LIMIT $2 FOR UPDATE OF c SKIP LOCKED) due
                            WHERE p.needs_approval <> 'all'
                            LIMIT $2)
               RETURNING id, program_id
           )
           SELECT count(*) AS "count!", array_agg(a.id) FILTER (WHERE p.wanted_events & $3 <> 0) AS wanted
           FROM approved a JOIN programs p ON p.id = a.program_id"#,
        now,
        limit,
        OutboundEventType::CommissionApproved.bit(),
    );
    let wanted = approved.wanted.unwrap_or_default();
    let event = OutboundEvent::CommissionApproved;
    outbound_commissions::add_events(&mut transaction, &wanted, now, new_event_id, event).await?;
    transaction.commit().await?;
    Ok(approved.count.unsigned_abs())
}

pub(crate) fn rate_columns(rate: &Rate) -> (Option<i32>, Option<i64>) {
    match rate {
        Rate::Percentage(bps) => (i32::try_from(bps.get()).ok(), None),
        Rate::Fixed { amount, .. } => (None, Some(amount.get())),
    }
}
