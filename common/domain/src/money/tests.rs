use proptest::prelude::*;

use super::*;

#[test]
fn amounts_are_positive_and_bounded() {
    assert_eq!(AmountCents::new(0), None);
    assert_eq!(AmountCents::new(-1), None);
    assert_eq!(AmountCents::new(1).map(AmountCents::get), Some(1));
    assert_eq!(AmountCents::new(AmountCents::MAX.get()), Some(AmountCents::MAX));
    assert_eq!(AmountCents::new(AmountCents::MAX.get() + 1), None);
}

#[test]
fn deserializing_keeps_the_bounds() {
    assert!(serde_json::from_str::<AmountCents>("0").is_err());
    assert!(serde_json::from_str::<AmountCents>("1.5").is_err());
    assert_eq!(serde_json::from_str::<AmountCents>("250").unwrap().get(), 250);
    assert!(serde_json::from_str::<BasisPoints>("10001").is_err());
    assert_eq!(
        serde_json::from_str::<BasisPoints>("10000").unwrap(),
        BasisPoints::WHOLE
    );
    assert!(serde_json::from_str::<Currency>("\"EURO\"").is_err());
}

#[test]
fn currencies_are_three_letters_kept_upper_case() {
    assert_eq!(Currency::parse("eur").unwrap().as_str(), "EUR");
    assert_eq!(Currency::default().as_str(), "USD");
    assert_eq!(serde_json::to_string(&Currency::USD).unwrap(), "\"USD\"");
    for code in ["", "US", "USDT", "U5D", "€", " US", "ÄB"] {
        assert_eq!(Currency::parse(code), None, "{code:?}");
    }
}

#[test]
fn halves_round_away_from_zero() {
    let half = |cents| proportion(Cents::new(cents), 1, 2).get();
    assert_eq!((half(1), half(3), half(-1), half(-3)), (1, 2, -1, -2));

    let third = |cents| proportion(Cents::new(cents), 1, 3).get();
    assert_eq!((third(1), third(2), third(-1), third(-2)), (0, 1, 0, -1));
}

#[test]
fn proportions_survive_the_largest_amounts() {
    let max = Cents::new(i64::MAX);
    assert_eq!(proportion(max, i64::MAX, i64::MAX), max);
    assert_eq!(proportion(max, i64::MAX, 1), max);
    assert_eq!(
        proportion(Cents::new(i64::MIN), i64::MAX, 1),
        Cents::new(i64::MIN)
    );
}

#[test]
fn dollars_print_as_two_decimals_do() {
    let printed = |cents| serde_json::to_string(&Cents::new(cents).to_dollars()).unwrap();
    assert_eq!(printed(1234), "12.34");
    assert_eq!(printed(-5), "-0.05");
    assert_eq!(printed(1210), "12.1");
    assert_eq!(printed(AmountCents::MAX.get() - 1), "999999999999.99");
}

#[test]
fn the_last_part_carries_the_remainder() {
    let split = split_evenly(Cents::new(1000), NonZeroUsize::new(3).unwrap());
    assert_eq!(split, [333, 333, 334].map(Cents::new));
}

proptest! {
    #[test]
    fn a_proportion_is_within_half_a_cent(
        of in any::<i64>(),
        numerator in 0..=i64::MAX,
        denominator in 1..=i64::MAX,
    ) {
        let numerator = numerator.min(denominator);
        let share = proportion(Cents::new(of), numerator, denominator);
        let error = i128::from(share.get()) * i128::from(denominator) - i128::from(of) * i128::from(numerator);
        prop_assert!(error.abs() * 2 <= i128::from(denominator));
    }

    #[test]
    fn a_proportion_grows_with_its_numerator(of in 0..=i64::MAX, a in 0i64..=10_000, b in 0i64..=10_000) {
        let (less, more) = (a.min(b), a.max(b));
        prop_assert!(proportion(Cents::new(of), less, 10_000) <= proportion(Cents::new(of), more, 10_000));
    }

    #[test]
    fn a_proportion_mirrors_its_sign(of in -i64::MAX..=i64::MAX, numerator in 0i64..=10_000) {
        let positive = proportion(Cents::new(of), numerator, 10_000);
        prop_assert_eq!(proportion(Cents::new(-of), numerator, 10_000), positive.saturating_neg());
    }

    #[test]
    fn parts_sum_to_the_total(total in any::<i64>(), parts in 1usize..500) {
        let split = split_evenly(Cents::new(total), NonZeroUsize::new(parts).unwrap());
        prop_assert_eq!(split.len(), parts);
        prop_assert_eq!(split.iter().map(|part| i128::from(part.get())).sum::<i128>(), i128::from(total));
        prop_assert!(split.windows(2).rev().skip(1).all(|pair| pair[0] == pair[1]));
    }

    #[test]
    fn dollars_print_their_cents_exactly(cents in -1_000_000_000_000_000i64..=1_000_000_000_000_000) {
        let exact = format!("{}{}.{:02}", if cents < 0 { "-" } else { "" }, cents.abs() / 100, cents.abs() % 100);
        prop_assert_eq!(format!("{:.2}", Cents::new(cents).to_dollars()), exact.clone());
        let nearest: f64 = exact.parse().unwrap();
        prop_assert_eq!(Cents::new(cents).to_dollars().to_bits(), nearest.to_bits());
    }

    #[test]
    fn any_three_letters_are_a_currency(code in "[A-Za-z]{3}") {
        let currency = Currency::parse(&code).unwrap();
        prop_assert_eq!(currency.as_str(), code.to_ascii_uppercase());
    }

    #[test]
    fn parsing_a_currency_never_panics(code in any::<String>()) {
        let _ = Currency::parse(&code);
    }
}
