//! Attempts to deliver a webhook: what an answer means, the next attempt, when an endpoint is disabled.

use chrono::{DateTime, NaiveDateTime, TimeDelta, Utc};

/// Delays between attempts: ten attempts within a little more than three days.
const DELAYS: [TimeDelta; 9] = [
    TimeDelta::seconds(5),
    TimeDelta::minutes(5),
    TimeDelta::minutes(30),
    TimeDelta::hours(2),
    TimeDelta::hours(5),
    TimeDelta::hours(10),
    TimeDelta::hours(14),
    TimeDelta::hours(20),
    TimeDelta::hours(24),
];

/// The first attempt is made at once.
pub const MAX_ATTEMPTS: usize = DELAYS.len() + 1;

/// The longest delay that a receiver may request.
const LONGEST_RETRY_AFTER: TimeDelta = TimeDelta::hours(24);

/// A failing endpoint is disabled after this time, …
pub const FAILS_FOR: TimeDelta = TimeDelta::days(5);
/// … if its first and its last failure are at least this far apart: one bad event is no reason.
pub const FAILURES_APART: TimeDelta = TimeDelta::hours(12);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Delivered,
    Failed {
        /// The delay that the receiver requested.
        retry_after: Option<TimeDelta>,
    },
    /// The receiver wants no more webhooks.
    Gone,
}

impl Outcome {
    /// The outcome of an attempt without an answer.
    pub const UNANSWERED: Self = Self::Failed { retry_after: None };

    /// The outcome of an answer. A redirect is not followed and counts as a failure.
    pub fn of_answer(status: u16, retry_after: Option<&str>, now: DateTime<Utc>) -> Self {
        match status {
            200..=299 => Self::Delivered,
            410 => Self::Gone,
            _ => Self::Failed {
                retry_after: retry_after.and_then(|text| parse_retry_after(text, now)),
            },
        }
    }
}

/// Parses seconds, or one of HTTP's three forms of a date: at most a day, `None` if neither or past.
fn parse_retry_after(text: &str, now: DateTime<Utc>) -> Option<TimeDelta> {
    let text = text.trim();
    let wait = if text.is_empty() {
        return None;
    } else if text.bytes().all(|byte| byte.is_ascii_digit()) {
        // A number too large to parse means a long time.
        let seconds = text.parse().unwrap_or(i64::MAX);
        TimeDelta::try_seconds(seconds).unwrap_or(TimeDelta::MAX)
    } else {
        parse_http_date(text)?.signed_duration_since(now)
    };
    (wait > TimeDelta::zero()).then(|| wait.min(LONGEST_RETRY_AFTER))
}

fn parse_http_date(text: &str) -> Option<DateTime<Utc>> {
    const FORMS: [&str; 3] = [
        "%a, %d %b %Y %H:%M:%S GMT",
        "%A, %d-%b-%y %H:%M:%S GMT",
        "%a %b %e %H:%M:%S %Y",
    ];
    let parsed = FORMS
        .iter()
        .find_map(|form| NaiveDateTime::parse_from_str(text, form).ok());
    parsed.map(|time| time.and_utc())
}

/// The time of the next attempt after `attempts` failed ones; `None` after the last. `jitter`, between -1 and
/// 1, changes the delay by up to a tenth. A receiver can request a longer delay.
pub fn next_attempt(
    attempts: usize,
    retry_after: Option<TimeDelta>,
    jitter: f64,
    now: DateTime<Utc>,
) -> Option<DateTime<Utc>> {
    let delay = *DELAYS.get(attempts.checked_sub(1)?)?;
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        reason = "milliseconds of a day, moved by a tenth"
    )]
    let moved = (delay.num_milliseconds() as f64 * (1.0 + jitter.clamp(-1.0, 1.0) / 10.0)) as i64;
    let delay = TimeDelta::milliseconds(moved).max(retry_after.unwrap_or_default());
    Some(now + delay)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn now() -> DateTime<Utc> {
        "2026-11-26T12:00:00Z".parse().unwrap()
    }

    #[test]
    fn attempts_are_spread_over_three_days() {
        let delays: Vec<i64> = (1..MAX_ATTEMPTS)
            .map(|attempts| {
                let due = next_attempt(attempts, None, 0.0, now()).unwrap();
                (due - now()).num_seconds()
            })
            .collect();
        let hours = [2, 5, 10, 14, 20, 24].map(|hours| hours * 3_600);
        assert_eq!(delays[..3], [5, 300, 1_800]);
        assert_eq!(delays[3..], hours);
        assert_eq!(next_attempt(MAX_ATTEMPTS, None, 0.0, now()), None);
        assert_eq!(next_attempt(MAX_ATTEMPTS + 7, None, 0.0, now()), None);
        assert_eq!(next_attempt(0, None, 0.0, now()), None);
    }

    #[test]
    fn jitter_is_a_tenth_at_most() {
        let after = |jitter| (next_attempt(2, None, jitter, now()).unwrap() - now()).num_seconds();
        assert_eq!([after(-1.0), after(0.0), after(1.0)], [270, 300, 330]);
        assert_eq!([after(-9.0), after(9.0)], [270, 330]);
    }

    #[test]
    fn a_receiver_may_ask_for_more_time_and_for_no_less() {
        let after = |seconds| {
            let asked = Some(TimeDelta::seconds(seconds));
            (next_attempt(2, asked, 0.0, now()).unwrap() - now()).num_seconds()
        };
        assert_eq!([after(1), after(299), after(301)], [300, 300, 301]);
    }

    #[test]
    fn answers_mean_success_failure_or_the_end() {
        for status in [200, 201, 202, 204, 299] {
            assert_eq!(Outcome::of_answer(status, Some("9"), now()), Outcome::Delivered);
        }
        assert_eq!(Outcome::of_answer(410, None, now()), Outcome::Gone);
        for status in [100, 199, 300, 301, 302, 307, 308, 400, 404, 429, 500, 503, 999] {
            assert_eq!(Outcome::of_answer(status, None, now()), Outcome::UNANSWERED);
        }
    }

    #[test]
    fn retry_after_is_seconds_or_a_date_within_a_day() {
        let asked = |text: &str| match Outcome::of_answer(503, Some(text), now()) {
            Outcome::Failed { retry_after } => retry_after.map(|wait| wait.num_seconds()),
            other => panic!("{other:?}"),
        };
        for (text, seconds) in [
            ("120", Some(120)),
            (" 7 ", Some(7)),
            ("86401", Some(86_400)),
            ("99999999999999999999", Some(86_400)),
            ("Thu, 26 Nov 2026 12:10:00 GMT", Some(600)),
            ("Thursday, 26-Nov-26 12:10:00 GMT", Some(600)),
            ("Thu Nov 26 12:10:00 2026", Some(600)),
            ("Thu, 26 Nov 2099 12:10:00 GMT", Some(86_400)),
            ("Thu, 26 Nov 2026 11:00:00 GMT", None),
            ("Mon, 26 Nov 2026 13:00:00 GMT", None),
            ("Fri, 26 Nov 2027 12:00:00 GMT", Some(86_400)),
            ("0", None),
            ("-5", None),
            ("1.5", None),
            ("soon", None),
            ("", None),
        ] {
            assert_eq!(asked(text), seconds, "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_header_makes_a_wait_beyond_a_day(text in "\\PC{0,40}") {
            if let Outcome::Failed { retry_after: Some(wait) } = Outcome::of_answer(500, Some(&text), now()) {
                prop_assert!(wait > TimeDelta::zero() && wait <= TimeDelta::hours(24));
            }
        }
    }
}
