//! `subscriptions`: the attribution that the first payment of a subscription fixed for its renewals.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::batch::array_literal;
use crate::error::StorageResult;
use domain::ids::{CustomerId, ProgramId, ReferralLinkId, SaleId};
use domain::tracking::sale::{FirstPayment, Subscription};

/// The identity of a subscription. The processor's ids are unique only within a program.
pub type SubscriptionKey = (ProgramId, String);

pub async fn find(
    connection: &mut PgConnection,
    keys: &[SubscriptionKey],
) -> StorageResult<HashMap<SubscriptionKey, Subscription>> {
    if keys.is_empty() {
        return Ok(HashMap::new());
    }
    columns!((program_id, subscription_id) in keys =>
        programs: i64 = program_id.get(),
        ids: &str = subscription_id.as_str(),
    );
    let rows = fetch_all!(
        connection,
        r#"SELECT k.program_id AS "program_id!", k.subscription_id AS "subscription_id!", s.first_payment_at AS "first_payment_at?",
                  s.first_click_at AS "first_click_at?", s.credited_link_ids AS "credited_link_ids?",
                  b.started_at AS "started_at?", e.ended_at AS "ended_at?"
           FROM UNNEST($1::bigint[], $2::text[]) AS k (program_id, subscription_id)
           LEFT JOIN subscriptions s ON s.program_id = k.program_id AND s.subscription_id = k.subscription_id
           LEFT JOIN subscription_starts b ON b.program_id = k.program_id AND b.subscription_id = k.subscription_id
           LEFT JOIN subscription_ends e ON e.program_id = k.program_id AND e.subscription_id = k.subscription_id"#,
        &programs,
        &ids as &[&str],
    );
    Ok(rows
        .into_iter()
        .map(|row| {
            let first = match (row.first_payment_at, row.first_click_at, row.credited_link_ids) {
                (Some(at), Some(first_click_at), Some(links)) => Some(FirstPayment {
                    at,
                    first_click_at,
                    credited_links: links.into_iter().map(ReferralLinkId::new).collect(),
                }),
                _ => None,
            };
            let subscription = Subscription {
                first,
                started_at: row.started_at,
                ended_at: row.ended_at,
            };
            (
                (ProgramId::new(row.program_id), row.subscription_id),
                subscription,
            )
        })
        .collect())
}

/// Locks subscriptions until the transaction ends. Called before their starts and ends are stored, and before
/// a sale that may be their first is judged. One of the two transactions then sees the other's change,
/// although no common row exists yet.
pub async fn lock(connection: &mut PgConnection, keys: &[SubscriptionKey]) -> StorageResult<()> {
    write_batch!(
        connection,
        "SELECT pg_advisory_xact_lock(id)
         FROM (SELECT DISTINCT hashtextextended('subscription ' || p || ' ' || s, 0) AS id
               FROM UNNEST($1::bigint[], $2::text[]) AS k (p, s) ORDER BY id) AS locks",
        (program_id, subscription_id) in keys =>
            programs: i64 = program_id.get(),
            ids: &str = subscription_id.as_str()
    );
    Ok(())
}

#[derive(Debug)]
pub struct NewSubscription {
    pub key: SubscriptionKey,
    pub customer_id: CustomerId,
    pub first_sale_id: SaleId,
    pub first: FirstPayment,
}

/// Stores first payments. An earlier payment replaces a stored one; a repeated decision replaces itself.
pub async fn save(connection: &mut PgConnection, subscriptions: &[NewSubscription]) -> StorageResult<()> {
    if subscriptions.is_empty() {
        return Ok(());
    }
    columns!(new in subscriptions =>
        programs: i64 = new.key.0.get(),
        ids: &str = new.key.1.as_str(),
        customers: i64 = new.customer_id.get(),
        sales: i64 = new.first_sale_id.get(),
        payments: DateTime<Utc> = new.first.at,
        clicks: DateTime<Utc> = new.first.first_click_at,
        links: String = array_literal(&new.first.credited_links),
    );
    execute!(
        connection,
        "INSERT INTO subscriptions AS u (program_id, subscription_id, customer_id, first_sale_id, first_payment_at,
             first_click_at, credited_link_ids)
         SELECT program_id, subscription_id, customer_id, sale_id, paid_at, clicked_at, link_ids::bigint[]
         FROM UNNEST($1::bigint[], $2::text[], $3::bigint[], $4::bigint[], $5::timestamptz[], $6::timestamptz[],
                     $7::text[])
              AS s (program_id, subscription_id, customer_id, sale_id, paid_at, clicked_at, link_ids)
         ORDER BY program_id, subscription_id
         ON CONFLICT (program_id, subscription_id) DO UPDATE
         SET first_sale_id = excluded.first_sale_id, first_payment_at = excluded.first_payment_at,
             first_click_at = excluded.first_click_at, credited_link_ids = excluded.credited_link_ids
         WHERE excluded.customer_id = u.customer_id AND excluded.first_payment_at <= u.first_payment_at",
        &programs,
        &ids as &[&str],
        &customers,
        &sales,
        &payments,
        &clicks,
        &links,
    );
    Ok(())
}

/// The customers of these subscriptions, if a payment is known.
pub async fn customers(
    connection: &mut PgConnection,
    keys: &[SubscriptionKey],
) -> StorageResult<HashMap<SubscriptionKey, CustomerId>> {
    columns!((program_id, subscription_id) in keys =>
        programs: i64 = program_id.get(),
        ids: &str = subscription_id.as_str(),
    );
    let rows = fetch_all!(
        connection,
        r#"SELECT s.program_id AS "program_id: ProgramId", s.subscription_id, s.customer_id AS "customer_id: CustomerId"
           FROM UNNEST($1::bigint[], $2::text[]) AS k (program_id, subscription_id)
           JOIN subscriptions s ON s.program_id = k.program_id AND s.subscription_id = k.subscription_id"#,
        &programs,
        &ids as &[&str],
    );
    Ok(rows
        .into_iter()
        .map(|row| ((row.program_id, row.subscription_id), row.customer_id))
        .collect())
}

/// Assigns sales that were reported without a subscription to one, because another report of the same payment
/// names it. Returns the customers and times of the changed sales.
pub async fn adopt(
    connection: &mut PgConnection,
    subscriptions: &[(SubscriptionKey, SaleId)],
) -> StorageResult<Vec<(CustomerId, DateTime<Utc>)>> {
    if subscriptions.is_empty() {
        return Ok(Vec::new());
    }
    columns!(((program_id, id), sale_id) in subscriptions =>
        programs: i64 = program_id.get(),
        ids: &str = id.as_str(),
        sales: i64 = sale_id.get(),
    );
    let adopted = fetch_all!(
        &mut *connection,
        r#"UPDATE sale_events s SET subscription_id = n.subscription_id
         FROM UNNEST($1::text[], $2::bigint[]) AS n (subscription_id, sale_id)
         WHERE s.id = n.sale_id AND s.subscription_id IS NULL
         RETURNING s.customer_id AS "customer_id!", s.sale_date"#,
        &ids as &[&str],
        &sales,
    );
    execute!(
        connection,
        "INSERT INTO subscriptions AS u (program_id, subscription_id, customer_id, first_sale_id, first_payment_at,
             first_click_at, credited_link_ids)
         SELECT n.program_id, n.subscription_id, s.customer_id, s.id, s.sale_date, c.first_click_at,
                coalesce((SELECT array_agg(m.referral_link_id ORDER BY m.id) FROM commissions m
                           WHERE m.sale_id = s.id AND m.superseded_at IS NULL),
                         array_remove(ARRAY[s.referral_link_id], NULL))
         FROM UNNEST($1::bigint[], $2::text[], $3::bigint[]) AS n (program_id, subscription_id, sale_id)
         JOIN sale_events s ON s.id = n.sale_id JOIN customers c ON c.id = s.customer_id
         ORDER BY n.program_id, n.subscription_id
         ON CONFLICT (program_id, subscription_id) DO UPDATE
         SET first_sale_id = excluded.first_sale_id, first_payment_at = excluded.first_payment_at,
             first_click_at = excluded.first_click_at, credited_link_ids = excluded.credited_link_ids
         WHERE excluded.customer_id = u.customer_id AND excluded.first_payment_at < u.first_payment_at",
        &programs,
        &ids as &[&str],
        &sales,
    );
    Ok(adopted
        .into_iter()
        .map(|row| (CustomerId::new(row.customer_id), row.sale_date))
        .collect())
}
