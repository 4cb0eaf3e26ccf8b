//! `subscriptions`: what the first sale of a subscription fixed for its renewals.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use super::{StorageResult, array_literal};
use crate::domain::ids::{CustomerId, ProgramId, ReferralLinkId, SaleId};
use crate::domain::sale::Subscription;

/// A subscription's identity: ids are the processor's, and unique within a program only.
pub type SubscriptionKey = (ProgramId, String);

pub async fn find(
    connection: &mut PgConnection,
    keys: &[SubscriptionKey],
) -> StorageResult<HashMap<SubscriptionKey, Subscription>> {
    if keys.is_empty() {
        return Ok(HashMap::new());
    }
    let programs: Vec<i64> = keys.iter().map(|(program_id, _)| program_id.get()).collect();
    let ids: Vec<&str> = keys
        .iter()
        .map(|(_, subscription_id)| subscription_id.as_str())
        .collect();
    let rows = sqlx::query!(
        r#"SELECT s.program_id, s.subscription_id, s.first_payment_at, s.first_click_at, s.credited_link_ids,
                  e.ended_at AS "ended_at?"
           FROM UNNEST($1::bigint[], $2::text[]) AS k (program_id, subscription_id)
           JOIN subscriptions s ON s.program_id = k.program_id AND s.subscription_id = k.subscription_id
           LEFT JOIN subscription_ends e ON e.program_id = k.program_id AND e.subscription_id = k.subscription_id"#,
        &programs,
        &ids as &[&str],
    )
    .fetch_all(connection)
    .await?;
    Ok(rows
        .into_iter()
        .map(|row| {
            let subscription = Subscription {
                first_payment_at: row.first_payment_at,
                first_click_at: row.first_click_at,
                credited_links: row
                    .credited_link_ids
                    .into_iter()
                    .map(ReferralLinkId::new)
                    .collect(),
                ended_at: row.ended_at,
            };
            (
                (ProgramId::new(row.program_id), row.subscription_id),
                subscription,
            )
        })
        .collect())
}

#[derive(Debug)]
pub struct NewSubscription {
    pub key: SubscriptionKey,
    pub customer_id: CustomerId,
    pub first_sale_id: SaleId,
    pub subscription: Subscription,
}

/// Stores first sales. One that another batch stored in the meantime stays as it is.
pub async fn insert(connection: &mut PgConnection, subscriptions: &[NewSubscription]) -> StorageResult<()> {
    if subscriptions.is_empty() {
        return Ok(());
    }
    let programs: Vec<i64> = subscriptions.iter().map(|new| new.key.0.get()).collect();
    let ids: Vec<&str> = subscriptions.iter().map(|new| new.key.1.as_str()).collect();
    let customers: Vec<i64> = subscriptions.iter().map(|new| new.customer_id.get()).collect();
    let sales: Vec<i64> = subscriptions.iter().map(|new| new.first_sale_id.get()).collect();
    let payments: Vec<DateTime<Utc>> = subscriptions
        .iter()
        .map(|new| new.subscription.first_payment_at)
        .collect();
    let clicks: Vec<DateTime<Utc>> = subscriptions
        .iter()
        .map(|new| new.subscription.first_click_at)
        .collect();
    let links: Vec<String> = subscriptions
        .iter()
        .map(|new| array_literal(&new.subscription.credited_links))
        .collect();
    sqlx::query!(
        "INSERT INTO subscriptions (program_id, subscription_id, customer_id, first_sale_id, first_payment_at,
             first_click_at, credited_link_ids)
         SELECT program_id, subscription_id, customer_id, sale_id, paid_at, clicked_at, link_ids::bigint[]
         FROM UNNEST($1::bigint[], $2::text[], $3::bigint[], $4::bigint[], $5::timestamptz[], $6::timestamptz[],
                     $7::text[])
              AS s (program_id, subscription_id, customer_id, sale_id, paid_at, clicked_at, link_ids)
         ORDER BY program_id, subscription_id
         ON CONFLICT (program_id, subscription_id) DO NOTHING",
        &programs,
        &ids as &[&str],
        &customers,
        &sales,
        &payments,
        &clicks,
        &links,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Starts subscriptions with a sale that was reported without naming them: the same payment was reported again, and does.
/// One that is known stays as it is.
pub async fn adopt(
    connection: &mut PgConnection,
    subscriptions: &[(SubscriptionKey, SaleId)],
) -> StorageResult<()> {
    if subscriptions.is_empty() {
        return Ok(());
    }
    let programs: Vec<i64> = subscriptions
        .iter()
        .map(|((program_id, _), _)| program_id.get())
        .collect();
    let ids: Vec<&str> = subscriptions.iter().map(|((_, id), _)| id.as_str()).collect();
    let sales: Vec<i64> = subscriptions.iter().map(|(_, sale_id)| sale_id.get()).collect();
    sqlx::query!(
        "INSERT INTO subscriptions (program_id, subscription_id, customer_id, first_sale_id, first_payment_at,
             first_click_at, credited_link_ids)
         SELECT n.program_id, n.subscription_id, s.customer_id, s.id, s.sale_date, c.first_click_at,
                coalesce((SELECT array_agg(m.referral_link_id ORDER BY m.id) FROM commissions m WHERE m.sale_id = s.id),
                         array_remove(ARRAY[s.referral_link_id], NULL))
         FROM UNNEST($1::bigint[], $2::text[], $3::bigint[]) AS n (program_id, subscription_id, sale_id)
         JOIN sale_events s ON s.id = n.sale_id JOIN customers c ON c.id = s.customer_id
         ORDER BY n.program_id, n.subscription_id
         ON CONFLICT (program_id, subscription_id) DO NOTHING",
        &programs,
        &ids as &[&str],
        &sales,
    )
    .execute(connection)
    .await?;
    Ok(())
}
