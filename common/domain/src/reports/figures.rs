//! A program's earnings and deductions in a range of days, and in the range before it.
//!
//! Money stays in cents. Amounts of different currencies are never added: a day has amounts in the program's
//! currency only, and each currency has its own totals.

use std::collections::BTreeMap;

use chrono::NaiveDate;

use crate::money::{Cents, Currency, proportion};
use crate::reports::days::DayRange;

/// Amounts in one currency, and the number of sales behind them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Earnings {
    pub sales: i64,
    /// As paid, before refunds.
    pub revenue: Cents,
    /// Refunds in the range, of sales of any day.
    pub refunded: Cents,
    /// As created, before deductions.
    pub commission: Cents,
    /// Deductions from commissions of any day, by refunds and by hand, less additions by hand.
    pub deducted: Cents,
}

impl Earnings {
    pub const fn add(&mut self, other: &Self) {
        self.sales = self.sales.saturating_add(other.sales);
        self.revenue = self.revenue.saturating_add(other.revenue);
        self.refunded = self.refunded.saturating_add(other.refunded);
        self.commission = self.commission.saturating_add(other.commission);
        self.deducted = self.deducted.saturating_add(other.deducted);
    }

    /// Negative if refunds exceed sales.
    pub const fn net_revenue(&self) -> Cents {
        self.revenue.saturating_sub(self.refunded)
    }

    pub const fn net_commission(&self) -> Cents {
        self.commission.saturating_sub(self.deducted)
    }

    /// Revenue per sale, to the nearest cent; 0 without sales.
    pub fn average_order(&self) -> Cents {
        if self.sales > 0 {
            proportion(self.revenue, 1, self.sales)
        } else {
            Cents::ZERO
        }
    }
}

/// Counts in all currencies together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    pub clicks: i64,
    /// Customers who became leads.
    pub leads: i64,
    /// Customers who bought for the first time.
    pub conversions: i64,
    /// New memberships.
    pub partners: i64,
    pub sales: i64,
}

impl Counts {
    pub const fn add(&mut self, other: &Self) {
        self.clicks = self.clicks.saturating_add(other.clicks);
        self.leads = self.leads.saturating_add(other.leads);
        self.conversions = self.conversions.saturating_add(other.conversions);
        self.partners = self.partners.saturating_add(other.partners);
        self.sales = self.sales.saturating_add(other.sales);
    }
}

/// Counts, and amounts in the program's currency.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Figures {
    pub counts: Counts,
    pub earnings: Earnings,
}

impl Figures {
    pub const fn add(&mut self, other: &Self) {
        self.counts.add(&other.counts);
        self.earnings.add(&other.earnings);
    }
}

/// A part of the figures of a day.
#[derive(Debug, Clone, Copy)]
pub struct Known {
    pub day: NaiveDate,
    pub counts: Counts,
    /// `None` if the part has no money.
    pub earnings: Option<(Currency, Earnings)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Period {
    /// Every day, in order.
    pub days: Vec<(NaiveDate, Figures)>,
    pub total: Figures,
    /// Totals of every currency that occurs in either range. The program's currency comes first.
    pub currencies: Vec<(Currency, Earnings)>,
}

/// The figures of a range and of the range before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    pub range: Period,
    pub previous: Period,
}

impl Report {
    /// Sums the parts, in any order and any number per day.
    pub fn of(range: &DayRange, currency: Currency, known: &[Known]) -> Self {
        let previous_days = std::iter::successors(Some(range.previous_first()), NaiveDate::succ_opt);
        let first = range.first();
        let previous_days = previous_days.take_while(|day| *day < first);
        let mut now = Sums::of(range.days());
        let mut before = Sums::of(previous_days);
        let mut currencies = vec![currency];
        for piece in known {
            if !(now.add(piece, currency) || before.add(piece, currency)) {
                continue;
            }
            if let Some((its, _)) = piece.earnings
                && !currencies.contains(&its)
            {
                currencies.push(its);
            }
        }
        if let Some(others) = currencies.get_mut(1..) {
            others.sort_unstable();
        }
        Self {
            range: now.period(&currencies),
            previous: before.period(&currencies),
        }
    }
}

struct Sums {
    days: BTreeMap<NaiveDate, Figures>,
    by_currency: BTreeMap<Currency, Earnings>,
}

impl Sums {
    fn of(days: impl Iterator<Item = NaiveDate>) -> Self {
        Self {
            days: days.map(|day| (day, Figures::default())).collect(),
            by_currency: BTreeMap::new(),
        }
    }

    /// Adds a part. Returns whether its day is in this range.
    fn add(&mut self, piece: &Known, currency: Currency) -> bool {
        let Some(of_day) = self.days.get_mut(&piece.day) else {
            return false;
        };
        of_day.counts.add(&piece.counts);
        if let Some((its, earnings)) = &piece.earnings {
            if *its == currency {
                of_day.earnings.add(earnings);
            }
            self.by_currency.entry(*its).or_default().add(earnings);
        }
        true
    }

    fn period(self, currencies: &[Currency]) -> Period {
        let mut total = Figures::default();
        for figures in self.days.values() {
            total.add(figures);
        }
        let of = |currency: &Currency| self.by_currency.get(currency).copied().unwrap_or_default();
        Period {
            total,
            currencies: currencies
                .iter()
                .map(|currency| (*currency, of(currency)))
                .collect(),
            days: self.days.into_iter().collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn day(text: &str) -> NaiveDate {
        text.parse().unwrap()
    }

    fn sold(day: NaiveDate, currency: &str, sales: i64, revenue: i64, refunded: i64) -> Known {
        let earnings = Earnings {
            sales,
            revenue: Cents::new(revenue),
            refunded: Cents::new(refunded),
            ..Earnings::default()
        };
        Known {
            day,
            counts: Counts {
                sales,
                ..Counts::default()
            },
            earnings: Some((Currency::parse(currency).unwrap(), earnings)),
        }
    }

    #[test]
    fn money_of_other_currencies_is_counted_and_has_totals_of_its_own() {
        let range = DayRange::new(day("2026-03-02"), day("2026-03-03")).unwrap();
        let known = [
            sold(day("2026-03-03"), "USD", 2, 1_001, 500),
            sold(day("2026-03-03"), "JPY", 1, 9_000, 0),
            sold(day("2026-03-01"), "EUR", 1, 700, 0),
            sold(day("2026-02-27"), "CHF", 1, 1, 0),
            sold(day("2026-03-04"), "CHF", 1, 1, 0),
        ];
        let report = Report::of(&range, Currency::default(), &known);
        let total = report.range.total;
        assert_eq!((total.counts.sales, total.earnings.sales), (3, 2));
        assert_eq!(total.earnings.net_revenue(), Cents::new(501));
        assert_eq!(total.earnings.average_order(), Cents::new(501));
        let currencies = |period: &Period| -> Vec<(String, i64)> {
            let of = |(currency, earnings): &(Currency, Earnings)| {
                (currency.as_str().to_owned(), earnings.revenue.get())
            };
            period.currencies.iter().map(of).collect()
        };
        let named = |name: &str, cents| (name.to_owned(), cents);
        assert_eq!(
            currencies(&report.range),
            [named("USD", 1_001), named("EUR", 0), named("JPY", 9_000)]
        );
        assert_eq!(
            currencies(&report.previous),
            [named("USD", 0), named("EUR", 700), named("JPY", 0)]
        );
        assert_eq!(report.range.days.len(), 2);
        assert_eq!(
            report.previous.days.first().unwrap().0,
            day("2026-02-28"),
            "as many days before"
        );
        assert_eq!(report.previous.days.len(), 2);
    }

    #[test]
    fn refunds_of_a_day_may_be_more_than_its_sales() {
        let range = DayRange::new(day("2026-03-02"), day("2026-03-02")).unwrap();
        let known = [sold(day("2026-03-02"), "USD", 0, 0, 900)];
        let report = Report::of(&range, Currency::default(), &known);
        assert_eq!(report.range.total.earnings.net_revenue(), Cents::new(-900));
        assert_eq!(report.range.total.earnings.average_order(), Cents::ZERO);
    }
}
