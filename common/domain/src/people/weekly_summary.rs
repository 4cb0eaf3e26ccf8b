//! A partner's week: the results of each program by currency.

use chrono::{DateTime, Datelike, Days, NaiveDate, NaiveTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

use crate::money::{Cents, Currency};
use crate::programs::program_identity::ProgramIdentity;

/// Time from the end of a week to its summary, for late commits: it arrives on Monday morning.
const TOLD_AFTER: TimeDelta = TimeDelta::hours(6);

/// A week from Monday to Sunday, in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Week {
    pub monday: NaiveDate,
    pub sunday: NaiveDate,
}

impl Week {
    /// The latest complete week whose summary is due.
    pub fn to_tell(now: DateTime<Utc>) -> Option<Self> {
        let today = (now - TOLD_AFTER).date_naive();
        let since_monday = u64::from(today.weekday().num_days_from_monday());
        let monday = today.checked_sub_days(Days::new(since_monday + 7))?;
        let sunday = monday.checked_add_days(Days::new(6))?;
        Some(Self { monday, sunday })
    }

    pub const fn start(self) -> DateTime<Utc> {
        self.monday.and_time(NaiveTime::MIN).and_utc()
    }

    /// The first instant after the week.
    pub fn end(self) -> DateTime<Utc> {
        self.start() + TimeDelta::days(7)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Figure {
    pub count: i64,
    pub cents: Cents,
}

impl Figure {
    pub const fn is_nothing(self) -> bool {
        self.count == 0
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WeekLine {
    pub program: String,
    #[serde(flatten)]
    pub identity: ProgramIdentity,
    pub currency: Currency,
    /// Commissions that were created.
    pub earned: Figure,
    pub approved: Figure,
    /// Changes and additions by hand. The sum may be negative.
    pub adjusted: Figure,
    /// Deductions, as a positive amount.
    pub reversed: Figure,
    pub paid: Figure,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> DateTime<Utc> {
        text.parse().unwrap()
    }

    #[test]
    fn a_week_is_told_from_monday_morning_to_the_next() {
        // 2 March 2026 is a Monday.
        for (now, monday) in [
            ("2026-03-02T05:59:59Z", "2026-02-16"),
            ("2026-03-02T06:00:00Z", "2026-02-23"),
            ("2026-03-08T23:00:00Z", "2026-02-23"),
            ("2026-03-09T05:59:59Z", "2026-02-23"),
            ("2026-03-09T06:00:00Z", "2026-03-02"),
        ] {
            let week = Week::to_tell(at(now)).unwrap();
            assert_eq!(week.monday.to_string(), monday, "{now}");
            assert_eq!(week.sunday - week.monday, TimeDelta::days(6));
        }
    }

    #[test]
    fn a_week_has_seven_whole_days() {
        let week = Week::to_tell(at("2026-03-02T06:00:00Z")).unwrap();
        assert_eq!(week.start(), at("2026-02-23T00:00:00Z"));
        assert_eq!(week.end(), at("2026-03-02T00:00:00Z"));
    }
}
