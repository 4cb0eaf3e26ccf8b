//! A partner's results and earnings in a range of days, by day and currency: programs differ in currency.

use std::collections::BTreeMap;

use chrono::NaiveDate;

use crate::money::Currency;
use crate::reports::days::DayRange;
use crate::reports::figures::{Counts, Earnings, Known};

/// Counts, and the amounts of each currency that occurs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ByCurrency {
    pub counts: Counts,
    pub currencies: BTreeMap<Currency, Earnings>,
}

impl ByCurrency {
    fn add(&mut self, piece: &Known) {
        self.counts.add(&piece.counts);
        if let Some((currency, earnings)) = &piece.earnings {
            self.currencies.entry(*currency).or_default().add(earnings);
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartnerFigures {
    /// Every day, in order.
    pub days: Vec<(NaiveDate, ByCurrency)>,
    pub total: ByCurrency,
}

impl PartnerFigures {
    /// Sums the parts, in any order and any number per day.
    pub fn of(range: &DayRange, known: &[Known]) -> Self {
        let mut days: BTreeMap<NaiveDate, ByCurrency> =
            range.days().map(|day| (day, ByCurrency::default())).collect();
        let mut total = ByCurrency::default();
        for piece in known {
            if let Some(of_day) = days.get_mut(&piece.day) {
                of_day.add(piece);
                total.add(piece);
            }
        }
        Self {
            days: days.into_iter().collect(),
            total,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::money::Cents;

    fn day(text: &str) -> NaiveDate {
        text.parse().unwrap()
    }

    fn earned(day: NaiveDate, currency: &str, commission: i64, deducted: i64) -> Known {
        let earnings = Earnings {
            sales: 1,
            commission: Cents::new(commission),
            deducted: Cents::new(deducted),
            ..Earnings::default()
        };
        Known {
            day,
            counts: Counts {
                sales: 1,
                ..Counts::default()
            },
            earnings: Some((Currency::parse(currency).unwrap(), earnings)),
        }
    }

    #[test]
    fn currencies_are_never_added_up_and_other_days_are_left_out() {
        let range = DayRange::new(day("2026-03-02"), day("2026-03-04")).unwrap();
        let clicked = Known {
            day: day("2026-03-03"),
            counts: Counts {
                clicks: 7,
                ..Counts::default()
            },
            earnings: None,
        };
        let known = [
            earned(day("2026-03-02"), "USD", 500, 0),
            earned(day("2026-03-04"), "JPY", 90, 0),
            earned(day("2026-03-04"), "USD", 100, 350),
            earned(day("2026-03-05"), "EUR", 1, 0),
            clicked,
        ];
        let figures = PartnerFigures::of(&range, &known);
        assert_eq!(figures.days.len(), 3);
        let net = |of: &ByCurrency| -> Vec<(String, i64)> {
            let currencies = of.currencies.iter();
            currencies
                .map(|(currency, earnings)| (currency.as_str().to_owned(), earnings.net_commission().get()))
                .collect()
        };
        let named = |name: &str, cents| (name.to_owned(), cents);
        assert_eq!(net(&figures.total), [named("JPY", 90), named("USD", 250)]);
        let (_, last) = figures.days.last().unwrap();
        assert_eq!(net(last), [named("JPY", 90), named("USD", -250)]);
        let (_, second) = figures.days.get(1).unwrap();
        assert_eq!((second.counts.clicks, second.currencies.len()), (7, 0));
        assert_eq!((figures.total.counts.clicks, figures.total.counts.sales), (7, 3));
    }
}
