//! A program's figures by partner or by link, from `link_days`, `link_refund_days` and unfolded deltas.
//!
//! Cost: one row for each link, day and currency of the range.

use chrono::NaiveDate;
use sqlx::PgConnection;

use crate::error::StorageResult;
use crate::page::Window;
use domain::ids::ProgramId;
use domain::money::{Cents, Currency};
use domain::reports::breakdown::Measure;
use domain::reports::figures::{Counts, Earnings, Figures};

/// Figures of a partner or a link. Amounts are in one currency; the number of sales includes all currencies.
#[derive(Debug, Clone)]
pub struct BreakdownRow {
    /// Id of the membership or of the link.
    pub id: i64,
    /// The partner's name, `None` once the partner's record is removed; or the link's code.
    pub name: Option<String>,
    pub figures: Figures,
}

/// The query. The days include both ends.
#[derive(Debug, Clone, Copy)]
pub struct Wanted {
    pub program_id: ProgramId,
    pub first: NaiveDate,
    pub last: NaiveDate,
    pub currency: Currency,
    pub sort: Measure,
}

/// A page of partners or links with any figure in these days, by descending measure, and the total number.
macro_rules! by {
    ($connection:expr, $wanted:expr, $window:expr, $key:literal, $names:literal) => {
        sqlx::query!(
            r#"WITH pieces AS (
                   SELECT referral_link_id, clicks, leads, conversions, sales, currency = $4 AS counts, revenue_cents, commission_cents,
                          0::bigint AS refunded_cents, 0::bigint AS deducted_cents
                   FROM link_days WHERE program_id = $1 AND day BETWEEN $2 AND $3
                   UNION ALL
                   SELECT referral_link_id, clicks, leads, conversions, sales, currency = $4, revenue_cents, commission_cents, 0, 0
                   FROM rollup_deltas WHERE program_id = $1 AND day BETWEEN $2 AND $3 AND referral_link_id <> 0
                   UNION ALL
                   SELECT referral_link_id, 0, 0, 0, 0, currency = $4, 0, 0, refunded_cents, deducted_cents
                   FROM link_refund_days WHERE program_id = $1 AND day BETWEEN $2 AND $3
                   UNION ALL
                   SELECT referral_link_id, 0, 0, 0, 0, currency = $4, 0, 0, refunded_cents, deducted_cents
                   FROM refund_deltas WHERE program_id = $1 AND day BETWEEN $2 AND $3 AND referral_link_id <> 0
               ), links AS (
                   SELECT referral_link_id, sum(clicks) AS clicks, sum(leads) AS leads, sum(conversions) AS conversions,
                          sum(sales) AS sales, sum(sales) FILTER (WHERE counts) AS sales_of_currency,
                          sum(revenue_cents) FILTER (WHERE counts) AS revenue,
                          sum(commission_cents) FILTER (WHERE counts) AS commission,
                          sum(refunded_cents) FILTER (WHERE counts) AS refunded,
                          sum(deducted_cents) FILTER (WHERE counts) AS deducted
                   FROM pieces GROUP BY 1
               ), rows AS MATERIALIZED (
                   SELECT "# + $key + r#" AS id, sum(k.clicks)::bigint AS clicks, sum(k.leads)::bigint AS leads,
                          sum(k.conversions)::bigint AS conversions, sum(k.sales)::bigint AS sales,
                          coalesce(sum(k.sales_of_currency), 0)::bigint AS sales_of_currency,
                          least(coalesce(sum(k.revenue), 0), 9223372036854775807)::bigint AS revenue,
                          least(coalesce(sum(k.commission), 0), 9223372036854775807)::bigint AS commission,
                          least(coalesce(sum(k.refunded), 0), 9223372036854775807)::bigint AS refunded,
                          least(coalesce(sum(k.deducted), 0), 9223372036854775807)::bigint AS deducted
                   FROM links k JOIN referral_links l ON l.id = k.referral_link_id
                   GROUP BY 1
                   HAVING "# + $key + r#" IS NOT NULL
                      AND (sum(k.clicks) <> 0 OR sum(k.leads) <> 0 OR sum(k.conversions) <> 0 OR sum(k.sales) <> 0 OR sum(k.revenue) <> 0
                           OR sum(k.commission) <> 0 OR sum(k.refunded) <> 0 OR sum(k.deducted) <> 0)
               )
               SELECT p.id AS "id?", "# + $names + r#" AS "name?", p.clicks AS "clicks?", p.leads AS "leads?",
                      p.conversions AS "conversions?", p.sales AS "sales?", p.sales_of_currency AS "sales_of_currency?",
                      p.revenue AS "revenue?", p.commission AS "commission?", p.refunded AS "refunded?", p.deducted AS "deducted?",
                      t.total AS "total!"
               FROM (SELECT count(*) AS total FROM rows) t
               LEFT JOIN LATERAL (
                   SELECT *, CASE $5::text WHEN 'clicks' THEN clicks::numeric WHEN 'leads' THEN leads WHEN 'conversions' THEN conversions
                                  WHEN 'sales' THEN sales WHEN 'revenue' THEN revenue WHEN 'refunded' THEN refunded
                                  WHEN 'net_revenue' THEN revenue::numeric - refunded WHEN 'commission' THEN commission
                                  ELSE commission::numeric - deducted END AS measure
                   FROM rows ORDER BY measure DESC, id DESC OFFSET $6 LIMIT $7) p ON true
               ORDER BY p.measure DESC, p.id DESC"#,
            $wanted.program_id.get(),
            $wanted.first,
            $wanted.last,
            $wanted.currency.as_str(),
            $wanted.sort.as_str(),
            $window.offset,
            $window.limit,
        )
        .map(|row| {
            let number = Option::unwrap_or_default;
            let cents = |cents: Option<i64>| Cents::new(cents.unwrap_or_default());
            let figures = Figures {
                counts: Counts {
                    clicks: number(row.clicks),
                    leads: number(row.leads),
                    conversions: number(row.conversions),
                    partners: 0,
                    sales: number(row.sales),
                },
                earnings: Earnings {
                    sales: number(row.sales_of_currency),
                    revenue: cents(row.revenue),
                    refunded: cents(row.refunded),
                    commission: cents(row.commission),
                    deducted: cents(row.deducted),
                },
            };
            let name = row.name;
            let row_of_id = row.id.map(|id| BreakdownRow { id, name, figures });
            (row_of_id, row.total)
        })
        .fetch_all($connection)
    };
}

pub async fn by_partner(
    connection: &mut PgConnection,
    wanted: &Wanted,
    window: Window,
) -> StorageResult<(Vec<BreakdownRow>, i64)> {
    let rows = by!(
        connection,
        wanted,
        window,
        "l.partner_program_id",
        "(SELECT a.name FROM partner_programs m JOIN partners a ON a.id = m.partner_id WHERE m.id = p.id)"
    );
    Ok(listed(rows.await?))
}

pub async fn by_link(
    connection: &mut PgConnection,
    wanted: &Wanted,
    window: Window,
) -> StorageResult<(Vec<BreakdownRow>, i64)> {
    let rows = by!(
        connection,
        wanted,
        window,
        "l.id",
        "(SELECT n.short_code FROM referral_links n WHERE n.id = p.id)"
    );
    Ok(listed(rows.await?))
}

/// The query returns at least one row, which has the total.
fn listed(rows: Vec<(Option<BreakdownRow>, i64)>) -> (Vec<BreakdownRow>, i64) {
    let total = rows.first().map_or(0, |(_, total)| *total);
    (rows.into_iter().filter_map(|(row, _)| row).collect(), total)
}
