//! `refund_deltas`, `program_refund_days` and `link_refund_days`: refunds and deductions by UTC day.
//!
//! [`rollups`](super::rollups) also folds and rebuilds these tables: writers append their sums in the
//! transaction of the refund, and a reader adds days and deltas. A refund and its deductions from commissions
//! count on the day of the refund, not of the sale. Changes by hand, and deductions of a replacement
//! commission for earlier refunds, count on the day they are posted. Undone sales and superseded commissions
//! do not count: their refunds are subtracted from the days on which they were counted.

use std::collections::BTreeMap;

use chrono::{DateTime, NaiveDate, Utc};
use sqlx::PgConnection;

use super::cohorts::{Counted, CustomerDeltas};
use crate::error::StorageResult;
use domain::ids::{CommissionId, ProgramId, ReferralLinkId, SaleId};
use domain::money::{Cents, Currency};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    program_id: ProgramId,
    /// `None` for sums without a link.
    referral_link_id: Option<ReferralLinkId>,
    day: NaiveDate,
    currency: Currency,
}

/// Cents of one currency.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RefundSums {
    pub refunded_cents: i64,
    /// Deductions from commissions of sales, by refunds and by hand, before they are limited by the balance.
    /// An addition by hand counts as a negative deduction, so commissions less this sum are what remains.
    pub deducted_cents: i64,
}

/// Additions of a batch. Add only rows that the batch has inserted: a redelivered refund adds nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RefundDeltas {
    days: BTreeMap<Key, RefundSums>,
    customers: CustomerDeltas,
}

impl RefundDeltas {
    pub fn refund(&mut self, counted: Counted, grew: Cents) {
        self.on(counted).refunded_cents += grew.get();
        self.customers.on(counted).refunded_cents += grew.get();
    }

    pub fn deduction(&mut self, counted: Counted, requested: Cents) {
        self.on(counted).deducted_cents += requested.get();
        self.customers.on(counted).deducted_cents += requested.get();
    }

    fn on(&mut self, counted: Counted) -> &mut RefundSums {
        let key = Key {
            program_id: counted.program_id,
            referral_link_id: counted.referral_link_id,
            day: counted.day,
            currency: counted.currency,
        };
        self.days.entry(key).or_default()
    }

    /// Must run in the transaction that writes the counted rows.
    pub async fn append(mut self, connection: &mut PgConnection) -> StorageResult<()> {
        self.customers.append(connection).await?;
        self.days.retain(|_, sums| *sums != RefundSums::default());
        write_batch!(
            connection,
            "INSERT INTO refund_deltas (program_id, referral_link_id, day, currency, refunded_cents, deducted_cents)
             SELECT * FROM UNNEST($1::bigint[], $2::bigint[], $3::date[], $4::text[], $5::bigint[], $6::bigint[])",
            (key, sums) in self.days =>
                programs: i64 = key.program_id.get(),
                links: i64 = key.referral_link_id.map_or(0, ReferralLinkId::get),
                days: NaiveDate = key.day,
                currencies: &str = key.currency.as_str(),
                refunded: i64 = sums.refunded_cents,
                deducted: i64 = sums.deducted_cents
        );
        Ok(())
    }
}

/// The day on which this transaction's ledger entries count, unless a refund caused them.
pub async fn posting_day(connection: &mut PgConnection) -> StorageResult<NaiveDate> {
    let now: DateTime<Utc> = fetch_scalar!(connection, r#"SELECT now() AS "now!""#);
    Ok(now.date_naive())
}

/// Counts changes of these commissions by hand, which this transaction has posted as one group.
pub async fn count_adjustments(
    connection: &mut PgConnection,
    commissions: &[i64],
    entry_group: uuid::Uuid,
) -> StorageResult<()> {
    execute!(
        &mut *connection,
        "INSERT INTO refund_deltas (program_id, referral_link_id, day, currency, refunded_cents, deducted_cents)
         SELECT d.program_id, d.referral_link_id, d.day, d.currency, 0, sum(d.cents)::bigint
         FROM counted_deductions d WHERE d.commission_id = ANY($1) AND d.entry_group = $2
         GROUP BY 1, 2, 3, 4 HAVING sum(d.cents) <> 0",
        commissions,
        entry_group,
    );
    execute!(
        connection,
        "INSERT INTO customer_month_deltas (program_id, customer_id, month, currency, sales, revenue_cents, refunded_cents,
             commission_cents, deducted_cents)
         SELECT d.program_id, c.customer_id, date_trunc('month', d.day)::date, d.currency, 0, 0, 0, 0, sum(d.cents)::bigint
         FROM counted_deductions d JOIN commissions c ON c.id = d.commission_id
         WHERE d.commission_id = ANY($1) AND d.entry_group = $2
         GROUP BY 1, 2, 3, 4 HAVING sum(d.cents) <> 0",
        commissions,
        entry_group,
    );
    Ok(())
}

/// Subtracts the refunds of sales. Called before the sales are marked as undone.
pub async fn forget_sales(connection: &mut PgConnection, sales: &[i64]) -> StorageResult<()> {
    execute!(
        &mut *connection,
        "INSERT INTO refund_deltas (program_id, referral_link_id, day, currency, refunded_cents, deducted_cents)
         SELECT program_id, referral_link_id, day, currency, -sum(refunded)::bigint, -sum(deducted)::bigint
         FROM (SELECT r.program_id, coalesce(s.referral_link_id, 0) AS referral_link_id,
                      (r.refunded_at AT TIME ZONE 'UTC')::date AS day, s.currency, r.effective_cents AS refunded, 0 AS deducted
               FROM refunds r JOIN sale_events s ON s.id = r.sale_id WHERE r.sale_id = ANY($1)
               UNION ALL
               SELECT program_id, referral_link_id, day, currency, 0, cents FROM counted_deductions WHERE sale_id = ANY($1)) given_back
         GROUP BY 1, 2, 3, 4",
        sales,
    );
    execute!(
        connection,
        "INSERT INTO customer_month_deltas (program_id, customer_id, month, currency, sales, revenue_cents, refunded_cents,
             commission_cents, deducted_cents)
         SELECT program_id, customer_id, month, currency, 0, 0, -sum(refunded)::bigint, 0, -sum(deducted)::bigint
         FROM (SELECT s.program_id, s.customer_id, date_trunc('month', r.refunded_at AT TIME ZONE 'UTC')::date AS month, s.currency,
                      r.effective_cents AS refunded, 0 AS deducted
               FROM refunds r JOIN sale_events s ON s.id = r.sale_id WHERE r.sale_id = ANY($1)
               UNION ALL
               SELECT d.program_id, s.customer_id, date_trunc('month', d.day)::date, d.currency, 0, d.cents
               FROM counted_deductions d JOIN sale_events s ON s.id = d.sale_id WHERE d.sale_id = ANY($1)) given_back
         GROUP BY 1, 2, 3, 4",
        sales,
    );
    Ok(())
}

/// Subtracts the deductions from commissions. Called before the commissions are superseded.
pub async fn forget_commissions(
    connection: &mut PgConnection,
    commissions: &[CommissionId],
) -> StorageResult<()> {
    if commissions.is_empty() {
        return Ok(());
    }
    columns!(commission in commissions => ids: i64 = commission.get());
    execute!(
        &mut *connection,
        "INSERT INTO refund_deltas (program_id, referral_link_id, day, currency, refunded_cents, deducted_cents)
         SELECT program_id, referral_link_id, day, currency, 0, -sum(cents)::bigint
         FROM counted_deductions WHERE commission_id = ANY($1) GROUP BY 1, 2, 3, 4",
        &ids,
    );
    execute!(
        connection,
        "INSERT INTO customer_month_deltas (program_id, customer_id, month, currency, sales, revenue_cents, refunded_cents,
             commission_cents, deducted_cents)
         SELECT d.program_id, c.customer_id, date_trunc('month', d.day)::date, d.currency, 0, 0, 0, 0, -sum(d.cents)::bigint
         FROM counted_deductions d JOIN commissions c ON c.id = d.commission_id
         WHERE d.commission_id = ANY($1) GROUP BY 1, 2, 3, 4",
        &ids,
    );
    Ok(())
}

/// Moves the refunds of sales to other links. Called before the sales are credited to these links.
pub async fn move_sales(
    connection: &mut PgConnection,
    sales: &[(SaleId, Option<ReferralLinkId>)],
) -> StorageResult<()> {
    write_batch!(
        connection,
        "INSERT INTO refund_deltas (program_id, referral_link_id, day, currency, refunded_cents, deducted_cents)
         SELECT r.program_id, side.link_id, (r.refunded_at AT TIME ZONE 'UTC')::date, s.currency,
                sum(side.sign * r.effective_cents)::bigint, 0
         FROM UNNEST($1::bigint[], $2::bigint[]) AS n (sale_id, link_id)
         JOIN sale_events s ON s.id = n.sale_id JOIN refunds r ON r.sale_id = s.id
         CROSS JOIN LATERAL (VALUES (coalesce(s.referral_link_id, 0), -1), (n.link_id, 1)) AS side (link_id, sign)
         GROUP BY 1, 2, 3, 4 HAVING sum(side.sign * r.effective_cents) <> 0",
        (sale, link) in sales =>
            ids: i64 = sale.get(),
            links: i64 = link.map_or(0, ReferralLinkId::get)
    );
    Ok(())
}

/// Moves the deductions from commissions to other links, before the commissions are moved to them.
pub async fn move_commissions(
    connection: &mut PgConnection,
    commissions: &[(CommissionId, ReferralLinkId)],
) -> StorageResult<()> {
    write_batch!(
        connection,
        "INSERT INTO refund_deltas (program_id, referral_link_id, day, currency, refunded_cents, deducted_cents)
         SELECT d.program_id, side.link_id, d.day, d.currency, 0, sum(side.sign * d.cents)::bigint
         FROM UNNEST($1::bigint[], $2::bigint[]) AS n (id, link_id)
         JOIN counted_deductions d ON d.commission_id = n.id
         CROSS JOIN LATERAL (VALUES (d.referral_link_id, -1), (n.link_id, 1)) AS side (link_id, sign)
         GROUP BY 1, 2, 3, 4 HAVING sum(side.sign * d.cents) <> 0",
        (commission, link) in commissions =>
            ids: i64 = commission.get(),
            links: i64 = link.get()
    );
    Ok(())
}

/// Folds these deltas in the transaction and under the lock of [`rollups::fold`](super::rollups::fold).
pub(super) async fn fold(connection: &mut PgConnection, limit: i64) -> StorageResult<i64> {
    Ok(fetch_scalar!(
        connection,
        r#"WITH taken AS (
               DELETE FROM refund_deltas
               WHERE id <= (SELECT max(id) FROM (SELECT id FROM refund_deltas ORDER BY id LIMIT $1) AS oldest)
               RETURNING *
           ), programs AS (
               INSERT INTO program_refund_days AS d
               SELECT program_id, day, currency, least(sum(refunded_cents), 9223372036854775807),
                      least(sum(deducted_cents), 9223372036854775807)
               FROM taken GROUP BY 1, 2, 3
               ON CONFLICT (program_id, day, currency) DO UPDATE SET
                   refunded_cents = least(d.refunded_cents::numeric + excluded.refunded_cents, 9223372036854775807),
                   deducted_cents = least(d.deducted_cents::numeric + excluded.deducted_cents, 9223372036854775807)
           ), links AS (
               INSERT INTO link_refund_days AS d
               SELECT referral_link_id, day, currency, min(program_id), least(sum(refunded_cents), 9223372036854775807),
                      least(sum(deducted_cents), 9223372036854775807)
               FROM taken WHERE referral_link_id <> 0 GROUP BY 1, 2, 3
               ON CONFLICT (referral_link_id, day, currency) DO UPDATE SET
                   refunded_cents = least(d.refunded_cents::numeric + excluded.refunded_cents, 9223372036854775807),
                   deducted_cents = least(d.deducted_cents::numeric + excluded.deducted_cents, 9223372036854775807)
           )
           SELECT count(*) AS "folded!" FROM taken"#,
        limit,
    ))
}

pub(super) async fn rebuild(snapshot: &mut PgConnection, program_id: ProgramId) -> StorageResult<()> {
    let program = program_id.get();
    execute!(
        &mut *snapshot,
        "DELETE FROM refund_deltas WHERE program_id = $1",
        program
    );
    execute!(
        &mut *snapshot,
        "DELETE FROM program_refund_days WHERE program_id = $1",
        program
    );
    execute!(
        &mut *snapshot,
        "DELETE FROM link_refund_days WHERE program_id = $1",
        program
    );
    execute!(
        snapshot,
        "WITH sums AS MATERIALIZED (SELECT * FROM recomputed_refunds WHERE program_id = $1), programs AS (
             INSERT INTO program_refund_days
             SELECT program_id, day, currency, least(sum(refunded_cents), 9223372036854775807),
                    least(sum(deducted_cents), 9223372036854775807)
             FROM sums GROUP BY 1, 2, 3
         )
         INSERT INTO link_refund_days
         SELECT referral_link_id, day, currency, program_id, least(sum(refunded_cents), 9223372036854775807),
                least(sum(deducted_cents), 9223372036854775807)
         FROM sums WHERE referral_link_id <> 0 GROUP BY 1, 2, 3, 4",
        program_id.get(),
    );
    Ok(())
}

/// A program's refunds and deductions on a day, in one currency.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RefundDay {
    pub program_id: ProgramId,
    pub day: NaiveDate,
    pub currency: Currency,
    pub sums: RefundSums,
}

/// The days from `first` to `last` (both included) with refunds or deductions, by program, day and currency.
pub async fn refund_days(
    connection: &mut PgConnection,
    programs: &[i64],
    first: NaiveDate,
    last: NaiveDate,
) -> StorageResult<Vec<RefundDay>> {
    Ok(sqlx::query!(
        r#"SELECT program_id AS "program_id!: ProgramId", day AS "day!", currency AS "currency!: Currency",
                  least(sum(refunded_cents), 9223372036854775807)::bigint AS "refunded_cents!",
                  least(sum(deducted_cents), 9223372036854775807)::bigint AS "deducted_cents!"
           FROM (
               SELECT program_id, day, currency, refunded_cents, deducted_cents
               FROM program_refund_days WHERE program_id = ANY($1) AND day BETWEEN $2 AND $3
               UNION ALL
               SELECT program_id, day, currency, refunded_cents, deducted_cents
               FROM refund_deltas WHERE program_id = ANY($1) AND day BETWEEN $2 AND $3
           ) both_kinds
           GROUP BY program_id, day, currency ORDER BY program_id, day, currency"#,
        programs,
        first,
        last,
    )
    .map(|row| RefundDay {
        program_id: row.program_id,
        day: row.day,
        currency: row.currency,
        sums: RefundSums {
            refunded_cents: row.refunded_cents,
            deducted_cents: row.deducted_cents,
        },
    })
    .fetch_all(connection)
    .await?)
}
