//! Customers by the month of their first sale, and their purchases in each month since.
//!
//! Months are UTC, represented by their first day. Amounts of different currencies are never added.

use std::collections::BTreeMap;

use chrono::{Datelike, Months, NaiveDate};

use crate::money::Currency;
use crate::reports::figures::Earnings;

/// The most months that one request may ask for.
pub const MOST_MONTHS: u32 = 36;

#[derive(Debug, Clone, Copy)]
pub struct CohortPiece {
    pub cohort: NaiveDate,
    pub month: NaiveDate,
    /// Customers who bought in that month, in any currency.
    pub customers: i64,
    /// `None` if the part has no money.
    pub earnings: Option<(Currency, Earnings)>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CohortFigures {
    /// Customers who bought in that month.
    pub customers: i64,
    pub earnings: Earnings,
}

/// Customers whose first sale was in one month.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cohort {
    pub month: NaiveDate,
    /// The figures of the cohort's own month and of every later one, in order.
    pub months: Vec<CohortFigures>,
}

impl Cohort {
    /// The size of the cohort: each customer bought in the cohort's own month.
    pub fn customers(&self) -> i64 {
        self.months.first().map_or(0, |figures| figures.customers)
    }

    pub fn total(&self) -> Earnings {
        let mut total = Earnings::default();
        for figures in &self.months {
            total.add(&figures.earnings);
        }
        total
    }
}

/// The cohorts of a range of months that ends with the month of `today`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CohortRange {
    first: NaiveDate,
    last: NaiveDate,
}

impl CohortRange {
    /// `None` unless `months` is in 1..=[`MOST_MONTHS`].
    pub fn ending(today: NaiveDate, months: u32) -> Option<Self> {
        if !(1..=MOST_MONTHS).contains(&months) {
            return None;
        }
        let last = today.with_day(1)?;
        let first = last.checked_sub_months(Months::new(months - 1))?;
        Some(Self { first, last })
    }

    pub const fn first(self) -> NaiveDate {
        self.first
    }

    pub const fn last(self) -> NaiveDate {
        self.last
    }

    fn months_from(self, first: NaiveDate) -> impl Iterator<Item = NaiveDate> {
        let next = |month: &NaiveDate| month.checked_add_months(Months::new(1));
        std::iter::successors(Some(first), next).take_while(move |month| *month <= self.last)
    }

    /// All cohorts, starting with the first that has customers. Amounts are in `currency` only.
    pub fn cohorts(self, currency: Currency, known: &[CohortPiece]) -> Vec<Cohort> {
        let mut figures: BTreeMap<(NaiveDate, NaiveDate), CohortFigures> = BTreeMap::new();
        for piece in known {
            let of_month = figures.entry((piece.cohort, piece.month)).or_default();
            of_month.customers = of_month.customers.saturating_add(piece.customers);
            if let Some((_, earnings)) = piece.earnings.as_ref().filter(|(its, _)| *its == currency) {
                of_month.earnings.add(earnings);
            }
        }
        let Some(first) = known.iter().map(|piece| piece.cohort).min() else {
            return Vec::new();
        };
        self.months_from(first.max(self.first))
            .map(|cohort| Cohort {
                month: cohort,
                months: self
                    .months_from(cohort)
                    .map(|month| figures.get(&(cohort, month)).copied().unwrap_or_default())
                    .collect(),
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::money::Cents;

    fn day(text: &str) -> NaiveDate {
        text.parse().unwrap()
    }

    fn piece(cohort: &str, month: &str, customers: i64, revenue: Option<(&str, i64)>) -> CohortPiece {
        CohortPiece {
            cohort: day(cohort),
            month: day(month),
            customers,
            earnings: revenue.map(|(currency, cents)| {
                let earnings = Earnings {
                    sales: 1,
                    revenue: Cents::new(cents),
                    ..Earnings::default()
                };
                (Currency::parse(currency).unwrap(), earnings)
            }),
        }
    }

    #[test]
    fn a_range_ends_with_the_month_of_today() {
        let range = CohortRange::ending(day("2026-03-31"), 3).unwrap();
        assert_eq!(
            (range.first(), range.last()),
            (day("2026-01-01"), day("2026-03-01"))
        );
        let one = CohortRange::ending(day("2026-03-01"), 1).unwrap();
        assert_eq!(one.first(), one.last());
        assert!(CohortRange::ending(day("2026-03-01"), 37).is_none());
        assert!(CohortRange::ending(day("2026-03-01"), 0).is_none());
    }

    #[test]
    fn each_cohort_has_its_months_and_the_amounts_of_one_currency() {
        let range = CohortRange::ending(day("2026-03-15"), 12).unwrap();
        let known = [
            piece("2026-01-01", "2026-01-01", 5, None),
            piece("2026-01-01", "2026-01-01", 0, Some(("USD", 700))),
            piece("2026-01-01", "2026-01-01", 0, Some(("JPY", 9))),
            piece("2026-01-01", "2026-03-01", 2, None),
            piece("2026-01-01", "2026-03-01", 0, Some(("USD", 50))),
            piece("2026-03-01", "2026-03-01", 1, None),
        ];
        let cohorts = range.cohorts(Currency::parse("USD").unwrap(), &known);
        let shown: Vec<_> = cohorts
            .iter()
            .map(|cohort| {
                let months = cohort.months.iter();
                let months = months.map(|figures| (figures.customers, figures.earnings.revenue.get()));
                (cohort.month, cohort.customers(), months.collect::<Vec<_>>())
            })
            .collect();
        assert_eq!(
            shown,
            [
                (day("2026-01-01"), 5, vec![(5, 700), (0, 0), (2, 50)]),
                (day("2026-02-01"), 0, vec![(0, 0), (0, 0)]),
                (day("2026-03-01"), 1, vec![(1, 0)]),
            ]
        );
        let totals: Vec<i64> = cohorts
            .iter()
            .map(|cohort| cohort.total().revenue.get())
            .collect();
        assert_eq!(totals, [750, 0, 0]);
        assert_eq!(range.cohorts(Currency::parse("USD").unwrap(), &[]), []);
    }
}
