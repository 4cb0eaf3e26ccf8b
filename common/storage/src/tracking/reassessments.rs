//! Recorded sales whose attribution is judged again, and the resulting changes.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::error::{StorageResult, expect_rows};
use domain::earnings::commission::SelfReferrals;
use domain::ids::{CommissionId, CustomerId, ProgramId, ReferralLinkId, SaleId};
use domain::money::{AmountCents, Cents, CommissionableCents, Currency};
use domain::text::{ProductId, SubscriptionId, TransactionId};
use domain::tracking::attribution::AttributionModel;
use domain::tracking::reassessment::RecordedSale;
use domain::tracking::sale::{Sale, SaleType};

#[derive(Debug, Clone)]
pub struct StoredSale {
    pub customer_id: CustomerId,
    pub recorded: RecordedSale,
    pub referral_link_id: Option<ReferralLinkId>,
    pub no_commission_reason: Option<String>,
    /// The refunded part of the amount.
    pub refunded: Cents,
}

/// Locks sales since each customer's given time, ascending. The caller holds the customers' locks.
pub async fn lock_sales_since(
    connection: &mut PgConnection,
    customers: &[(ProgramId, CustomerId, DateTime<Utc>)],
) -> StorageResult<Vec<StoredSale>> {
    let rows = unnest!(
        query,
        r#"SELECT s.id AS "id: SaleId", s.customer_id AS "customer_id!: CustomerId",
                  processor_event_id AS "transaction_id: TransactionId", amount_cents AS "amount: AmountCents",
                  commissionable_cents AS "commissionable: CommissionableCents", currency AS "currency: Currency",
                  sale_type AS "sale_type: SaleType", is_recurring, subscription_id AS "subscription_id: SubscriptionId",
                  product_id AS "product_id: ProductId", sale_date, no_commission_reason,
                  referral_link_id AS "referral_link_id: ReferralLinkId", attribution_model AS "model: AttributionModel",
                  self_referrals AS "self_referrals: SelfReferrals",
                  least(amount_cents, greatest(api_refunded_cents, processor_refunded_cents)) AS "refunded!: Cents"
           FROM UNNEST($1::bigint[], $2::bigint[], $3::timestamptz[]) AS n (program_id, customer_id, since)
           JOIN sale_events s ON s.program_id = n.program_id AND s.customer_id = n.customer_id AND s.sale_date >= n.since
           WHERE NOT is_test AND duplicate_of IS NULL
           ORDER BY s.id FOR UPDATE OF s"#,
        (program_id, customer_id, since) in customers =>
            programs: i64 = program_id.get(),
            ids: i64 = customer_id.get(),
            times: DateTime<Utc> = *since
    )
    .fetch_all(connection)
    .await?;
    let sales = rows.into_iter().map(|row| StoredSale {
        customer_id: row.customer_id,
        recorded: RecordedSale {
            sale_id: row.id,
            sale: Sale {
                transaction_id: row.transaction_id,
                amount: row.amount,
                commissionable: row.commissionable,
                currency: row.currency,
                customer_key: None,
                click_id: None,
                processor_customer: None,
                sale_type: row.sale_type,
                is_recurring: row.is_recurring,
                subscription_id: row.subscription_id,
                subscription_interval: None,
                product_id: row.product_id,
                line_items: None,
            },
            at: row.sale_date,
            model: row.model,
            self_referrals: row.self_referrals,
        },
        referral_link_id: row.referral_link_id,
        no_commission_reason: row.no_commission_reason,
        refunded: row.refunded,
    });
    Ok(sales.collect())
}

/// Whether the customer has a superseded commission that was changed by hand.
pub async fn superseded_changed(
    connection: &mut PgConnection,
    program_id: ProgramId,
    customer_id: CustomerId,
) -> StorageResult<bool> {
    Ok(fetch_scalar!(
        connection,
        r#"SELECT EXISTS (SELECT 1 FROM sale_events s JOIN commissions c ON c.sale_id = s.id
                          WHERE s.program_id = $1 AND s.customer_id = $2
                            AND c.superseded_at IS NOT NULL AND c.adjusted_cents <> 0) AS "changed!""#,
        program_id.get(),
        customer_id.get(),
    ))
}

/// Supersedes locked commissions, with their whole amount deducted.
pub async fn supersede(
    connection: &mut PgConnection,
    commissions: &[CommissionId],
    reason: &str,
) -> StorageResult<()> {
    if commissions.is_empty() {
        return Ok(());
    }
    let ids: Vec<i64> = commissions.iter().map(|commission| commission.get()).collect();
    let updated = execute!(
        connection,
        // The database's clock, because the times of one sale and membership must be unique.
        "UPDATE commissions
         SET deducted_cents = amount_cents, status = 'reversed', superseded_at = clock_timestamp(), refund_reason = $2
         WHERE id = ANY($1)",
        &ids,
        reason,
    );
    expect_rows("commissions", commissions.len(), updated)
}

/// Moves locked commissions to other links of their partners.
pub async fn relink(
    connection: &mut PgConnection,
    commissions: &[(CommissionId, ReferralLinkId)],
) -> StorageResult<()> {
    let updated = write_batch!(
        connection,
        "UPDATE commissions c SET referral_link_id = n.link_id
         FROM UNNEST($1::bigint[], $2::bigint[]) AS n (id, link_id) WHERE c.id = n.id",
        (id, link) in commissions =>
            ids: i64 = id.get(),
            links: i64 = link.get()
    );
    expect_rows("commissions", commissions.len(), updated)
}

#[derive(Debug, Clone)]
pub struct Credited<'a> {
    pub sale_id: SaleId,
    pub referral_link_id: Option<ReferralLinkId>,
    pub no_commission_reason: Option<&'a str>,
}

pub async fn save_credits(connection: &mut PgConnection, sales: &[Credited<'_>]) -> StorageResult<()> {
    let updated = write_batch!(
        connection,
        "UPDATE sale_events s SET referral_link_id = n.link_id, no_commission_reason = n.reason
         FROM UNNEST($1::bigint[], $2::bigint[], $3::text[]) AS n (id, link_id, reason) WHERE s.id = n.id",
        sale in sales =>
            ids: i64 = sale.sale_id.get(),
            links: Option<i64> = sale.referral_link_id.map(ReferralLinkId::get),
            reasons: Option<&str> = sale.no_commission_reason
    );
    expect_rows("sale_events", sales.len(), updated)
}
