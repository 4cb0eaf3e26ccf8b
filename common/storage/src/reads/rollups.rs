//! `rollup_deltas`, `program_days` and `link_days`: sums of events by UTC day.
//!
//! Writers of events append their sums ([`Deltas`]) in the same transaction. [`fold`] moves deltas into their
//! days. A reader ([`program_days`]) adds both in one statement, so that each event counts once, folded or
//! not. [`rebuild`] rewrites the days from the view `recomputed_sums`; `ctl verify` compares the days with
//! the same view. Refunds have days of their own ([`refund_rollups`]), and so do customers by the month of
//! their first sale ([`cohorts`]): both are folded and rebuilt with these. Clicks by origin
//! ([`click_origins`]) are folded with them.

use std::collections::BTreeMap;

use chrono::{DateTime, NaiveDate, Utc};
use sqlx::{Connection, PgConnection, PgPool};

use super::cohorts::{Counted, CustomerDeltas};
use super::{click_origins, cohorts, refund_rollups};
use crate::error::StorageResult;
use crate::money::commissions::{LockedCommission, NewCommission};
use crate::money::duplicate_sales::{CountedCommission, Recorded};
use crate::tracking::customers::Milestone;
use crate::tracking::sales::NewSale;
use domain::ids::{ProgramId, ReferralLinkId};
use domain::money::Currency;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct RollupKey {
    program_id: ProgramId,
    /// The credited link; `None` for sums without a link.
    referral_link_id: Option<ReferralLinkId>,
    /// UTC.
    day: NaiveDate,
    /// Currency of the amounts; `None` for counts only.
    currency: Option<Currency>,
}

/// Sums of one key. Only real events, never test events.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sums {
    pub clicks: i64,
    /// Customers who became leads.
    pub leads: i64,
    /// Customers who became conversions.
    pub conversions: i64,
    /// New memberships.
    pub partners: i64,
    pub sales: i64,
    /// Amounts paid for sales. Refunds have days of their own.
    pub revenue_cents: i64,
    /// Amounts of new commissions. Deductions have days of their own.
    pub commission_cents: i64,
}

impl Sums {
    pub const fn add(&mut self, other: &Self) {
        self.clicks += other.clicks;
        self.leads += other.leads;
        self.conversions += other.conversions;
        self.partners += other.partners;
        self.sales += other.sales;
        self.revenue_cents += other.revenue_cents;
        self.commission_cents += other.commission_cents;
    }
}

/// Additions of a batch. Add only rows that the batch has inserted: a redelivered event adds nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Deltas {
    days: BTreeMap<RollupKey, Sums>,
    customers: CustomerDeltas,
}

impl Deltas {
    pub fn of_membership(program_id: ProgramId, created_at: DateTime<Utc>) -> Self {
        let mut deltas = Self::default();
        deltas
            .on(program_id, None, created_at.date_naive(), None)
            .partners += 1;
        deltas
    }

    pub fn click(&mut self, program_id: ProgramId, link: ReferralLinkId, clicked_at: DateTime<Utc>) {
        self.on(program_id, Some(link), clicked_at.date_naive(), None)
            .clicks += 1;
    }

    pub fn lead(&mut self, program_id: ProgramId, signup: Milestone) {
        self.on(program_id, signup.referral_link_id, signup.at.date_naive(), None)
            .leads += 1;
    }

    pub fn conversion(&mut self, program_id: ProgramId, purchase: Milestone) {
        self.of_purchase(program_id, purchase).conversions += 1;
    }

    /// Subtracts a purchase that proves not to be the first.
    pub fn no_conversion(&mut self, program_id: ProgramId, purchase: Milestone) {
        self.of_purchase(program_id, purchase).conversions -= 1;
    }

    fn of_purchase(&mut self, program_id: ProgramId, purchase: Milestone) -> &mut Sums {
        let day = purchase.at.date_naive();
        self.on(program_id, purchase.referral_link_id, day, None)
    }

    pub fn sale(&mut self, new: &NewSale<'_>) {
        let (record, sale) = (new.record, &new.record.sale);
        let of = Counted {
            program_id: record.program_id,
            customer_id: new.customer_id,
            referral_link_id: new.referral_link_id,
            day: record.sold_at.date_naive(),
            currency: sale.currency,
        };
        self.add_sales(of, 1, sale.amount.get());
    }

    pub fn commission(&mut self, new: &NewCommission<'_>) {
        self.add_commission(new.counted(), new.credit.amount.get());
    }

    pub fn no_sale(&mut self, undone: &Recorded) {
        self.add_sales(undone.counted(), -1, -undone.amount.get());
    }

    pub fn moved_sale(&mut self, sale: &Recorded, to: Option<ReferralLinkId>) {
        self.no_sale(sale);
        let moved = Counted {
            referral_link_id: to,
            ..sale.counted()
        };
        self.add_sales(moved, 1, sale.amount.get());
    }

    pub fn no_commission(&mut self, undone: CountedCommission) {
        self.add_commission(undone.counted, -undone.amount_cents);
    }

    pub fn superseded(&mut self, commission: &LockedCommission) {
        self.add_commission(commission.counted(), -commission.earned().get());
    }

    pub fn moved_commission(&mut self, commission: &LockedCommission, to: ReferralLinkId) {
        self.superseded(commission);
        let moved = Counted {
            referral_link_id: Some(to),
            ..commission.counted()
        };
        self.add_commission(moved, commission.earned().get());
    }

    fn add_sales(&mut self, of: Counted, sales: i64, revenue_cents: i64) {
        let sums = self.on(of.program_id, of.referral_link_id, of.day, Some(of.currency));
        sums.sales += sales;
        sums.revenue_cents += revenue_cents;
        let of_customer = self.customers.on(of);
        of_customer.sales += sales;
        of_customer.revenue_cents += revenue_cents;
    }

    fn add_commission(&mut self, of: Counted, cents: i64) {
        self.on(of.program_id, of.referral_link_id, of.day, Some(of.currency))
            .commission_cents += cents;
        self.customers.on(of).commission_cents += cents;
    }

    pub fn extend(&mut self, other: Self) {
        for (key, sums) in other.days {
            self.days.entry(key).or_default().add(&sums);
        }
        self.customers.extend(other.customers);
    }

    fn on(
        &mut self,
        program_id: ProgramId,
        referral_link_id: Option<ReferralLinkId>,
        day: NaiveDate,
        currency: Option<Currency>,
    ) -> &mut Sums {
        let key = RollupKey {
            program_id,
            referral_link_id,
            day,
            currency,
        };
        self.days.entry(key).or_default()
    }

    /// Must run in the transaction that writes the counted rows.
    pub async fn append(&self, connection: &mut PgConnection) -> StorageResult<()> {
        self.customers.append(connection).await?;
        write_batch!(
            connection,
            "INSERT INTO rollup_deltas (program_id, referral_link_id, day, currency, clicks, leads, conversions, partners,
                 sales, revenue_cents, commission_cents)
             SELECT * FROM UNNEST($1::bigint[], $2::bigint[], $3::date[], $4::text[], $5::bigint[], $6::bigint[],
                 $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[])",
            (key, sums) in self.days =>
                programs: i64 = key.program_id.get(),
                links: i64 = key.referral_link_id.map_or(0, ReferralLinkId::get),
                days: NaiveDate = key.day,
                currencies: &str = key.currency.as_ref().map_or("", Currency::as_str),
                clicks: i64 = sums.clicks,
                leads: i64 = sums.leads,
                conversions: i64 = sums.conversions,
                partners: i64 = sums.partners,
                sales: i64 = sums.sales,
                revenues: i64 = sums.revenue_cents,
                commissions: i64 = sums.commission_cents
        );
        Ok(())
    }
}

/// Advisory lock: only one process folds or rebuilds at a time.
const FOLDING: i64 = 0x726f_6c6c_7570;

/// Moves up to `limit` deltas into their days and returns how many. Does nothing while another process folds.
///
/// Amounts are limited to a bigint: one program's absurd prices must not stop the fold of all programs.
pub async fn fold(pool: &PgPool, limit: i64) -> StorageResult<u64> {
    let mut transaction = pool.begin().await?;
    let alone = fetch_scalar!(
        &mut *transaction,
        r#"SELECT pg_try_advisory_xact_lock($1) AS "alone!""#,
        FOLDING
    );
    if !alone {
        return Ok(0);
    }
    let folded = fetch_scalar!(
        &mut *transaction,
        r#"WITH taken AS (
               -- By a bound, not by a list: a plan made while the table was empty stays linear when it is not.
               DELETE FROM rollup_deltas
               WHERE id <= (SELECT max(id) FROM (SELECT id FROM rollup_deltas ORDER BY id LIMIT $1) AS oldest)
               RETURNING *
           ), programs AS (
               INSERT INTO program_days AS d
               SELECT program_id, day, currency, sum(clicks), sum(leads), sum(conversions), sum(partners), sum(sales),
                      least(sum(revenue_cents), 9223372036854775807), least(sum(commission_cents), 9223372036854775807)
               FROM taken GROUP BY 1, 2, 3
               ON CONFLICT (program_id, day, currency) DO UPDATE SET
                   clicks = d.clicks + excluded.clicks, leads = d.leads + excluded.leads,
                   conversions = d.conversions + excluded.conversions, partners = d.partners + excluded.partners,
                   sales = d.sales + excluded.sales,
                   revenue_cents = least(d.revenue_cents::numeric + excluded.revenue_cents, 9223372036854775807),
                   commission_cents = least(d.commission_cents::numeric + excluded.commission_cents, 9223372036854775807)
           ), links AS (
               INSERT INTO link_days AS d
               SELECT referral_link_id, day, currency, min(program_id), sum(clicks), sum(leads), sum(conversions),
                      sum(sales), least(sum(revenue_cents), 9223372036854775807),
                      least(sum(commission_cents), 9223372036854775807)
               FROM taken WHERE referral_link_id <> 0 GROUP BY 1, 2, 3
               ON CONFLICT (referral_link_id, day, currency) DO UPDATE SET
                   clicks = d.clicks + excluded.clicks, leads = d.leads + excluded.leads,
                   conversions = d.conversions + excluded.conversions, sales = d.sales + excluded.sales,
                   revenue_cents = least(d.revenue_cents::numeric + excluded.revenue_cents, 9223372036854775807),
                   commission_cents = least(d.commission_cents::numeric + excluded.commission_cents, 9223372036854775807)
           )
           SELECT count(*) AS "folded!" FROM taken"#,
        limit,
    );
    let refunds = refund_rollups::fold(&mut transaction, limit).await?;
    let origins = click_origins::fold(&mut transaction, limit).await?;
    let months = cohorts::fold(&mut transaction, limit).await?;
    transaction.commit().await?;
    Ok(u64::try_from(folded + refunds + origins + months).unwrap_or_default())
}

pub async fn programs(pool: &PgPool) -> StorageResult<Vec<ProgramId>> {
    Ok(fetch_scalars!(
        pool,
        r#"SELECT id AS "id: ProgramId" FROM programs ORDER BY id"#
    ))
}

/// Replaces a program's days with the sums of its rows, under traffic.
///
/// One snapshot decides everything. An event in the snapshot is in the recomputed sums, and its delta, if not
/// folded yet, is deleted. An event outside the snapshot keeps its delta. No fold may run meanwhile, because
/// it would move deltas after the snapshot was taken.
pub async fn rebuild(pool: &PgPool, program_id: ProgramId) -> StorageResult<()> {
    // The lock must be acquired before the snapshot is taken, so it belongs to the session, not to the
    // transaction. It ends with the connection, which therefore never returns to the pool.
    let mut connection = pool.acquire().await?.detach();
    sqlx::query("SET statement_timeout = 0")
        .execute(&mut connection)
        .await?;
    sqlx::query("SELECT pg_advisory_lock($1)")
        .bind(FOLDING)
        .execute(&mut connection)
        .await?;
    let mut snapshot = connection
        .begin_with("BEGIN ISOLATION LEVEL REPEATABLE READ")
        .await?;
    let program = program_id.get();
    execute!(
        &mut *snapshot,
        "DELETE FROM rollup_deltas WHERE program_id = $1",
        program
    );
    execute!(
        &mut *snapshot,
        "DELETE FROM program_days WHERE program_id = $1",
        program
    );
    execute!(
        &mut *snapshot,
        "DELETE FROM link_days WHERE program_id = $1",
        program
    );
    execute!(
        &mut *snapshot,
        "WITH sums AS MATERIALIZED (SELECT * FROM recomputed_sums WHERE program_id = $1), programs AS (
             INSERT INTO program_days
             SELECT program_id, day, currency, sum(clicks), sum(leads), sum(conversions), sum(partners), sum(sales),
                    least(sum(revenue_cents), 9223372036854775807), least(sum(commission_cents), 9223372036854775807)
             FROM sums GROUP BY 1, 2, 3
         )
         INSERT INTO link_days
         SELECT referral_link_id, day, currency, program_id, sum(clicks), sum(leads), sum(conversions), sum(sales),
                least(sum(revenue_cents), 9223372036854775807), least(sum(commission_cents), 9223372036854775807)
         FROM sums WHERE referral_link_id <> 0 GROUP BY 1, 2, 3, 4",
        program_id.get(),
    );
    refund_rollups::rebuild(&mut snapshot, program_id).await?;
    cohorts::rebuild(&mut snapshot, program_id).await?;
    snapshot.commit().await?;
    connection.close().await?;
    Ok(())
}

/// A program's day in one currency, or its counts (`currency: None`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProgramDay {
    pub program_id: ProgramId,
    pub day: NaiveDate,
    pub currency: Option<Currency>,
    pub sums: Sums,
}

/// The days from `first` to `last` (both included) with events, sorted by program, day and currency.
pub async fn program_days(
    connection: &mut PgConnection,
    programs: &[i64],
    first: NaiveDate,
    last: NaiveDate,
) -> StorageResult<Vec<ProgramDay>> {
    Ok(sqlx::query!(
        r#"SELECT program_id AS "program_id!: ProgramId", day AS "day!", nullif(currency, '') AS "currency: Currency",
                  sum(clicks)::bigint AS "clicks!", sum(leads)::bigint AS "leads!",
                  sum(conversions)::bigint AS "conversions!", sum(partners)::bigint AS "partners!",
                  sum(sales)::bigint AS "sales!",
                  least(sum(revenue_cents), 9223372036854775807)::bigint AS "revenue_cents!",
                  least(sum(commission_cents), 9223372036854775807)::bigint AS "commission_cents!"
           FROM (
               SELECT program_id, day, currency, clicks, leads, conversions, partners, sales, revenue_cents, commission_cents
               FROM program_days WHERE program_id = ANY($1) AND day BETWEEN $2 AND $3
               UNION ALL
               SELECT program_id, day, currency, clicks, leads, conversions, partners, sales, revenue_cents, commission_cents
               FROM rollup_deltas WHERE program_id = ANY($1) AND day BETWEEN $2 AND $3
           ) both_kinds
           GROUP BY program_id, day, currency ORDER BY program_id, day, currency"#,
        programs,
        first,
        last,
    )
    .map(|row| ProgramDay {
        program_id: row.program_id,
        day: row.day,
        currency: row.currency,
        sums: Sums {
            clicks: row.clicks,
            leads: row.leads,
            conversions: row.conversions,
            partners: row.partners,
            sales: row.sales,
            revenue_cents: row.revenue_cents,
            commission_cents: row.commission_cents,
        },
    })
    .fetch_all(connection)
    .await?)
}
