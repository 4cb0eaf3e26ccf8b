use proptest::prelude::*;

use super::*;

#[test]
fn trends_with_their_edges() {
    use Direction::{Down, Stable, Up};
    for (previous, current, percent, direction) in [
        (0, 0, 0.0, Stable),
        (0, 1, 100.0, Up),
        (0, 1_000_000, 100.0, Up),
        (7, 7, 0.0, Stable),
        (1, 0, 100.0, Down),
        (10, 15, 50.0, Up),
        (10, 5, 50.0, Down),
        (1, 5, 400.0, Up),
        (3, 4, 33.3, Up),
        (3, 2, 33.3, Down),
        (3, 5, 66.7, Up),
        // Exactly half of a tenth rounds away from zero, up and down.
        (2_000, 2_001, 0.1, Up),
        (2_000, 1_999, 0.1, Down),
        (2_001, 2_002, 0.0, Up),
        (1_000_000, 999_999, 0.0, Down),
        (1, i64::MAX, 9.223_372_036_854_776e17, Up),
    ] {
        let trend = Trend::between(previous, current);
        assert_eq!(
            (trend.percent(), trend.direction),
            (percent, direction),
            "{previous} to {current}"
        );
    }
}

#[test]
#[expect(clippy::float_cmp, reason = "what is rounded is the nearest number there is")]
fn rates_are_rounded_to_two_decimals_half_away_from_zero() {
    let rate = |conversions, clicks| {
        Totals {
            clicks,
            conversions,
            ..Totals::default()
        }
        .conversion_rate()
    };
    for (conversions, clicks, expected) in [
        (0, 0, 0.0),
        (5, 0, 0.0),
        (0, 9, 0.0),
        (1, 3, 33.33),
        (2, 3, 66.67),
        (1, 8, 12.5),
        (1, 16_000, 0.01),
        (1, 20_000, 0.01),
        (1, 20_001, 0.0),
        (3, 2, 150.0),
    ] {
        assert_eq!(rate(conversions, clicks), expected, "{conversions} of {clicks}");
    }
    let value = |cents, conversions| {
        Totals {
            conversions,
            revenue: Cents::new(cents),
            ..Totals::default()
        }
        .average_order_value()
    };
    for (cents, conversions, expected) in [
        (0, 0, 0.0),
        (999, 0, 0.0),
        (1_000, 3, 3.33),
        (1_001, 2, 5.01),
        (2_000, 3, 6.67),
        (1, 2, 0.01),
    ] {
        assert_eq!(value(cents, conversions), expected, "{cents} by {conversions}");
    }
}

fn day(number: i32) -> NaiveDate {
    NaiveDate::from_num_days_from_ce_opt(740_000 + number).unwrap()
}

fn totals() -> impl Strategy<Value = Totals> {
    (
        0..9_i64,
        0..9_i64,
        0..9_i64,
        0..9_i64,
        0..9_i64,
        0..99_999_i64,
        0..99_999_i64,
    )
        .prop_map(
            |(clicks, leads, conversions, partners, sales, revenue, commission)| Totals {
                clicks,
                leads,
                conversions,
                partners,
                sales,
                revenue: Cents::new(revenue),
                commission: Cents::new(commission),
            },
        )
}

proptest! {
    #[test]
    fn days_add_up_to_the_total_and_the_days_before_to_the_previous(
        length in 1..40_i32,
        known in prop::collection::vec((-60..60_i32, totals()), 0..60),
    ) {
        let range = DayRange::new(day(0), day(length - 1)).unwrap();
        let performance = Performance::of(&range, known.iter().map(|(at, totals)| (day(*at), *totals)));
        prop_assert_eq!(performance.days.len(), usize::try_from(length).unwrap());
        let sum = |from: i32, to: i32| {
            let mut sum = Totals::default();
            known.iter().filter(|(at, _)| (from..to).contains(at)).for_each(|(_, totals)| sum.add(totals));
            sum
        };
        prop_assert_eq!(performance.total, sum(0, length));
        prop_assert_eq!(performance.previous, sum(-length, 0));
        for (number, (at, totals)) in (0..).zip(&performance.days) {
            prop_assert_eq!(*at, day(number));
            prop_assert_eq!(*totals, sum(number, number + 1));
        }
    }

    #[test]
    fn a_trend_is_the_change_to_half_a_tenth(previous in any::<i64>(), current in any::<i64>()) {
        let trend = Trend::between(previous, current);
        prop_assert!(trend.percent() >= 0.0);
        prop_assert_eq!(trend.direction == Direction::Stable, previous == current);
    }

    #[test]
    fn a_trend_is_no_further_off_than_rounding(previous in 1..1_000_000_i32, current in 0..1_000_000_i32) {
        let exact = f64::from((current - previous).abs()) * 100.0 / f64::from(previous);
        prop_assert!((Trend::between(previous.into(), current.into()).percent() - exact).abs() <= 0.050_000_1);
    }
}
