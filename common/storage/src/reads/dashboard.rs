//! The summary an advertiser sees first: figures of many programs at once, until they come from aggregated tables.
//!
//! Cost of each query:
//!
//! | figure | read from | cost |
//! |---|---|---|
//! | clicks, all time | the links' counters | one row a link |
//! | clicks, leads, sales, revenue of a period | `…_events_real`, by program and time | one index entry an event of the period; revenue one row a sale |
//! | commissions pending, approved | indexes of unpaid ones | one row an unpaid commission |
//! | commissions paid | `payouts` | one row a payout |
//! | active partners | memberships | one row a membership |
//! | unread notifications | the index of unread ones | one entry each |
//!
//! Revenue of all time would read every sale ever made: it is left to the aggregated tables.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::error::StorageResult;

/// Figures of one program. Test events are in none of them.
#[derive(Debug, Default, Clone)]
pub struct Figures {
    pub clicks_all_time: i64,
    pub clicks: i64,
    pub leads: i64,
    pub sales: i64,
    pub active_partners: i64,
    pub unread_notifications: i64,
    /// By currency.
    pub money: BTreeMap<String, Money>,
}

/// Cents of one currency.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Money {
    pub revenue: i64,
    pub pending: i64,
    pub approved: i64,
    pub paid: i64,
}

/// By program, in the order of the ids; events count from `since` on, what can be paid is judged at `now`.
pub async fn figures(
    connection: &mut PgConnection,
    programs: &[i64],
    since: DateTime<Utc>,
    now: DateTime<Utc>,
) -> StorageResult<Vec<Figures>> {
    let rows = sqlx::query!(
        r#"SELECT p.id AS "id!",
                  (SELECT coalesce(sum(l.clicks), 0)::bigint FROM referral_links l WHERE l.program_id = p.id)
                      AS "clicks_all_time!",
                  (SELECT count(*) FROM click_events e WHERE e.program_id = p.id AND NOT e.is_test
                       AND e.click_timestamp > $2) AS "clicks!",
                  (SELECT count(*) FROM lead_events e WHERE e.program_id = p.id AND NOT e.is_test
                       AND e.lead_timestamp > $2) AS "leads!",
                  (SELECT count(*) FROM sale_events e WHERE e.program_id = p.id AND NOT e.is_test AND e.duplicate_of IS NULL
                       AND e.sale_date > $2) AS "sales!",
                  (SELECT count(*) FROM partner_programs m WHERE m.program_id = p.id AND m.status = 'approved'
                       AND m.partner_id IS NOT NULL) AS "active_partners!",
                  (SELECT count(*) FROM notifications n WHERE n.program_id = p.id AND n.recipient = 'advertiser'
                       AND n.read_at IS NULL) AS "unread_notifications!"
           FROM UNNEST($1::bigint[]) AS p (id)"#,
        programs,
        since,
    )
    .fetch_all(&mut *connection)
    .await?;
    let mut money = money(connection, programs, since, now).await?;
    let mut by_program: BTreeMap<i64, Figures> = rows
        .into_iter()
        .map(|row| {
            let figures = Figures {
                clicks_all_time: row.clicks_all_time,
                clicks: row.clicks,
                leads: row.leads,
                sales: row.sales,
                active_partners: row.active_partners,
                unread_notifications: row.unread_notifications,
                money: money.remove(&row.id).unwrap_or_default(),
            };
            (row.id, figures)
        })
        .collect();
    Ok(programs
        .iter()
        .map(|id| by_program.remove(id).unwrap_or_default())
        .collect())
}

/// Partners approved in any of the programs, each once.
pub async fn active_partners(connection: &mut PgConnection, programs: &[i64]) -> StorageResult<i64> {
    let count = sqlx::query_scalar!(
        r#"SELECT count(DISTINCT partner_id) AS "count!" FROM partner_programs
           WHERE program_id = ANY($1) AND status = 'approved'"#,
        programs,
    )
    .fetch_one(connection)
    .await?;
    Ok(count)
}

async fn money(
    connection: &mut PgConnection,
    programs: &[i64],
    since: DateTime<Utc>,
    now: DateTime<Utc>,
) -> StorageResult<BTreeMap<i64, BTreeMap<String, Money>>> {
    let rows = sqlx::query!(
        r#"SELECT program_id AS "program_id!", currency AS "currency!", sum(revenue)::bigint AS "revenue!",
                  sum(pending)::bigint AS "pending!", sum(approved)::bigint AS "approved!", sum(paid)::bigint AS "paid!"
           FROM (
             SELECT program_id, currency, amount_cents AS revenue, 0 AS pending, 0 AS approved, 0 AS paid
             FROM sale_events WHERE program_id = ANY($1) AND NOT is_test AND duplicate_of IS NULL AND sale_date > $2
             UNION ALL
             SELECT program_id, currency, 0, amount_cents - deducted_cents, 0, 0
             FROM commissions WHERE program_id = ANY($1) AND status = 'pending'
             UNION ALL
             -- Refunded in part: still pending until it can be paid.
             SELECT c.program_id, c.currency, 0, c.amount_cents - c.deducted_cents, 0, 0
             FROM commissions c JOIN programs p ON p.id = c.program_id
             WHERE c.program_id = ANY($1) AND c.paid_at IS NULL AND c.status = 'refunded'
               AND NOT can_be_paid(c, p.needs_approval, $3)
             UNION ALL
             -- What a payout of everything would move: less debts, and without partners who are suspended.
             SELECT u.program_id, u.currency, 0, 0, greatest(u.cents - coalesce(d.debt_cents, 0), 0), 0
             FROM (SELECT c.program_id, c.partner_program_id, c.currency, sum(c.amount_cents - c.deducted_cents) AS cents
                   FROM commissions c JOIN programs p ON p.id = c.program_id
                   WHERE c.program_id = ANY($1) AND c.paid_at IS NULL AND c.status IN ('approved', 'refunded')
                     AND can_be_paid(c, p.needs_approval, $3)
                     AND c.partner_program_id NOT IN (SELECT id FROM partner_programs
                                                    WHERE program_id = ANY($1) AND status = 'suspended')
                   GROUP BY 1, 2, 3) u
             LEFT JOIN LATERAL (SELECT debt_cents FROM partner_program_debts
                                WHERE partner_program_id = u.partner_program_id AND currency = u.currency) d ON true
             UNION ALL
             SELECT program_id, currency, 0, 0, 0, amount_cents FROM payouts WHERE program_id = ANY($1)
           ) AS figures
           GROUP BY program_id, currency"#,
        programs,
        since,
        now,
    )
    .fetch_all(connection)
    .await?;
    let mut by_program: BTreeMap<i64, BTreeMap<String, Money>> = BTreeMap::new();
    for row in rows {
        let money = Money {
            revenue: row.revenue,
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
