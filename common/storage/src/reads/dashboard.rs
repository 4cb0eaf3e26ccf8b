//! The summary of the dashboard's first page: figures of many programs at once.
//!
//! Cost of each query:
//!
//! | figure | read from | cost |
//! |---|---|---|
//! | clicks, all time | the links' counters | one row a link |
//! | clicks, leads, sales, revenue of a period | [`rollups`] | one row a day and currency, and unfolded deltas |
//! | refunds of a period | [`refund_rollups`] | the same |
//! | commissions pending, approved | indexes of unpaid commissions | one row an unpaid commission |
//! | commissions paid | `payouts` | one row a payout |
//! | active partners | memberships | one row a membership |
//! | unread notifications | the index of unread notifications | one entry each |

use std::collections::BTreeMap;

use chrono::{DateTime, NaiveDate, Utc};
use sqlx::PgConnection;

use super::{refund_rollups, rollups};
use crate::error::StorageResult;

#[derive(Debug, Default, Clone)]
pub struct Figures {
    pub clicks_all_time: i64,
    pub clicks: i64,
    /// Customers who became leads.
    pub leads: i64,
    pub sales: i64,
    pub active_partners: i64,
    pub unread_notifications: i64,
    pub money: BTreeMap<String, Money>,
}

/// Cents of one currency.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Money {
    pub revenue: i64,
    /// Refunds of the period, of sales of any day.
    pub refunded: i64,
    pub pending: i64,
    pub approved: i64,
    pub paid: i64,
}

/// By program, in the order of ids, for the UTC days `first` to `last`. `now` decides what is payable.
pub async fn figures(
    connection: &mut PgConnection,
    programs: &[i64],
    (first, last): (NaiveDate, NaiveDate),
    now: DateTime<Utc>,
) -> StorageResult<Vec<Figures>> {
    let rows = fetch_all!(
        &mut *connection,
        r#"SELECT p.id AS "id!",
                  (SELECT coalesce(sum(l.clicks), 0)::bigint FROM referral_links l WHERE l.program_id = p.id)
                      AS "clicks_all_time!",
                  (SELECT count(*) FROM partner_programs m WHERE m.program_id = p.id AND m.status = 'approved'
                       AND m.partner_id IS NOT NULL) AS "active_partners!",
                  (SELECT count(*) FROM notifications n WHERE n.program_id = p.id AND n.recipient = 'advertiser'
                       AND n.read_at IS NULL) AS "unread_notifications!"
           FROM UNNEST($1::bigint[]) AS p (id)"#,
        programs,
    );
    let days = rollups::program_days(&mut *connection, programs, first, last).await?;
    let refunds = refund_rollups::refund_days(&mut *connection, programs, first, last).await?;
    let mut money = money(connection, programs, now).await?;
    let mut by_program: BTreeMap<i64, Figures> = rows
        .into_iter()
        .map(|row| {
            let figures = Figures {
                clicks_all_time: row.clicks_all_time,
                active_partners: row.active_partners,
                unread_notifications: row.unread_notifications,
                money: money.remove(&row.id).unwrap_or_default(),
                ..Figures::default()
            };
            (row.id, figures)
        })
        .collect();
    for day in days {
        let figures = by_program.entry(day.program_id.get()).or_default();
        figures.clicks += day.sums.clicks;
        figures.leads += day.sums.leads;
        figures.sales += day.sums.sales;
        if let Some(currency) = day.currency {
            let money = figures.money.entry(currency.as_str().to_owned()).or_default();
            money.revenue = money.revenue.saturating_add(day.sums.revenue_cents);
        }
    }
    for day in refunds.iter().filter(|day| day.sums.refunded_cents != 0) {
        let figures = by_program.entry(day.program_id.get()).or_default();
        let money = figures.money.entry(day.currency.as_str().to_owned()).or_default();
        money.refunded = money.refunded.saturating_add(day.sums.refunded_cents);
    }
    Ok(programs
        .iter()
        .map(|id| by_program.remove(id).unwrap_or_default())
        .collect())
}

/// The number of partners approved in any of the programs. Each counts once.
pub async fn active_partners(connection: &mut PgConnection, programs: &[i64]) -> StorageResult<i64> {
    Ok(fetch_scalar!(
        connection,
        r#"SELECT count(DISTINCT partner_id) AS "count!" FROM partner_programs
           WHERE program_id = ANY($1) AND status = 'approved'"#,
        programs,
    ))
}

/// Pending, approved and paid amounts by program and currency, without revenue and refunds.
pub async fn money(
    connection: &mut PgConnection,
    programs: &[i64],
    now: DateTime<Utc>,
) -> StorageResult<BTreeMap<i64, BTreeMap<String, Money>>> {
    let rows = fetch_all!(
        connection,
        r#"SELECT program_id AS "program_id!", currency AS "currency!", sum(pending)::bigint AS "pending!",
                  sum(approved)::bigint AS "approved!", sum(paid)::bigint AS "paid!"
           FROM (
             SELECT program_id, currency, amount_cents - deducted_cents AS pending, 0 AS approved, 0 AS paid
             FROM commissions WHERE program_id = ANY($1) AND status = 'pending'
             UNION ALL
             -- Refunded in part: still pending until it can be paid.
             SELECT c.program_id, c.currency, c.amount_cents - c.deducted_cents, 0, 0
             FROM commissions c JOIN programs p ON p.id = c.program_id
             WHERE c.program_id = ANY($1) AND c.paid_at IS NULL AND c.status = 'refunded'
               AND NOT can_be_paid(c, p.needs_approval, $2)
             UNION ALL
             -- What a payout of everything would move: less debts, and without partners who are suspended.
             SELECT u.program_id, u.currency, 0, greatest(u.cents - coalesce(d.debt_cents, 0), 0), 0
             FROM (SELECT c.program_id, c.partner_program_id, c.currency, sum(c.amount_cents - c.deducted_cents) AS cents
                   FROM commissions c JOIN programs p ON p.id = c.program_id
                   WHERE c.program_id = ANY($1) AND c.paid_at IS NULL AND c.status IN ('approved', 'refunded')
                     AND can_be_paid(c, p.needs_approval, $2)
                     AND c.partner_program_id NOT IN (SELECT id FROM partner_programs
                                                    WHERE program_id = ANY($1) AND status = 'suspended')
                   GROUP BY 1, 2, 3) u
             LEFT JOIN LATERAL (SELECT debt_cents FROM partner_program_debts
                                WHERE partner_program_id = u.partner_program_id AND currency = u.currency) d ON true
             UNION ALL
             SELECT program_id, currency, 0, 0, amount_cents FROM payouts WHERE program_id = ANY($1)
           ) AS figures
           GROUP BY program_id, currency"#,
        programs,
        now,
    );
    let mut by_program: BTreeMap<i64, BTreeMap<String, Money>> = BTreeMap::new();
    for row in rows {
        let money = Money {
            revenue: 0,
            refunded: 0,
            pending: row.pending,
            approved: row.approved,
            paid: row.paid,
        };
        by_program
            .entry(row.program_id)
            .or_default()
            .insert(row.currency, money);
    }
    Ok(by_program)
}
