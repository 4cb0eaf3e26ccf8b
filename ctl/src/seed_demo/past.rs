//! A plausible history of clicks, signups, payments and refunds, drawn from a seed.
//!
//! Traffic varies by weekday and hour, and grows. No event is in the future, and no sale outside the
//! attribution window.

use chrono::{DateTime, Datelike, TimeDelta, Utc};

use super::chance::Chance;

/// Average number of clicks a day.
const CLICKS_A_DAY: f64 = 58.0;
/// Relative traffic from Monday to Sunday.
const WEEK: [f64; 7] = [1.12, 1.18, 1.15, 1.08, 0.96, 0.72, 0.79];
/// Relative traffic of each hour of the day.
const HOURS: [u32; 24] = [
    2, 1, 1, 1, 1, 2, 4, 6, 9, 11, 12, 11, 10, 11, 11, 10, 9, 9, 10, 12, 13, 11, 7, 4,
];
/// Probabilities in percent.
const SIGN_UP: u32 = 17;
const PAY: u32 = 42;
const SUBSCRIBE: u32 = 45;
const RENEW: u32 = 82;
const REFUNDED: u32 = 8;
const REFUNDED_IN_PART: u32 = 40;
/// Price in cents, and weight.
const PRICES: [(i64, u32); 5] = [(2_900, 8), (4_900, 10), (7_900, 5), (14_900, 3), (24_900, 1)];
const MONTH: TimeDelta = TimeDelta::days(30);
/// The default attribution window.
const WINDOW: TimeDelta = TimeDelta::days(60);

/// A visitor and the events that follow the click.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Visitor {
    pub clicked_at: DateTime<Utc>,
    /// Indexes in the lists of links, user agents and countries.
    pub link: usize,
    pub agent: usize,
    pub country: usize,
    pub led_at: Option<DateTime<Utc>>,
    pub sales: Vec<PastSale>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastSale {
    pub sold_at: DateTime<Utc>,
    pub cents: i64,
    /// The payment belongs to a subscription.
    pub subscribes: bool,
    pub refund: Option<PastRefund>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastRefund {
    pub refunded_at: DateTime<Utc>,
    /// `None` for the whole sale.
    pub cents: Option<i64>,
}

/// The traffic share of each link, and how many user agents and countries to choose from.
#[derive(Debug)]
pub struct Traffic<'a> {
    pub links: &'a [u32],
    pub agents: &'a [u32],
    pub countries: &'a [u32],
}

/// The visitors of the last `days` days, in the order of their clicks.
pub fn visitors(traffic: &Traffic<'_>, days: u32, now: DateTime<Utc>, chance: &mut Chance) -> Vec<Visitor> {
    let mut visitors = Vec::new();
    for ago in (0..i64::from(days)).rev() {
        let day = now - TimeDelta::days(ago);
        for _ in 0..clicks_of(day, ago, days, chance) {
            let clicked_at = moment(day, chance);
            if clicked_at < now {
                visitors.push(visitor(traffic, clicked_at, now, chance));
            }
        }
    }
    visitors.sort_by_key(|visitor| visitor.clicked_at);
    visitors
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a few dozen clicks"
)]
fn clicks_of(day: DateTime<Utc>, ago: i64, days: u32, chance: &mut Chance) -> u32 {
    let grown = 1.3 - 0.6 * ago as f64 / f64::from(days.max(1));
    let week = WEEK
        .get(day.weekday().num_days_from_monday() as usize)
        .copied()
        .unwrap_or(1.0);
    let noise = 0.82 + f64::from(chance.below(37)) / 100.0;
    (CLICKS_A_DAY * grown * week * noise).round() as u32
}

fn moment(day: DateTime<Utc>, chance: &mut Chance) -> DateTime<Utc> {
    let midnight = day.date_naive().and_time(chrono::NaiveTime::MIN).and_utc();
    let hour = i64::try_from(chance.weighted(&HOURS)).unwrap_or_default();
    midnight + TimeDelta::hours(hour) + TimeDelta::milliseconds(i64::from(chance.below(3_600_000)))
}

fn visitor(
    traffic: &Traffic<'_>,
    clicked_at: DateTime<Utc>,
    now: DateTime<Utc>,
    chance: &mut Chance,
) -> Visitor {
    let mut visitor = Visitor {
        clicked_at,
        link: chance.weighted(traffic.links),
        agent: chance.weighted(traffic.agents),
        country: chance.weighted(traffic.countries),
        led_at: None,
        sales: Vec::new(),
    };
    let led_at = clicked_at + minutes(2, 600, chance);
    if !chance.of_hundred(SIGN_UP) || led_at >= now {
        return visitor;
    }
    visitor.led_at = Some(led_at);
    let sold_at = led_at + minutes(5, 5 * 24 * 60, chance);
    if chance.of_hundred(PAY) && sold_at < now {
        visitor.sales = payments(sold_at, now.min(clicked_at + WINDOW), now, chance);
    }
    visitor
}

/// A single payment, or the payments of a subscription until it ends, before `end`.
fn payments(
    first: DateTime<Utc>,
    end: DateTime<Utc>,
    now: DateTime<Utc>,
    chance: &mut Chance,
) -> Vec<PastSale> {
    let prices = PRICES.map(|(_, weight)| weight);
    let cents = PRICES
        .get(chance.weighted(&prices))
        .map_or(4_900, |(cents, _)| *cents);
    let subscribes = chance.of_hundred(SUBSCRIBE);
    let mut sales = Vec::new();
    let mut sold_at = first;
    while sold_at < end {
        let refund = refund(cents, sold_at, now, chance);
        let ends = refund.is_some() || !subscribes || !chance.of_hundred(RENEW);
        sales.push(PastSale {
            sold_at,
            cents,
            subscribes,
            refund,
        });
        if ends {
            break;
        }
        sold_at += MONTH;
    }
    sales
}

fn refund(cents: i64, sold_at: DateTime<Utc>, now: DateTime<Utc>, chance: &mut Chance) -> Option<PastRefund> {
    let refunded_at = sold_at + minutes(60, 12 * 24 * 60, chance);
    if !chance.of_hundred(REFUNDED) || refunded_at >= now {
        return None;
    }
    Some(PastRefund {
        refunded_at,
        cents: chance.of_hundred(REFUNDED_IN_PART).then_some(cents / 2),
    })
}

/// A number of minutes in the range. Small numbers are more frequent.
fn minutes(least: u32, most: u32, chance: &mut Chance) -> TimeDelta {
    let (one, other) = (chance.below(most - least), chance.below(most - least));
    TimeDelta::minutes(i64::from(least + one.min(other)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn past(now: DateTime<Utc>) -> Vec<Visitor> {
        let traffic = Traffic {
            links: &[5, 3, 1],
            agents: &[1, 1],
            countries: &[1],
        };
        visitors(&traffic, 90, now, &mut Chance::new(7))
    }

    #[test]
    fn everything_happens_in_its_order_and_before_now() {
        let now = DateTime::UNIX_EPOCH + TimeDelta::days(20_000) + TimeDelta::hours(14);
        let visitors = past(now);
        assert!(visitors.len() > 3_000, "{}", visitors.len());
        assert!(visitors.is_sorted_by_key(|visitor| visitor.clicked_at));
        for visitor in &visitors {
            assert!(visitor.clicked_at < now && visitor.clicked_at > now - TimeDelta::days(91));
            assert!(visitor.link < 3 && visitor.agent < 2 && visitor.country < 1);
            let mut before = visitor.led_at.unwrap_or(visitor.clicked_at);
            assert!(visitor.sales.is_empty() || visitor.led_at.is_some());
            for sale in &visitor.sales {
                assert!(sale.sold_at >= before && sale.sold_at < now && sale.cents > 0);
                assert!(sale.sold_at - visitor.clicked_at < WINDOW);
                before = sale.sold_at;
                if let Some(refund) = &sale.refund {
                    assert!(refund.refunded_at > sale.sold_at && refund.refunded_at < now);
                    assert!(refund.cents.is_none_or(|cents| cents > 0 && cents < sale.cents));
                }
            }
        }
        let sales = || visitors.iter().flat_map(|visitor| &visitor.sales);
        assert!(sales().any(|sale| sale.refund.is_some()) && sales().any(|sale| sale.subscribes));
    }

    #[test]
    fn the_same_moment_has_the_same_past() {
        let now = DateTime::UNIX_EPOCH + TimeDelta::days(20_000);
        assert_eq!(past(now), past(now));
    }

    #[test]
    fn weekends_are_quieter() {
        let visitors = past(DateTime::UNIX_EPOCH + TimeDelta::days(20_000));
        let on = |weekend: bool| {
            let is_one =
                |visitor: &&Visitor| (visitor.clicked_at.weekday().num_days_from_monday() > 4) == weekend;
            visitors.iter().filter(is_one).count()
        };
        assert!(on(true) * 5 < on(false) * 2);
    }
}
