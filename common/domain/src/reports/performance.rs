//! Figures of a program's days: totals, rates, and trends against the previous range.
//!
//! Money is summed in cents and divided at the end. [`proportion`] does all rounding, halves away from zero.

use std::collections::BTreeMap;

use chrono::NaiveDate;

use crate::money::{Cents, proportion};
use crate::reports::days::DayRange;

/// Sums over one or more days. Amounts are in one currency.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    pub clicks: i64,
    pub leads: i64,
    pub conversions: i64,
    pub partners: i64,
    pub sales: i64,
    pub revenue: Cents,
    pub commission: Cents,
}

impl Totals {
    pub const fn add(&mut self, other: &Self) {
        self.clicks = self.clicks.saturating_add(other.clicks);
        self.leads = self.leads.saturating_add(other.leads);
        self.conversions = self.conversions.saturating_add(other.conversions);
        self.partners = self.partners.saturating_add(other.partners);
        self.sales = self.sales.saturating_add(other.sales);
        self.revenue = self.revenue.saturating_add(other.revenue);
        self.commission = self.commission.saturating_add(other.commission);
    }

    /// Conversions per hundred clicks, to two decimals; 0 without clicks.
    pub fn conversion_rate(&self) -> f64 {
        hundredths(self.conversions, 10_000, self.clicks)
    }

    /// Revenue in dollars per conversion, to two decimals; 0 without conversions.
    pub fn average_order_value(&self) -> f64 {
        hundredths(self.revenue.get(), 1, self.conversions)
    }
}

fn hundredths(of: i64, times: i64, by: i64) -> f64 {
    if by > 0 {
        proportion(Cents::new(of), times, by).to_dollars()
    } else {
        0.0
    }
}

crate::text_enum! {
    pub enum Direction {
        Up = "up",
        Down = "down",
        Stable = "stable",
    }
}

/// The change of a number against the previous range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trend {
    /// The size of the change in tenths of a percent of the previous number.
    tenths: i64,
    /// Compares the exact numbers, so a change that rounds to 0.0 % still has a direction.
    pub direction: Direction,
}

impl Trend {
    /// A change from zero to any other number counts as 100 %.
    pub fn between(previous: i64, current: i64) -> Self {
        let direction = match current.cmp(&previous) {
            std::cmp::Ordering::Greater => Direction::Up,
            std::cmp::Ordering::Less => Direction::Down,
            std::cmp::Ordering::Equal => Direction::Stable,
        };
        let change = current.saturating_sub(previous).saturating_abs();
        let tenths = match previous {
            1.. => proportion(Cents::new(change), 1_000, previous).get(),
            _ if change > 0 => 1_000,
            _ => 0,
        };
        Self { tenths, direction }
    }

    /// The change in percent, to one decimal.
    #[expect(clippy::cast_precision_loss, reason = "exact up to 10^15")]
    pub fn percent(&self) -> f64 {
        self.tenths as f64 / 10.0
    }
}

/// The figures of a range of days, and the totals of the range before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Performance {
    /// Every day of the range, in order.
    pub days: Vec<(NaiveDate, Totals)>,
    pub total: Totals,
    pub previous: Totals,
}

impl Performance {
    /// Sums the parts, in any order and any number per day. A day without parts is zero.
    pub fn of(range: &DayRange, known: impl IntoIterator<Item = (NaiveDate, Totals)>) -> Self {
        let mut days: BTreeMap<NaiveDate, Totals> =
            range.days().map(|day| (day, Totals::default())).collect();
        let (mut total, mut previous) = (Totals::default(), Totals::default());
        for (day, totals) in known {
            if let Some(of_day) = days.get_mut(&day) {
                of_day.add(&totals);
                total.add(&totals);
            } else if (range.previous_first()..range.first()).contains(&day) {
                previous.add(&totals);
            }
        }
        Self {
            days: days.into_iter().collect(),
            total,
            previous,
        }
    }

    pub fn trend(&self, number: impl Fn(&Totals) -> i64) -> Trend {
        Trend::between(number(&self.previous), number(&self.total))
    }
}

#[cfg(test)]
mod tests;
