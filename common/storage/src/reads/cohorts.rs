//! `customer_month_deltas`, `customer_months` and `program_cohorts`: customers by the month of their first
//! sale, and their sums for each month since.
//!
//! [`rollups`](super::rollups) also appends, folds and rebuilds these tables. A delta names the customer, not
//! the cohort, so writers need no lookup. The fold knows the month of a customer's first sale, and moves the
//! customer's months if another sale proves to be the first. A reader adds the unfolded deltas.

use std::collections::BTreeMap;

use chrono::{Datelike, NaiveDate};
use sqlx::PgConnection;

use crate::error::StorageResult;
use domain::ids::{CustomerId, ProgramId, ReferralLinkId};
use domain::money::Currency;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    program_id: ProgramId,
    customer_id: CustomerId,
    /// The month's first day, UTC.
    month: NaiveDate,
    currency: Currency,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MonthSums {
    pub sales: i64,
    pub revenue_cents: i64,
    pub refunded_cents: i64,
    pub commission_cents: i64,
    /// Deducted from commissions by refunds and by hand, less what was added by hand.
    pub deducted_cents: i64,
}

/// The keys under which a sum counts.
#[derive(Debug, Clone, Copy)]
pub struct Counted {
    pub program_id: ProgramId,
    pub customer_id: CustomerId,
    pub referral_link_id: Option<ReferralLinkId>,
    pub day: NaiveDate,
    pub currency: Currency,
}

/// Additions of a batch, for the same rows as [`Deltas`](super::rollups::Deltas).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct CustomerDeltas(BTreeMap<Key, MonthSums>);

/// The first day of the month that contains `day`.
pub(super) fn month(day: NaiveDate) -> NaiveDate {
    day.with_day(1).unwrap_or(day)
}

impl CustomerDeltas {
    pub(super) fn on(&mut self, of: Counted) -> &mut MonthSums {
        let key = Key {
            program_id: of.program_id,
            customer_id: of.customer_id,
            month: month(of.day),
            currency: of.currency,
        };
        self.0.entry(key).or_default()
    }

    pub(super) fn extend(&mut self, other: Self) {
        for (key, sums) in other.0 {
            let known = self.0.entry(key).or_default();
            known.sales += sums.sales;
            known.revenue_cents += sums.revenue_cents;
            known.refunded_cents += sums.refunded_cents;
            known.commission_cents += sums.commission_cents;
            known.deducted_cents += sums.deducted_cents;
        }
    }

    /// Must run in the transaction that writes the counted rows.
    pub(super) async fn append(&self, connection: &mut PgConnection) -> StorageResult<()> {
        // Sums of zero are left out: moving a sale to another link does not change the customer's month.
        let changed: Vec<_> = self
            .0
            .iter()
            .filter(|(_, sums)| **sums != MonthSums::default())
            .collect();
        if changed.is_empty() {
            return Ok(());
        }
        write_batch!(
            connection,
            "INSERT INTO customer_month_deltas (program_id, customer_id, month, currency, sales, revenue_cents, refunded_cents,
                 commission_cents, deducted_cents)
             SELECT * FROM UNNEST($1::bigint[], $2::bigint[], $3::date[], $4::text[], $5::bigint[], $6::bigint[], $7::bigint[],
                 $8::bigint[], $9::bigint[])",
            (key, sums) in changed =>
                programs: i64 = key.program_id.get(),
                customers: i64 = key.customer_id.get(),
                months: NaiveDate = key.month,
                currencies: &str = key.currency.as_str(),
                sales: i64 = sums.sales,
                revenues: i64 = sums.revenue_cents,
                refunded: i64 = sums.refunded_cents,
                commissions: i64 = sums.commission_cents,
                deducted: i64 = sums.deducted_cents
        );
        Ok(())
    }
}

/// Folds these deltas in the transaction and under the lock of [`rollups::fold`](super::rollups::fold).
pub(super) async fn fold(connection: &mut PgConnection, limit: i64) -> StorageResult<i64> {
    let last = fetch_scalar!(
        &mut *connection,
        "SELECT max(id) FROM (SELECT id FROM customer_month_deltas ORDER BY id LIMIT $1) oldest",
        limit,
    );
    let Some(last) = last else {
        return Ok(0);
    };
    // The same statement computes the changes from the deltas and deletes them: one snapshot for both.
    Ok(fetch_scalar!(
        connection,
        r#"WITH changes AS (
               INSERT INTO program_cohorts AS c
               SELECT program_id, cohort, month, currency, customers, sales, least(revenue_cents, 9223372036854775807),
                      least(refunded_cents, 9223372036854775807), least(commission_cents, 9223372036854775807),
                      least(deducted_cents, 9223372036854775807)
               FROM cohort_changes(NULL, $1)
               WHERE customers <> 0 OR sales <> 0 OR revenue_cents <> 0 OR refunded_cents <> 0 OR commission_cents <> 0
                  OR deducted_cents <> 0
               ON CONFLICT (program_id, cohort, month, currency) DO UPDATE SET
                   customers = c.customers + excluded.customers, sales = c.sales + excluded.sales,
                   revenue_cents = least(c.revenue_cents::numeric + excluded.revenue_cents, 9223372036854775807),
                   refunded_cents = least(c.refunded_cents::numeric + excluded.refunded_cents, 9223372036854775807),
                   commission_cents = least(c.commission_cents::numeric + excluded.commission_cents, 9223372036854775807),
                   deducted_cents = least(c.deducted_cents::numeric + excluded.deducted_cents, 9223372036854775807)
           ), taken AS (
               DELETE FROM customer_month_deltas WHERE id <= $1 RETURNING *
           ), months AS (
               INSERT INTO customer_months AS m
               SELECT program_id, customer_id, month, currency, sum(sales), least(sum(revenue_cents), 9223372036854775807),
                      least(sum(refunded_cents), 9223372036854775807), least(sum(commission_cents), 9223372036854775807),
                      least(sum(deducted_cents), 9223372036854775807)
               FROM taken GROUP BY 1, 2, 3, 4
               ON CONFLICT (program_id, customer_id, month, currency) DO UPDATE SET
                   sales = m.sales + excluded.sales,
                   revenue_cents = least(m.revenue_cents::numeric + excluded.revenue_cents, 9223372036854775807),
                   refunded_cents = least(m.refunded_cents::numeric + excluded.refunded_cents, 9223372036854775807),
                   commission_cents = least(m.commission_cents::numeric + excluded.commission_cents, 9223372036854775807),
                   deducted_cents = least(m.deducted_cents::numeric + excluded.deducted_cents, 9223372036854775807)
           )
           SELECT count(*) AS "folded!" FROM taken"#,
        last,
    ))
}

pub(super) async fn rebuild(snapshot: &mut PgConnection, program_id: ProgramId) -> StorageResult<()> {
    let program = program_id.get();
    execute!(
        &mut *snapshot,
        "DELETE FROM customer_month_deltas WHERE program_id = $1",
        program
    );
    execute!(
        &mut *snapshot,
        "DELETE FROM customer_months WHERE program_id = $1",
        program
    );
    execute!(
        &mut *snapshot,
        "DELETE FROM program_cohorts WHERE program_id = $1",
        program
    );
    execute!(
        &mut *snapshot,
        "INSERT INTO customer_months
         SELECT program_id, customer_id, month, currency, sum(sales), least(sum(revenue_cents), 9223372036854775807),
                least(sum(refunded_cents), 9223372036854775807), least(sum(commission_cents), 9223372036854775807),
                least(sum(deducted_cents), 9223372036854775807)
         FROM recomputed_customer_months WHERE program_id = $1 GROUP BY 1, 2, 3, 4",
        program,
    );
    execute!(
        snapshot,
        "INSERT INTO program_cohorts
         SELECT program_id, cohort, month, currency, customers, sales, least(revenue_cents, 9223372036854775807),
                least(refunded_cents, 9223372036854775807), least(commission_cents, 9223372036854775807),
                least(deducted_cents, 9223372036854775807)
         FROM recomputed_cohorts WHERE program_id = $1",
        program,
    );
    Ok(())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CohortMonth {
    /// The first day of the month in which its customers first bought.
    pub cohort: NaiveDate,
    /// The first day of the counted month: the cohort's or a later one.
    pub month: NaiveDate,
    /// `None` for the number of customers who bought in any currency.
    pub currency: Option<Currency>,
    pub customers: i64,
    pub sums: MonthSums,
}

/// The cohorts from `first` to `last` (both included), sorted by cohort, month and currency.
pub async fn cohorts(
    connection: &mut PgConnection,
    program_id: ProgramId,
    first: NaiveDate,
    last: NaiveDate,
) -> StorageResult<Vec<CohortMonth>> {
    Ok(sqlx::query!(
        r#"SELECT cohort AS "cohort!", month AS "month!", nullif(currency, '') AS "currency: Currency", sum(customers)::bigint AS "customers!",
                  sum(sales)::bigint AS "sales!", least(sum(revenue_cents), 9223372036854775807)::bigint AS "revenue_cents!",
                  least(sum(refunded_cents), 9223372036854775807)::bigint AS "refunded_cents!",
                  least(sum(commission_cents), 9223372036854775807)::bigint AS "commission_cents!",
                  least(sum(deducted_cents), 9223372036854775807)::bigint AS "deducted_cents!"
           FROM (
               SELECT cohort, month, currency, customers, sales, revenue_cents, refunded_cents, commission_cents, deducted_cents
               FROM program_cohorts WHERE program_id = $1 AND cohort BETWEEN $2 AND $3
               UNION ALL
               SELECT cohort, month, currency, customers, sales, revenue_cents, refunded_cents, commission_cents, deducted_cents
               FROM cohort_changes($1, 9223372036854775807) WHERE cohort BETWEEN $2 AND $3
           ) both_kinds
           GROUP BY 1, 2, 3
           HAVING sum(customers) <> 0 OR sum(sales) <> 0 OR sum(revenue_cents) <> 0 OR sum(refunded_cents) <> 0
               OR sum(commission_cents) <> 0 OR sum(deducted_cents) <> 0
           ORDER BY 1, 2, 3"#,
        program_id.get(),
        first,
        last,
    )
    .map(|row| CohortMonth {
        cohort: row.cohort,
        month: row.month,
        currency: row.currency,
        customers: row.customers,
        sums: MonthSums {
            sales: row.sales,
            revenue_cents: row.revenue_cents,
            refunded_cents: row.refunded_cents,
            commission_cents: row.commission_cents,
            deducted_cents: row.deducted_cents,
        },
    })
    .fetch_all(connection)
    .await?)
}
