//! A partner's figures by day, from `link_days`, `link_refund_days` and unfolded deltas.
//!
//! Cost: one row for each link, day and currency of the range. Sums by partner are not stored: they would
//! save only the step over the partner's few links, and each fold and rebuild would write another row.

use chrono::NaiveDate;
use sqlx::PgConnection;

use crate::error::StorageResult;
use domain::money::{Cents, Currency};
use domain::reports::figures::{Counts, Earnings, Known};

/// The figures of these memberships from `first` to `last` (both included), sorted by day and currency.
/// Entries without a currency have only counts.
pub async fn partner_days(
    connection: &mut PgConnection,
    memberships: &[i64],
    first: NaiveDate,
    last: NaiveDate,
) -> StorageResult<Vec<Known>> {
    let links = fetch_all!(
        &mut *connection,
        r#"SELECT id, program_id AS "program_id!" FROM referral_links
           WHERE partner_program_id = ANY($1) AND program_id IS NOT NULL"#,
        memberships,
    );
    let ids: Vec<i64> = links.iter().map(|link| link.id).collect();
    let programs: Vec<i64> = links.iter().map(|link| link.program_id).collect();
    Ok(sqlx::query!(
        r#"SELECT day AS "day!", nullif(currency, '') AS "currency: Currency", sum(clicks)::bigint AS "clicks!", sum(leads)::bigint AS "leads!",
                  sum(conversions)::bigint AS "conversions!", sum(sales)::bigint AS "sales!",
                  least(sum(revenue_cents), 9223372036854775807)::bigint AS "revenue!",
                  least(sum(commission_cents), 9223372036854775807)::bigint AS "commission!",
                  least(sum(refunded_cents), 9223372036854775807)::bigint AS "refunded!",
                  least(sum(deducted_cents), 9223372036854775807)::bigint AS "deducted!"
           FROM (
               SELECT day, currency, clicks, leads, conversions, sales, revenue_cents, commission_cents,
                      0::bigint AS refunded_cents, 0::bigint AS deducted_cents
               FROM link_days WHERE referral_link_id = ANY($1) AND day BETWEEN $3 AND $4
               UNION ALL
               SELECT day, currency, clicks, leads, conversions, sales, revenue_cents, commission_cents, 0, 0
               FROM rollup_deltas WHERE program_id = ANY($2) AND day BETWEEN $3 AND $4 AND referral_link_id = ANY($1)
               UNION ALL
               SELECT day, currency, 0, 0, 0, 0, 0, 0, refunded_cents, deducted_cents
               FROM link_refund_days WHERE referral_link_id = ANY($1) AND day BETWEEN $3 AND $4
               UNION ALL
               SELECT day, currency, 0, 0, 0, 0, 0, 0, refunded_cents, deducted_cents
               FROM refund_deltas WHERE program_id = ANY($2) AND day BETWEEN $3 AND $4 AND referral_link_id = ANY($1)
           ) pieces
           GROUP BY day, currency ORDER BY day, currency"#,
        &ids,
        &programs,
        first,
        last,
    )
    .map(|row| Known {
        day: row.day,
        counts: Counts {
            clicks: row.clicks,
            leads: row.leads,
            conversions: row.conversions,
            partners: 0,
            sales: row.sales,
        },
        earnings: row.currency.map(|currency| {
            let earnings = Earnings {
                sales: row.sales,
                revenue: Cents::new(row.revenue),
                refunded: Cents::new(row.refunded),
                commission: Cents::new(row.commission),
                deducted: Cents::new(row.deducted),
            };
            (currency, earnings)
        }),
    })
    .fetch_all(connection)
    .await?)
}
