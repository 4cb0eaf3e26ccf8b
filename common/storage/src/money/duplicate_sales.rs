//! Sales that prove to be a payment that is already recorded as another sale, under another transaction_id.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::error::StorageResult;
use crate::reads::cohorts::Counted;
use crate::tracking::customers::Milestone;
use domain::ids::{CustomerId, ProgramId, ReferralLinkId, SaleId};
use domain::money::{AmountCents, Currency};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Duplicate {
    pub sale_id: SaleId,
    pub duplicate_of: SaleId,
}

#[derive(Debug, Clone)]
pub struct Recorded {
    pub sale_id: SaleId,
    pub program_id: ProgramId,
    pub customer_id: CustomerId,
    pub transaction_id: String,
    pub amount: AmountCents,
    pub currency: Currency,
    pub referral_link_id: Option<ReferralLinkId>,
    pub sold_at: DateTime<Utc>,
}

impl Recorded {
    pub(crate) fn counted(&self) -> Counted {
        Counted {
            program_id: self.program_id,
            customer_id: self.customer_id,
            referral_link_id: self.referral_link_id,
            day: self.sold_at.date_naive(),
            currency: self.currency,
        }
    }
}

pub async fn find(connection: &mut PgConnection, sales: &[i64]) -> StorageResult<Vec<Recorded>> {
    Ok(fetch_all!(
        connection,
        Recorded,
        r#"SELECT id AS sale_id, program_id, customer_id AS "customer_id!", processor_event_id AS transaction_id,
                  amount_cents AS "amount: _", currency AS "currency: _", referral_link_id AS "referral_link_id: _",
                  sale_date AS sold_at
           FROM sale_events WHERE id = ANY($1) ORDER BY id"#,
        sales,
    ))
}

#[derive(Debug, Clone, Copy)]
pub struct CountedCommission {
    pub(crate) counted: Counted,
    pub(crate) amount_cents: i64,
}

pub async fn commissions(
    connection: &mut PgConnection,
    sales: &[i64],
) -> StorageResult<Vec<CountedCommission>> {
    Ok(sqlx::query!(
        r#"SELECT program_id AS "program_id: ProgramId", customer_id AS "customer_id!: CustomerId",
                  referral_link_id AS "referral_link_id: ReferralLinkId", amount_cents,
                  (created_at AT TIME ZONE 'UTC')::date AS "day!", currency AS "currency: Currency"
           FROM commissions WHERE sale_id = ANY($1) AND superseded_at IS NULL"#,
        sales,
    )
    .map(|row| CountedCommission {
        counted: Counted {
            program_id: row.program_id,
            customer_id: row.customer_id,
            referral_link_id: row.referral_link_id,
            day: row.day,
            currency: row.currency,
        },
        amount_cents: row.amount_cents,
    })
    .fetch_all(connection)
    .await?)
}

/// A refund reported through the API.
#[derive(Debug, Clone)]
pub struct ReportedRefund {
    pub sale_id: SaleId,
    pub refund_key: String,
    pub requested_cents: Option<i64>,
    pub refund_reason: Option<String>,
    pub refunded_at: DateTime<Utc>,
}

pub async fn reported_refunds(
    connection: &mut PgConnection,
    sales: &[i64],
) -> StorageResult<Vec<ReportedRefund>> {
    Ok(fetch_all!(
        connection,
        ReportedRefund,
        "SELECT sale_id, refund_key, requested_cents, refund_reason, refunded_at
         FROM refunds WHERE sale_id = ANY($1) AND channel = 'api' ORDER BY event_id",
        sales,
    ))
}

/// Moves the duplicates' claims, subscriptions and processor reversals to the earlier sale. The caller holds
/// the claims. `names` are all transaction_ids that these payments may have.
pub async fn mark(
    connection: &mut PgConnection,
    duplicates: &[Duplicate],
    names: &[&str],
) -> StorageResult<()> {
    columns!(duplicate in duplicates =>
        sales: i64 = duplicate.sale_id.get(),
        standing: i64 = duplicate.duplicate_of.get(),
    );
    execute!(
        &mut *connection,
        "UPDATE sale_events s SET duplicate_of = n.standing FROM UNNEST($1::bigint[], $2::bigint[]) AS n (sale_id, standing)
         WHERE s.id = n.sale_id OR s.duplicate_of = n.sale_id",
        &sales,
        &standing,
    );
    execute!(
        &mut *connection,
        "UPDATE transaction_claims c SET sale_id = n.standing
         FROM UNNEST($1::bigint[], $2::bigint[]) AS n (sale_id, standing)
         WHERE c.transaction_id = ANY($3) AND c.sale_id = n.sale_id",
        &sales,
        &standing,
        names as &[&str],
    );
    execute!(
        &mut *connection,
        "UPDATE subscriptions u SET first_sale_id = n.standing, first_payment_at = s.sale_date
         FROM UNNEST($1::bigint[], $2::bigint[]) AS n (sale_id, standing)
         JOIN sale_events d ON d.id = n.sale_id JOIN sale_events s ON s.id = n.standing
         WHERE u.program_id = d.program_id AND u.subscription_id = d.subscription_id AND u.first_sale_id = n.sale_id",
        &sales,
        &standing,
    );
    execute!(
        connection,
        "UPDATE processor_reversals SET sale_id = NULL WHERE sale_id = ANY($1)",
        &sales,
    );
    Ok(())
}

/// A customer's first sale that is not a duplicate. The caller knows that there is none before `from`.
pub async fn first_remaining(
    connection: &mut PgConnection,
    program_id: ProgramId,
    customer_id: CustomerId,
    from: DateTime<Utc>,
) -> StorageResult<Option<Milestone>> {
    Ok(fetch_optional!(
        connection,
        Milestone,
        r#"SELECT sale_date AS at, referral_link_id AS "referral_link_id: _" FROM sale_events
           WHERE program_id = $1 AND sale_date >= $3 AND customer_id = $2 AND NOT is_test AND duplicate_of IS NULL
           ORDER BY sale_date, id LIMIT 1"#,
        program_id.get(),
        customer_id.get(),
        from,
    ))
}
