//! The details of one customer of a program, for its advertiser: the customer, the commissions of their sales
//! with the reasons, and the ledger entries. The customer's events come from the program's list
//! ([`program_events`](super::program_events)).
//!
//! All queries start at the customer's id and follow ids from there.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::error::StorageResult;
use domain::ids::{CustomerId, ProgramId, SaleId};

/// Maximum number of commissions to read, latest first: years of daily renewals do not fit a page.
const COMMISSIONS: i64 = 2_000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimelineCustomer {
    pub id: i64,
    /// For an erased customer, only a placeholder.
    pub click_id: String,
    pub customer_key: Option<String>,
    pub status: String,
    pub first_click_at: DateTime<Utc>,
    pub signup_date: Option<DateTime<Utc>>,
    pub first_purchase_date: Option<DateTime<Utc>>,
    pub erased_at: Option<DateTime<Utc>>,
    /// The customer has clicks between the first and the known ones.
    pub clicks_left_out: bool,
}

/// A commission of a sale to the customer, superseded ones included, or one that was added by hand for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimelineCommission {
    pub id: i64,
    pub created_at: DateTime<Utc>,
    pub sale_id: i64,
    pub transaction_id: String,
    pub partner_program_id: i64,
    pub partner_id: i64,
    pub partner_name: Option<String>,
    pub amount_cents: i64,
    pub adjusted_cents: i64,
    pub deducted_cents: i64,
    pub currency: String,
    pub status: String,
    pub signals: Vec<String>,
    pub refund_reason: Option<String>,
    pub rejection_reason: Option<String>,
    pub note: Option<String>,
    pub hold_until: DateTime<Utc>,
    pub approved_at: Option<DateTime<Utc>>,
    pub paid_at: Option<DateTime<Utc>>,
    pub superseded_at: Option<DateTime<Utc>>,
    pub payout_id: Option<i64>,
    pub attribution_model: Option<String>,
    pub referral_link_code: Option<String>,
    /// The customer's last known click on that link before the sale.
    pub clicked_at: Option<DateTime<Utc>>,
    /// Set for a renewal, which is credited like the first payment of its subscription.
    pub first_payment_at: Option<DateTime<Utc>>,
    /// The amount on which percentages are computed, in the currency of the sale.
    pub commissionable_cents: i64,
    pub sale_currency: String,
    /// `None`, as are all fields of the policy, for a commission that was added by hand.
    pub policy_id: Option<i64>,
    pub policy_product_id: Option<String>,
    pub policy_effective_from: Option<DateTime<Utc>>,
    pub commission_type: Option<String>,
    pub default_duration_months: Option<i32>,
    pub rate_bps: Option<i32>,
    pub fixed_cents: Option<i64>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimelineEntry {
    pub id: i64,
    pub created_at: DateTime<Utc>,
    pub kind: String,
    pub commission_id: i64,
    pub sale_id: Option<i64>,
    pub partner_program_id: i64,
    pub amount_cents: i64,
    pub requested_cents: i64,
    pub shortfall_cents: i64,
    pub currency: String,
    /// For entries of a payout.
    pub payout_id: Option<i64>,
    pub payout_reference: Option<String>,
    pub paid_out_at: Option<DateTime<Utc>>,
}

pub async fn customer(
    connection: &mut PgConnection,
    program_id: ProgramId,
    customer_id: CustomerId,
) -> StorageResult<Option<TimelineCustomer>> {
    Ok(fetch_optional!(
        connection,
        TimelineCustomer,
        // 100 is `Journey::KEPT`.
        r#"SELECT id, click_id, customer_key, status, first_click_at, signup_date, first_purchase_date, erased_at,
                  NOT first_click_at = ANY(touched_at || coalesce(earlier_at, '{}'))
                      OR cardinality(touched_at) + coalesce(cardinality(earlier_at), 0) > 100 AS "clicks_left_out!"
           FROM customers WHERE id = $1 AND program_id = $2"#,
        customer_id.get(),
        program_id.get(),
    ))
}

/// A sale that counts, not a duplicate.
#[derive(Debug, Clone, Copy)]
pub struct TimelineSale {
    pub sale_id: SaleId,
    pub customer_id: CustomerId,
    pub at: DateTime<Utc>,
}

/// The sale with this id, or the original sale if it is a duplicate.
pub async fn sale(
    connection: &mut PgConnection,
    program_id: ProgramId,
    sale_id: SaleId,
) -> StorageResult<Option<TimelineSale>> {
    Ok(sqlx::query!(
        r#"SELECT k.id, k.customer_id AS "customer_id!", k.sale_date
           FROM sale_events s JOIN sale_events k ON k.id = coalesce(s.duplicate_of, s.id)
           WHERE s.id = $1 AND s.program_id = $2 AND NOT s.is_test AND k.customer_id IS NOT NULL"#,
        sale_id.get(),
        program_id.get(),
    )
    .map(|sale| TimelineSale {
        sale_id: SaleId::new(sale.id),
        customer_id: CustomerId::new(sale.customer_id),
        at: sale.sale_date,
    })
    .fetch_optional(connection)
    .await?)
}

/// The commissions of all the customer's sales, or of one sale, newest first.
pub async fn commissions(
    connection: &mut PgConnection,
    program_id: ProgramId,
    customer_id: CustomerId,
    sale_id: Option<SaleId>,
) -> StorageResult<Vec<TimelineCommission>> {
    Ok(fetch_all!(
        connection,
        TimelineCommission,
        r#"SELECT c.id AS "id!", c.created_at AS "created_at!", s.id AS "sale_id!", s.processor_event_id AS "transaction_id!",
                  c.partner_program_id AS "partner_program_id!", c.partner_id AS "partner_id!", p.name AS "partner_name?",
                  c.amount_cents AS "amount_cents!", c.adjusted_cents AS "adjusted_cents!", c.deducted_cents AS "deducted_cents!",
                  c.currency AS "currency!", c.status AS "status!", c.signals AS "signals!", c.refund_reason AS "refund_reason?",
                  c.rejection_reason AS "rejection_reason?", c.note AS "note?", c.hold_until AS "hold_until!",
                  c.approved_at AS "approved_at?", c.paid_at AS "paid_at?", c.superseded_at AS "superseded_at?",
                  c.payout_id AS "payout_id?", s.attribution_model AS "attribution_model?", l.short_code AS "referral_link_code?",
                  k.clicked_at AS "clicked_at?", f.first_payment_at AS "first_payment_at?",
                  coalesce(s.commissionable_cents, s.amount_cents) AS "commissionable_cents!", s.currency AS "sale_currency!",
                  c.policy_id AS "policy_id?", y.product_id AS "policy_product_id?", y.effective_from AS "policy_effective_from?",
                  c.commission_type AS "commission_type?", c.default_duration_months AS "default_duration_months?",
                  c.rate_bps AS "rate_bps?", c.fixed_cents AS "fixed_cents?"
           FROM sale_events s
           CROSS JOIN LATERAL (
               SELECT * FROM commissions WHERE sale_id = s.id
               UNION ALL
               SELECT * FROM commissions WHERE for_sale_id = s.id AND for_sale_id IS NOT NULL AND rejected_at IS NULL) c
           LEFT JOIN partners p ON p.id = c.partner_id
           LEFT JOIN referral_links l ON l.id = c.referral_link_id
           LEFT JOIN commission_policies y ON y.id = c.policy_id
           LEFT JOIN subscriptions f ON f.program_id = s.program_id AND f.subscription_id = s.subscription_id
                                    AND f.first_sale_id <> s.id
           LEFT JOIN LATERAL (
               SELECT max(t.at) AS clicked_at
               FROM customers u, unnest(u.touched_link_ids || coalesce(u.earlier_link_ids, '{}'),
                                        u.touched_at || coalesce(u.earlier_at, '{}')) AS t (link_id, at)
               WHERE u.id = s.customer_id AND t.link_id = c.referral_link_id
                 AND t.at <= coalesce(f.first_payment_at, s.sale_date)) k ON true
           WHERE s.program_id = $1 AND s.customer_id = $2 AND ($3::bigint IS NULL OR s.id = $3) AND NOT s.is_test
           ORDER BY c.id DESC LIMIT $4"#,
        program_id.get(),
        customer_id.get(),
        sale_id.map(SaleId::get),
        COMMISSIONS,
    ))
}

pub async fn ledger(connection: &mut PgConnection, commissions: &[i64]) -> StorageResult<Vec<TimelineEntry>> {
    Ok(fetch_all!(
        connection,
        TimelineEntry,
        r#"SELECT e.id, e.created_at, e.kind, e.commission_id, e.sale_id, e.partner_program_id, e.amount_cents, e.requested_cents,
                  e.shortfall_cents, e.currency, y.id AS "payout_id?", y.reference AS "payout_reference?",
                  y.created_at AS "paid_out_at?"
           FROM ledger_entries e LEFT JOIN payouts y ON y.event_id = e.entry_group AND e.kind = 'payout'
           WHERE e.commission_id = ANY($1)
           ORDER BY e.id"#,
        commissions,
    ))
}
