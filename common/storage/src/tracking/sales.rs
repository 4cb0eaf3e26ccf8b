//! `sale_events`.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::error::{StorageError, StorageResult, expect_rows};
use domain::earnings::commission::SelfReferrals;
use domain::ids::{CommissionId, CustomerId, EventId, ProgramId, ReferralLinkId, SaleId};
use domain::money::{CommissionableCents, Currency};
use domain::programs::outbound_event::WantedEvents;
use domain::text::{ProductId, SubscriptionId};
use domain::tracking::attribution::AttributionModel;
use domain::tracking::sale::SubscriptionInterval;
use messages::sale::{NoCommission, SaleRecord};

#[derive(Debug)]
pub struct NewSale<'a> {
    pub record: &'a SaleRecord,
    pub customer_id: CustomerId,
    /// The last credited link, under which the sale counts.
    pub referral_link_id: Option<ReferralLinkId>,
    pub no_commission: Option<NoCommission>,
    /// The program's model when the sale was judged.
    pub model: AttributionModel,
    /// The program's setting when the sale was judged.
    pub self_referrals: SelfReferrals,
}

/// Inserts sales, closes their claims, and returns the sales' ids by event. The claims make a conflict
/// impossible. Their payloads are no longer needed and are deleted.
pub async fn insert(
    connection: &mut PgConnection,
    sales: &[NewSale<'_>],
) -> StorageResult<HashMap<EventId, SaleId>> {
    if sales.is_empty() {
        return Ok(HashMap::new());
    }
    let rows = unnest!(
        query,
        r#"WITH sales AS (
               INSERT INTO sale_events (event_id, program_id, customer_id, processor_event_id, amount_cents, currency,
                   sale_type, is_recurring, subscription_id, subscription_interval, product_id, line_items, sale_date,
                   no_commission_reason, referral_link_id, attribution_model, commissionable_cents,
                   self_referrals)
               SELECT event_id, program_id, customer_id, transaction_id, amount, currency, sale_type, is_recurring,
                      subscription_id, subscription_interval, product_id, line_items::jsonb, sale_date, reason, link_id, model,
                      commissionable, self_referrals
               FROM UNNEST($1::uuid[], $2::bigint[], $3::bigint[], $4::text[], $5::bigint[], $6::text[], $7::text[],
                           $8::bool[], $9::text[], $10::text[], $11::text[], $12::text[], $13::timestamptz[],
                           $14::text[], $15::bigint[], $16::text[], $17::bigint[], $18::text[])
                    AS s (event_id, program_id, customer_id, transaction_id, amount, currency, sale_type, is_recurring,
                          subscription_id, subscription_interval, product_id, line_items, sale_date, reason, link_id, model,
                          commissionable, self_referrals)
               RETURNING id, event_id, processor_event_id
           ), closed AS (
               UPDATE transaction_claims c
               SET state = 'recorded', sale_id = sales.id, payload = NULL, reply_to = NULL
               FROM sales WHERE c.transaction_id = sales.processor_event_id AND c.state <> 'recorded'
               RETURNING 1
           )
           SELECT id AS "id: SaleId", event_id AS "event_id: EventId", (SELECT count(*) FROM closed) AS "closed!" FROM sales"#,
        new in sales =>
            events: Uuid = new.record.event_id.get(),
            programs: i64 = new.record.program_id.get(),
            customers: i64 = new.customer_id.get(),
            transaction_ids: &str = new.record.sale.transaction_id.as_str(),
            amounts: i64 = new.record.sale.amount.get(),
            currencies: &str = new.record.sale.currency.as_str(),
            types: &str = new.record.sale.sale_type.as_str(),
            recurring: bool = new.record.sale.is_recurring,
            subscriptions: Option<&str> = new.record.sale.subscription_id.as_ref().map(SubscriptionId::as_str),
            intervals: Option<&str> = new.record.sale.subscription_interval.map(SubscriptionInterval::as_str),
            products: Option<&str> = new.record.sale.product_id.as_ref().map(ProductId::as_str),
            line_items: Option<&str> = new.record.sale.line_items.as_ref().map(|items| items.get()),
            dates: DateTime<Utc> = new.record.sold_at,
            reasons: Option<&str> = new.no_commission.map(NoCommission::as_str),
            links: Option<i64> = new.referral_link_id.map(ReferralLinkId::get),
            models: &str = new.model.as_str(),
            commissionable: Option<i64> = new.record.sale.commissionable.map(CommissionableCents::get),
            self_referrals: &str = new.self_referrals.as_str()
    )
    .fetch_all(connection)
    .await?;
    let closed = rows.first().map_or(0, |row| row.closed);
    expect_rows("transaction_claims", sales.len(), closed.unsigned_abs())?;
    Ok(rows.into_iter().map(|row| (row.event_id, row.id)).collect())
}

#[derive(Debug)]
pub struct RecordedSale {
    pub event_id: EventId,
    pub program_id: ProgramId,
    pub no_commission: Option<NoCommission>,
    /// In the order of creation, which follows the attribution model.
    pub commission_ids: Vec<CommissionId>,
}

pub async fn recorded(
    connection: &mut PgConnection,
    sales: &[i64],
) -> StorageResult<HashMap<SaleId, RecordedSale>> {
    let rows = fetch_all!(
        connection,
        r#"SELECT s.id AS "id: SaleId", s.event_id AS "event_id: EventId", s.program_id AS "program_id: ProgramId",
                  s.no_commission_reason,
                  ARRAY(SELECT c.id FROM commissions c WHERE c.sale_id = s.id AND c.superseded_at IS NULL ORDER BY c.id)
                      AS "commission_ids!: Vec<CommissionId>"
           FROM sale_events s WHERE s.id = ANY($1)"#,
        sales,
    );
    rows.into_iter()
        .map(|row| {
            let no_commission = row
                .no_commission_reason
                .map(|code| {
                    NoCommission::parse(&code)
                        .ok_or_else(|| StorageError::corrupt("sale_events", "no_commission_reason", row.id))
                })
                .transpose()?;
            let recorded = RecordedSale {
                event_id: row.event_id,
                program_id: row.program_id,
                no_commission,
                commission_ids: row.commission_ids,
            };
            Ok((row.id, recorded))
        })
        .collect()
}

#[derive(Debug)]
pub struct LockedSale {
    pub sale_id: SaleId,
    pub customer_id: CustomerId,
    /// The link under which the sale and its refunds count.
    pub referral_link_id: Option<ReferralLinkId>,
    pub currency: Currency,
    pub amount_cents: i64,
    pub api_refunded_cents: i64,
    pub processor_refunded_cents: i64,
    /// The customer was erased: no more text about the sale may be stored.
    pub of_erased: bool,
    pub wanted_events: WantedEvents,
}

#[derive(Debug)]
pub struct RefundedSale {
    pub sale_id: SaleId,
    pub api_refunded_cents: i64,
    pub processor_refunded_cents: i64,
}

/// Locks sales in ascending order, so that refunds of one sale are serialised.
pub async fn lock(connection: &mut PgConnection, sales: &[i64]) -> StorageResult<Vec<LockedSale>> {
    Ok(fetch_all!(
        connection,
        LockedSale,
        r#"SELECT s.id AS sale_id, s.customer_id AS "customer_id!", s.referral_link_id AS "referral_link_id: _",
                  s.currency AS "currency: _", s.amount_cents, s.api_refunded_cents, s.processor_refunded_cents,
                  p.wanted_events AS "wanted_events: _",
                  EXISTS (SELECT FROM customers c WHERE c.id = s.customer_id AND c.erased_at IS NOT NULL) AS "of_erased!"
           FROM sale_events s JOIN programs p ON p.id = s.program_id
           WHERE s.id = ANY($1) ORDER BY s.id FOR UPDATE OF s"#,
        sales,
    ))
}

pub async fn save_refunded(connection: &mut PgConnection, sales: &[RefundedSale]) -> StorageResult<()> {
    let updated = write_batch!(
        connection,
        "UPDATE sale_events s SET api_refunded_cents = n.api, processor_refunded_cents = n.processor
         FROM UNNEST($1::bigint[], $2::bigint[], $3::bigint[]) AS n (id, api, processor)
         WHERE s.id = n.id",
        sale in sales =>
            ids: i64 = sale.sale_id.get(),
            api: i64 = sale.api_refunded_cents,
            processor: i64 = sale.processor_refunded_cents
    );
    expect_rows("sale_events", sales.len(), updated)
}
