//! Days and ranges of days in requests. A day is always a UTC calendar day.

use chrono::{DateTime, Datelike, Days, NaiveDate, NaiveDateTime, NaiveTime, TimeDelta, Utc};

/// The years that a request may use. No event is older, and PostgreSQL can store all of them.
const YEARS: std::ops::RangeInclusive<i32> = 1970..=9999;

/// A whole day or an instant in ISO 8601, in the years 1970 to 9999.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    Day(NaiveDate),
    Instant(DateTime<Utc>),
}

impl Moment {
    /// Parses `2026-01-31`, or `2026-01-31T10:00:00Z` with any offset. Without an offset it is UTC.
    pub fn parse(text: &str) -> Option<Self> {
        let day = text.get(..10).filter(|day| has_the_form_of_a_day(day))?;
        let moment = if text.len() == day.len() {
            Self::Day(NaiveDate::parse_from_str(text, "%Y-%m-%d").ok()?)
        } else if let Ok(instant) = DateTime::parse_from_rfc3339(text) {
            Self::Instant(instant.with_timezone(&Utc))
        } else {
            let local = ["%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%dT%H:%M"]
                .iter()
                .find_map(|form| NaiveDateTime::parse_from_str(text, form).ok())?;
            Self::Instant(local.and_utc())
        };
        YEARS.contains(&moment.day().year()).then_some(moment)
    }

    pub fn day(self) -> NaiveDate {
        match self {
            Self::Day(day) => day,
            Self::Instant(at) => at.date_naive(),
        }
    }

    /// The first instant of the moment.
    pub fn start(self) -> DateTime<Utc> {
        match self {
            Self::Day(day) => midnight(day),
            Self::Instant(at) => at,
        }
    }

    /// The first instant after the moment. An instant lasts a millisecond, as answers show it.
    pub fn end(self) -> DateTime<Utc> {
        match self {
            Self::Day(day) => day
                .checked_add_days(Days::new(1))
                .map_or(DateTime::<Utc>::MAX_UTC, midnight),
            Self::Instant(at) => DateTime::from_timestamp_millis(at.timestamp_millis())
                .and_then(|at| at.checked_add_signed(TimeDelta::milliseconds(1)))
                .unwrap_or(DateTime::<Utc>::MAX_UTC),
        }
    }
}

/// The form `0000-00-00`. chrono alone also accepts signs, spaces and years of any length.
fn has_the_form_of_a_day(text: &str) -> bool {
    text.bytes().enumerate().all(|(at, byte)| match at {
        4 | 7 => byte == b'-',
        _ => byte.is_ascii_digit(),
    })
}

const fn midnight(day: NaiveDate) -> DateTime<Utc> {
    day.and_time(NaiveTime::MIN).and_utc()
}

/// A range of 1 to [`DayRange::MAX_DAYS`] whole days. The calendar must have the range before it, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DayRange {
    first: NaiveDate,
    last: NaiveDate,
    /// First day of the range of equal length that ends the day before `first`.
    previous_first: NaiveDate,
    previous_last: NaiveDate,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DayRangeError {
    #[error("the first day is after the last")]
    Reversed,
    #[error("a range has at most {} days", DayRange::MAX_DAYS)]
    TooLong,
    #[error("there is no calendar for the days before")]
    BeforeTheCalendar,
}

impl DayRange {
    /// Ten years.
    pub const MAX_DAYS: u64 = 3_660;

    /// The range includes both days.
    pub fn new(first: NaiveDate, last: NaiveDate) -> Result<Self, DayRangeError> {
        let between = last.signed_duration_since(first).num_days();
        let length = u64::try_from(between).map_err(|_| DayRangeError::Reversed)? + 1;
        if length > Self::MAX_DAYS {
            return Err(DayRangeError::TooLong);
        }
        let before = |days| {
            first
                .checked_sub_days(Days::new(days))
                .ok_or(DayRangeError::BeforeTheCalendar)
        };
        Ok(Self {
            first,
            last,
            previous_first: before(length)?,
            previous_last: before(1)?,
        })
    }

    /// The `length` days that end with `last`, within the limits of a range.
    pub fn ending(last: NaiveDate, length: u64) -> Result<Self, DayRangeError> {
        let before = length.clamp(1, Self::MAX_DAYS) - 1;
        let first = last
            .checked_sub_days(Days::new(before))
            .ok_or(DayRangeError::BeforeTheCalendar)?;
        Self::new(first, last)
    }

    /// The latest [`DayRange::MAX_DAYS`] days from `first` to `last`; only `last` if `first` is after it.
    pub fn since(first: NaiveDate, last: NaiveDate) -> Result<Self, DayRangeError> {
        let between = last.signed_duration_since(first).num_days();
        Self::ending(last, u64::try_from(between).map_or(1, |days| days + 1))
    }

    pub const fn first(&self) -> NaiveDate {
        self.first
    }

    pub const fn last(&self) -> NaiveDate {
        self.last
    }

    pub const fn previous_first(&self) -> NaiveDate {
        self.previous_first
    }

    pub fn contains(&self, day: NaiveDate) -> bool {
        (self.first..=self.last).contains(&day)
    }

    pub fn days(&self) -> impl Iterator<Item = NaiveDate> + use<> {
        let last = self.last;
        // `iter_days` would leave out the calendar's last day.
        std::iter::successors(Some(self.first), move |day| {
            day.succ_opt().filter(|next| *next <= last)
        })
    }

    /// The first and the last millisecond of the range.
    pub const fn bounds(&self) -> (DateTime<Utc>, DateTime<Utc>) {
        (midnight(self.first), end_of(self.last))
    }

    pub const fn previous_bounds(&self) -> (DateTime<Utc>, DateTime<Utc>) {
        (midnight(self.previous_first), end_of(self.previous_last))
    }
}

const fn end_of(day: NaiveDate) -> DateTime<Utc> {
    match NaiveTime::from_hms_milli_opt(23, 59, 59, 999) {
        Some(time) => day.and_time(time).and_utc(),
        None => midnight(day),
    }
}

#[cfg(test)]
mod tests;
