use proptest::prelude::*;

use super::*;

fn at(ms: i64) -> DateTime<Utc> {
    DateTime::from_timestamp_millis(1_750_000_000_000 + ms).unwrap()
}

fn click(link: i64, ms: i64) -> Touch {
    Touch {
        referral_link_id: ReferralLinkId::new(link),
        clicked_at: at(ms),
    }
}

fn journey(clicks: &[Touch]) -> Journey {
    let (first, rest) = clicks.split_first().unwrap();
    let mut journey = Journey::begin(*first);
    for touch in rest {
        journey.touch(*touch);
    }
    journey
}

fn links(ids: &[i64]) -> Vec<ReferralLinkId> {
    ids.iter().copied().map(ReferralLinkId::new).collect()
}

#[test]
fn a_journey_names_each_link_at_its_latest_click() {
    let journey = journey(&[click(1, 0), click(2, 10), click(1, 20), click(3, 5)]);
    assert_eq!(journey.first(), click(1, 0));
    assert_eq!(journey.last(), click(1, 20));
    assert_eq!(journey.links(), links(&[3, 2, 1]));
}

#[test]
fn a_journey_answers_as_of_a_moment() {
    let journey = journey(&[click(1, 10), click(2, 20), click(1, 30)]);
    let credited =
        |ms, model: AttributionModel| journey.as_of(at(ms)).map(|journey| model.credited(&journey));
    assert_eq!(credited(9, AttributionModel::LastClick), None);
    assert_eq!(credited(10, AttributionModel::LastClick), Some(links(&[1])));
    assert_eq!(credited(29, AttributionModel::LastClick), Some(links(&[2])));
    assert_eq!(credited(30, AttributionModel::LastClick), Some(links(&[1])));
    assert_eq!(credited(29, AttributionModel::Linear), Some(links(&[1, 2])));
    assert_eq!(credited(30, AttributionModel::Linear), Some(links(&[2, 1])));
}

#[test]
fn a_minute_of_skew_helps_the_first_click_and_no_other() {
    let journey = journey(&[click(1, 60_000), click(2, 60_001)]);
    let paid = |ms| {
        journey
            .at_payment(at(ms))
            .map(|journey| journey.last().referral_link_id.get())
    };
    assert_eq!(paid(-1), None);
    assert_eq!(paid(0), Some(1));
    assert_eq!(paid(60_000), Some(1));
    assert_eq!(paid(60_001), Some(2));
}

#[test]
fn each_model_credits_its_links() {
    let journey = journey(&[click(1, 0), click(2, 10), click(3, 5)]);
    assert_eq!(AttributionModel::LastClick.credited(&journey), links(&[2]));
    assert_eq!(AttributionModel::FirstClick.credited(&journey), links(&[1]));
    assert_eq!(AttributionModel::Linear.credited(&journey), links(&[1, 3, 2]));
}

#[test]
fn clicks_of_one_instant_are_ordered_by_link() {
    let journey = journey(&[click(2, 0), click(1, 0)]);
    assert_eq!((journey.first(), journey.last()), (click(1, 0), click(2, 0)));
}

#[test]
fn rows_that_no_clicks_produce_are_refused() {
    let first = click(1, 10);
    assert_eq!(Journey::from_parts(first, vec![]), None);
    assert_eq!(Journey::from_parts(first, vec![click(1, 9)]), None);
    assert_eq!(Journey::from_parts(first, vec![click(1, 30), click(2, 9)]), None);
    assert_eq!(Journey::from_parts(first, vec![click(1, 10), click(1, 10)]), None);
    assert!(Journey::from_parts(first, vec![click(1, 10), click(1, 30)]).is_some());
    assert!(Journey::from_parts(first, vec![click(2, 20), click(1, 10)]).is_some());
}

#[test]
fn models_read_back_from_their_text() {
    for model in AttributionModel::ALL {
        assert_eq!(AttributionModel::parse(model.as_str()), Some(model));
        assert_eq!(serde_json::to_value(model).unwrap(), model.as_str());
    }
    assert_eq!(AttributionModel::parse("position_based"), None);
}

#[test]
fn an_item_stays_where_it_occurred_last() {
    assert_eq!(distinct_in_order(&[1, 2, 1, 3, 2]), [1, 3, 2]);
    assert!(distinct_in_order::<i64>(&[]).is_empty());
}

#[test]
fn the_window_closes_one_millisecond_after_its_last_day() {
    let day = 86_400_000;
    let window = AttributionWindow::new(60).unwrap();
    assert_eq!(window.judge(at(0), at(60 * day)), WindowVerdict::Inside);
    assert_eq!(
        window.judge(at(0), at(60 * day + 1)),
        WindowVerdict::Expired {
            click_age_days: 60,
            window_days: 60
        }
    );
    assert_eq!(
        window.judge(at(0), at(62 * day - 1)),
        WindowVerdict::Expired {
            click_age_days: 61,
            window_days: 60
        }
    );
    assert_eq!(window.judge(at(0), at(-day)), WindowVerdict::Inside);
}

#[test]
fn the_window_judges_the_whole_calendar_without_panic() {
    let (earliest, latest) = (DateTime::<Utc>::MIN_UTC, DateTime::<Utc>::MAX_UTC);
    let window = AttributionWindow::DEFAULT;
    assert!(matches!(
        window.judge(earliest, latest),
        WindowVerdict::Expired { .. }
    ));
    assert_eq!(window.judge(latest, earliest), WindowVerdict::Inside);
}

#[test]
fn windows_have_one_to_365_days() {
    assert_eq!(AttributionWindow::new(0), None);
    assert_eq!(AttributionWindow::new(366), None);
    assert_eq!(AttributionWindow::default().days(), 60);
    assert!(serde_json::from_str::<AttributionWindow>("0").is_err());
    assert_eq!(
        serde_json::from_str::<AttributionWindow>("365").unwrap().days(),
        365
    );
}

fn clicks() -> impl Strategy<Value = Vec<Touch>> {
    prop::collection::vec((0i64..6, 0i64..12).prop_map(|(link, ms)| click(link, ms)), 1..24)
}

fn clicks_and_a_replay() -> impl Strategy<Value = (Vec<Touch>, Vec<Touch>)> {
    clicks().prop_flat_map(|clicks| {
        let repeated = prop::collection::vec(prop::sample::select(clicks.clone()), 0..8);
        let replay = repeated.prop_flat_map({
            let clicks = clicks.clone();
            move |repeated| Just([clicks.clone(), repeated].concat()).prop_shuffle()
        });
        (Just(clicks), replay)
    })
}

proptest! {
    #[test]
    fn order_and_repetition_of_clicks_do_not_matter((clicks, replay) in clicks_and_a_replay()) {
        prop_assert_eq!(journey(&clicks), journey(&replay));
    }

    #[test]
    fn a_journey_is_what_its_clicks_say(clicks in clicks()) {
        let journey = journey(&clicks);
        prop_assert_eq!(Some(&journey.first()), clicks.iter().min());
        prop_assert_eq!(Some(&journey.last()), clicks.iter().max());
        prop_assert!(journey.touches().is_sorted());
    }

    #[test]
    fn as_of_any_moment_a_journey_is_that_of_the_clicks_until_then(clicks in clicks(), ms in -1i64..14) {
        let until_then: Vec<Touch> = clicks.iter().copied().filter(|touch| touch.clicked_at <= at(ms)).collect();
        let expected = (!until_then.is_empty()).then(|| journey(&until_then));
        let answered = journey(&clicks).as_of(at(ms));
        for model in AttributionModel::ALL {
            let credited = |journey: &Option<Journey>| journey.as_ref().map(|journey| model.credited(journey));
            prop_assert_eq!(credited(&answered), credited(&expected));
        }
        prop_assert_eq!(answered.map(|journey| journey.first()), expected.map(|journey| journey.first()));
    }

    #[test]
    fn a_stored_journey_reads_back((clicks, _) in clicks_and_a_replay()) {
        let journey = journey(&clicks);
        let mut rows = journey.touches().to_vec();
        rows.reverse();
        prop_assert_eq!(Journey::from_parts(journey.first(), rows), Some(journey));
    }

    #[test]
    fn every_model_credits_distinct_links_of_the_journey(clicks in clicks()) {
        let journey = journey(&clicks);
        for model in AttributionModel::ALL {
            let credited = model.credited(&journey);
            prop_assert!(!credited.is_empty());
            prop_assert_eq!(&distinct_in_order(&credited), &credited);
            prop_assert!(credited.iter().all(|link| clicks.iter().any(|touch| touch.referral_link_id == *link)));
        }
    }

    #[test]
    fn distinct_keeps_the_set_and_the_last_item(items in prop::collection::vec(0i64..6, 0..20)) {
        let distinct = distinct_in_order(&items);
        prop_assert_eq!(distinct.last(), items.last());
        prop_assert!(items.iter().all(|item| distinct.iter().filter(|kept| *kept == item).count() == 1));
        prop_assert!(distinct.iter().all(|kept| items.contains(kept)));
    }

    #[test]
    fn a_wider_window_or_an_earlier_sale_is_never_worse(
        days in 1u16..365,
        age in 0i64..40_000_000_000,
        less in 0i64..40_000_000_000,
    ) {
        let window = AttributionWindow::new(days).unwrap();
        if window.judge(at(0), at(age)) == WindowVerdict::Inside {
            prop_assert_eq!(AttributionWindow::new(days + 1).unwrap().judge(at(0), at(age)), WindowVerdict::Inside);
            prop_assert_eq!(window.judge(at(0), at(age.min(less))), WindowVerdict::Inside);
        }
    }
}

proptest! {
    // Few cases, because each folds hundreds of clicks.
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_long_journey_is_bounded_in_any_order_of_clicks_and_exact_for_the_latest(
        (clicks, shuffled, ms) in prop::collection::vec((0i64..150, 0i64..400).prop_map(|(link, ms)| click(link, ms)), 200..600)
            .prop_flat_map(|clicks| (Just(clicks.clone()), Just(clicks).prop_shuffle(), 0i64..400)),
    ) {
        let kept = journey(&clicks);
        prop_assert_eq!(&kept, &journey(&shuffled));
        prop_assert!(kept.touches().len() <= 2 * Journey::KEPT);
        let mut distinct = clicks.clone();
        distinct.sort_unstable();
        distinct.dedup();
        let oldest = distinct[distinct.len().saturating_sub(Journey::KEPT)];
        let until_then = distinct.iter().rev().find(|touch| touch.clicked_at <= at(ms));
        if let Some(last) = until_then.filter(|last| **last >= oldest) {
            prop_assert_eq!(kept.as_of(at(ms)).unwrap().last(), *last);
        }
    }
}
