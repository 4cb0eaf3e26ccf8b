use proptest::prelude::*;

use super::*;

fn day(text: &str) -> NaiveDate {
    text.parse().unwrap()
}

fn instant(text: &str) -> DateTime<Utc> {
    text.parse().unwrap()
}

#[test]
fn a_moment_is_a_day_or_an_instant() {
    assert_eq!(Moment::parse("2026-02-28"), Some(Moment::Day(day("2026-02-28"))));
    for (text, at) in [
        ("2026-01-01T10:00:00Z", "2026-01-01T10:00:00Z"),
        ("2026-01-01T10:00:00.250Z", "2026-01-01T10:00:00.250Z"),
        ("2026-01-01T01:00:00+02:00", "2025-12-31T23:00:00Z"),
        ("2026-01-01T10:00:00", "2026-01-01T10:00:00Z"),
        ("2026-01-01T10:00", "2026-01-01T10:00:00Z"),
    ] {
        assert_eq!(Moment::parse(text), Some(Moment::Instant(instant(at))), "{text}");
    }
}

#[test]
fn what_is_no_moment_is_none() {
    for text in [
        "",
        "yesterday",
        "2026-1-1",
        "2026-02-30",
        "2026-13-01",
        " 2026-01-01",
        "2026-01-01 ",
        "+262000-01-01",
        "-262000-01-01",
        "262000-01-01",
        "10000-01-01",
        "1969-12-31",
        "0000-01-01",
        "2026-01-01T25:00:00Z",
        "2026-01-01T10:00:00+99:99",
        "1970-01-01T00:00:00+01:00",
        "２０２６-01-01",
    ] {
        assert_eq!(Moment::parse(text), None, "{text}");
    }
}

#[test]
fn a_day_ends_with_the_next_and_an_instant_with_its_millisecond() {
    let ends = |text| Moment::parse(text).unwrap().end();
    assert_eq!(ends("2026-12-31"), instant("2027-01-01T00:00:00Z"));
    assert_eq!(
        ends("9999-12-31"),
        Moment::Day(day("9999-12-31")).start() + TimeDelta::days(1)
    );
    assert_eq!(
        ends("2026-01-01T10:00:00.1239Z"),
        instant("2026-01-01T10:00:00.124Z")
    );
}

#[test]
fn a_range_is_compared_with_the_days_before_it() {
    let range = DayRange::new(day("2026-03-01"), day("2026-03-03")).unwrap();
    assert_eq!(range.days().count(), 3);
    assert_eq!(
        range.bounds(),
        (
            instant("2026-03-01T00:00:00Z"),
            instant("2026-03-03T23:59:59.999Z")
        )
    );
    assert_eq!(
        range.previous_bounds(),
        (
            instant("2026-02-26T00:00:00Z"),
            instant("2026-02-28T23:59:59.999Z")
        )
    );
}

#[test]
fn a_range_runs_forward_and_has_a_limit() {
    let new = |first, last| DayRange::new(day(first), day(last));
    assert_eq!(new("2026-03-02", "2026-03-01"), Err(DayRangeError::Reversed));
    assert_eq!(new("2016-01-01", "2026-12-31"), Err(DayRangeError::TooLong));
    assert!(DayRange::ending(day("2026-01-01"), DayRange::MAX_DAYS).is_ok());
    let since = DayRange::since(day("1990-01-01"), day("2026-01-01")).unwrap();
    assert_eq!(since.days().count(), 3_660);
    let future = DayRange::since(day("2026-01-02"), day("2026-01-01")).unwrap();
    assert_eq!(
        (future.first(), future.last()),
        (day("2026-01-01"), day("2026-01-01"))
    );
}

#[test]
fn the_calendars_last_day_is_in_its_range() {
    let last = NaiveDate::MAX;
    let range = DayRange::new(last.pred_opt().unwrap(), last).unwrap();
    assert_eq!(range.days().last(), Some(last));
}

fn any_day() -> impl Strategy<Value = NaiveDate> {
    let (first, last) = (
        NaiveDate::MIN.num_days_from_ce(),
        NaiveDate::MAX.num_days_from_ce(),
    );
    prop_oneof![
        first..=last,
        first..=first + 4_000,
        last - 4_000..=last,
        719_000..=740_000
    ]
    .prop_map(|days| NaiveDate::from_num_days_from_ce_opt(days).unwrap())
}

proptest! {
    #[test]
    fn no_pair_of_days_panics_and_a_range_is_what_it_says(first in any_day(), last in any_day()) {
        let _ = DayRange::since(first, last);
        if let Ok(range) = DayRange::new(first, last) {
            let days: Vec<_> = range.days().collect();
            prop_assert_eq!(days.first(), Some(&first));
            prop_assert_eq!(days.last(), Some(&last));
            prop_assert!(days.iter().all(|day| range.contains(*day)));
            let before = first.signed_duration_since(range.previous_first()).num_days();
            prop_assert_eq!(u64::try_from(before).unwrap(), days.len() as u64);
            prop_assert!(range.previous_bounds().1 < range.bounds().0);
        }
    }

    #[test]
    fn no_text_panics(text in "\\PC{0,40}", date in "[+-]?[0-9]{1,6}-[0-9]{1,3}-[0-9]{1,3}(T[0-9:.]{0,12}(Z|[+-][0-9:]{0,5})?)?") {
        for text in [text, date] {
            if let Some(moment) = Moment::parse(&text) {
                prop_assert!(moment.start() < moment.end());
                prop_assert!(YEARS.contains(&moment.day().year()));
            }
        }
    }
}
