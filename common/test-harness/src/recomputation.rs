//! The expected rollups: summed row by row in this process, not in the database, from the tables that rollups
//! count.

mod refunds;

use std::collections::BTreeMap;

use chrono::{DateTime, NaiveDate, Utc};
use sqlx::FromRow;
use storage::reads::refund_rollups::RefundSums;
use storage::reads::rollups::Sums;

use crate::stack::Stack;

/// Id of a program or link, day, and currency of the amounts; the currency is empty for mere counts.
type Day = (i64, NaiveDate, String);

/// Rollups by program and by link; those of a link count no partners. Days with only zeros are left out.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Rollups {
    pub programs: BTreeMap<Day, Sums>,
    pub links: BTreeMap<Day, Sums>,
    pub program_refunds: BTreeMap<Day, RefundSums>,
    pub link_refunds: BTreeMap<Day, RefundSums>,
}

impl Rollups {
    /// Adds to a program's day, and to that of a link unless its id is zero.
    fn add(&mut self, (program, link): (i64, i64), at: DateTime<Utc>, currency: &str, sums: &Sums) {
        let day = at.date_naive();
        let of_program = self.programs.entry((program, day, currency.to_owned()));
        of_program.or_default().add(sums);
        if link != 0 {
            let of_link = self.links.entry((link, day, currency.to_owned()));
            of_link.or_default().add(sums);
        }
    }

    fn give_back(&mut self, program: i64, link: i64, day: NaiveDate, currency: &str, sums: RefundSums) {
        let add = |known: &mut RefundSums| {
            known.refunded_cents += sums.refunded_cents;
            known.deducted_cents += sums.deducted_cents;
        };
        let key = |of| (of, day, currency.to_owned());
        add(self.program_refunds.entry(key(program)).or_default());
        if link != 0 {
            add(self.link_refunds.entry(key(link)).or_default());
        }
    }

    /// The sum of a program's days.
    pub fn total(&self, program: i64) -> Sums {
        let mut total = Sums::default();
        let days = self.programs.iter().filter(|((of, ..), _)| *of == program);
        days.for_each(|(_, sums)| total.add(sums));
        total
    }

    fn without_zeros(mut self) -> Self {
        self.programs.retain(|_, sums| *sums != Sums::default());
        self.links.retain(|_, sums| *sums != Sums::default());
        self.program_refunds
            .retain(|_, sums| *sums != RefundSums::default());
        self.link_refunds.retain(|_, sums| *sums != RefundSums::default());
        self
    }
}

const NOTHING: Sums = Sums {
    clicks: 0,
    leads: 0,
    conversions: 0,
    partners: 0,
    sales: 0,
    revenue_cents: 0,
    commission_cents: 0,
};

#[derive(FromRow)]
struct Click {
    program_id: i64,
    referral_link_id: i64,
    customer_id: i64,
    click_timestamp: DateTime<Utc>,
    counted: bool,
}

#[derive(FromRow)]
struct Customer {
    id: i64,
    program_id: i64,
    status: String,
    signup_date: Option<DateTime<Utc>>,
}

#[derive(FromRow)]
struct Sale {
    id: i64,
    program_id: i64,
    customer_id: Option<i64>,
    sale_date: DateTime<Utc>,
    amount_cents: i64,
    currency: String,
}

#[derive(FromRow)]
struct Commission {
    sale_id: i64,
    program_id: i64,
    referral_link_id: i64,
    created_at: DateTime<Utc>,
    amount_cents: i64,
    currency: String,
}

async fn rows<T>(stack: &Stack, query: &'static str) -> Vec<T>
where
    T: for<'r> FromRow<'r, sqlx::postgres::PgRow> + Send + Unpin,
{
    sqlx::query_as(query).fetch_all(stack.pool()).await.unwrap()
}

/// The rows that rollups count.
struct Rows {
    clicks: Vec<Click>,
    commissions: Vec<Commission>,
    sales: Vec<Sale>,
}

impl Rows {
    async fn read(stack: &Stack) -> Self {
        let clicks = "SELECT * FROM click_events WHERE NOT is_test ORDER BY click_timestamp, id";
        let sales = "SELECT * FROM sale_events WHERE NOT is_test ORDER BY sale_date, id";
        Self {
            clicks: rows(stack, clicks).await,
            commissions: rows(stack, "SELECT * FROM commissions ORDER BY id").await,
            sales: rows(stack, sales).await,
        }
    }

    /// The link of the customer's last counted click until this time. Without such a click, the link of the
    /// first click, which created the customer whether it counts or not.
    fn clicked(&self, customer: i64, until: DateTime<Utc>) -> i64 {
        let of_customer = self.clicks.iter().filter(|click| click.customer_id == customer);
        of_customer
            .enumerate()
            .filter(|(position, click)| *position == 0 || (click.counted && click.click_timestamp <= until))
            .last()
            .map_or(0, |(_, click)| click.referral_link_id)
    }

    fn credited(&self, sale: &Sale) -> i64 {
        let mut of_sale = self
            .commissions
            .iter()
            .filter(|commission| commission.sale_id == sale.id);
        of_sale.next_back().map_or_else(
            || self.clicked(sale.customer_id.unwrap_or(0), sale.sale_date),
            |commission| commission.referral_link_id,
        )
    }

    fn add_to(&self, rollups: &mut Rollups) {
        for click in self.clicks.iter().filter(|click| click.counted) {
            let one = Sums { clicks: 1, ..NOTHING };
            let of = (click.program_id, click.referral_link_id);
            rollups.add(of, click.click_timestamp, "", &one);
        }
        for new in &self.commissions {
            let commission_cents = new.amount_cents;
            let paid = Sums {
                commission_cents,
                ..NOTHING
            };
            let of = (new.program_id, new.referral_link_id);
            rollups.add(of, new.created_at, &new.currency, &paid);
        }
        for sale in &self.sales {
            let revenue_cents = sale.amount_cents;
            let one = Sums {
                sales: 1,
                revenue_cents,
                ..NOTHING
            };
            let of = (sale.program_id, self.credited(sale));
            rollups.add(of, sale.sale_date, &sale.currency, &one);
        }
    }

    fn add_customer(&self, customer: &Customer, rollups: &mut Rollups) {
        if let Some(signup) = customer.signup_date {
            assert_ne!(customer.status, "click", "customer {}", customer.id);
            let one = Sums { leads: 1, ..NOTHING };
            let of = (customer.program_id, self.clicked(customer.id, signup));
            rollups.add(of, signup, "", &one);
        }
        let mut sales = self.sales.iter();
        if let Some(first) = sales.find(|sale| sale.customer_id == Some(customer.id)) {
            assert_eq!(customer.status, "conversion", "customer {}", customer.id);
            let one = Sums {
                conversions: 1,
                ..NOTHING
            };
            let of = (customer.program_id, self.credited(first));
            rollups.add(of, first.sale_date, "", &one);
        }
    }
}

/// Computes rollups from the raw rows. The days of links are exact only if clicks are stored in the order
/// they were made and sales credit the last click.
pub async fn recomputed(stack: &Stack) -> Rollups {
    let mut rollups = Rollups::default();
    let tables = Rows::read(stack).await;
    tables.add_to(&mut rollups);
    for customer in rows::<Customer>(stack, "SELECT * FROM customers").await {
        tables.add_customer(&customer, &mut rollups);
    }
    memberships(stack, &mut rollups).await;
    refunds::recompute(stack, &mut rollups).await;
    rollups.without_zeros()
}

async fn memberships(stack: &Stack, rollups: &mut Rollups) {
    let made: Vec<(i64, DateTime<Utc>)> =
        rows(stack, "SELECT program_id, created_at FROM partner_programs").await;
    for (program, created_at) in made {
        let one = Sums {
            partners: 1,
            ..NOTHING
        };
        rollups.add((program, 0), created_at, "", &one);
    }
}

#[derive(FromRow)]
struct Kept {
    of: i64,
    day: NaiveDate,
    currency: String,
    clicks: i64,
    leads: i64,
    conversions: i64,
    partners: i64,
    sales: i64,
    revenue_cents: i64,
    commission_cents: i64,
}

fn by_day(kept: Vec<Kept>) -> BTreeMap<Day, Sums> {
    let mut days: BTreeMap<Day, Sums> = BTreeMap::new();
    for row in kept {
        let sums = Sums {
            clicks: row.clicks,
            leads: row.leads,
            conversions: row.conversions,
            partners: row.partners,
            sales: row.sales,
            revenue_cents: row.revenue_cents,
            commission_cents: row.commission_cents,
        };
        days.entry((row.of, row.day, row.currency))
            .or_default()
            .add(&sums);
    }
    days
}

/// The stored rollups: days plus remaining deltas.
pub async fn kept(stack: &Stack) -> Rollups {
    let programs = "SELECT program_id AS of, day, currency, clicks, leads, conversions, partners, sales, revenue_cents,
                           commission_cents FROM program_days
                    UNION ALL
                    SELECT program_id, day, currency, clicks, leads, conversions, partners, sales, revenue_cents,
                           commission_cents FROM rollup_deltas";
    let links = "SELECT referral_link_id AS of, day, currency, clicks, leads, conversions, 0::bigint AS partners, sales,
                        revenue_cents, commission_cents FROM link_days
                 UNION ALL
                 SELECT referral_link_id, day, currency, clicks, leads, conversions, partners, sales, revenue_cents,
                        commission_cents FROM rollup_deltas WHERE referral_link_id <> 0";
    let mut rollups = Rollups {
        programs: by_day(rows(stack, programs).await),
        links: by_day(rows(stack, links).await),
        ..Rollups::default()
    };
    refunds::read(stack, &mut rollups).await;
    rollups.without_zeros()
}
