//! The referral links that a sale credits, and the attribution window after the customer's first click.
//!
//! Clicks arrive late, twice and out of order. A [`Journey`] is a fold over clicks: the same clicks give the
//! same journey in any order and with any repeats. [`Journey::as_of`] gives the journey at any moment,
//! because a payment may be processed long after it was made. A journey has a maximum size: see [`Journey`]
//! for what it keeps.

use std::collections::HashSet;

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

use crate::ids::ReferralLinkId;
use crate::money::OutOfRange;

/// One real (non-test) click of a customer on a referral link.
// Time comes first: the derived order is the attribution order, by time and then by link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Touch {
    pub clicked_at: DateTime<Utc>,
    pub referral_link_id: ReferralLinkId,
}

/// Tolerated clock skew between a payment and its click.
const CLOCK_SKEW: TimeDelta = TimeDelta::minutes(1);

/// The clicks of one customer that attribution needs.
///
/// A journey keeps the first click, the latest [`Journey::KEPT`] clicks, and the latest click of each of the
/// [`Journey::KEPT`] most recently clicked links: at most `2 × KEPT + 1` clicks. So the journey of a customer
/// with up to `KEPT` clicks is exact at every moment. A longer one is exact since the oldest of the latest
/// `KEPT` clicks; before that, dropped clicks do not count.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
pub struct Journey {
    first: Touch,
    /// Ascending, distinct, not empty, and none before `first`.
    touches: Vec<Touch>,
}

impl Journey {
    pub const KEPT: usize = 100;

    pub fn begin(touch: Touch) -> Self {
        Self {
            first: touch,
            touches: vec![touch],
        }
    }

    /// Adds a click. A repeated click changes nothing.
    pub fn touch(&mut self, touch: Touch) {
        self.first = self.first.min(touch);
        if let Err(position) = self.touches.binary_search(&touch) {
            self.touches.insert(position, touch);
            self.forget_beyond_the_bound();
        }
    }

    /// It keeps the latest clicks by time, so the order of arrival does not matter.
    fn forget_beyond_the_bound(&mut self) {
        if self.touches.len() <= Self::KEPT {
            return;
        }
        let mut links = HashSet::new();
        let mut kept: Vec<Touch> = Vec::with_capacity(self.touches.len());
        for (newer, touch) in self.touches.iter().rev().enumerate() {
            let is_latest_of_link = links.len() < Self::KEPT && links.insert(touch.referral_link_id);
            if newer < Self::KEPT || is_latest_of_link {
                kept.push(*touch);
            }
        }
        kept.reverse();
        self.touches = kept;
    }

    /// The journey of stored rows, in any order. `None` if no clicks can have produced them: they are empty,
    /// contain a click twice, or contain a click before the first.
    pub fn from_parts(first: Touch, mut touches: Vec<Touch>) -> Option<Self> {
        touches.sort_unstable();
        let starts_at_first = touches.first().is_some_and(|earliest| *earliest >= first);
        let is_distinct = touches.windows(2).all(|pair| pair.first() != pair.last());
        (starts_at_first && is_distinct).then_some(Self { first, touches })
    }

    /// The journey at a moment, without later clicks. `None` before the first click.
    pub fn as_of(&self, at: DateTime<Utc>) -> Option<Self> {
        if self.first.clicked_at > at {
            return None;
        }
        let known = self.touches.partition_point(|touch| touch.clicked_at <= at);
        let mut touches = self.touches.get(..known).unwrap_or_default().to_vec();
        if touches.first() != Some(&self.first) {
            touches.insert(0, self.first);
        }
        Some(Self {
            first: self.first,
            touches,
        })
    }

    /// The journey that decides a payment of this time. `None` if the payment was made before the first
    /// click.
    ///
    /// Clocks differ. So a first click up to a minute after the payment still counts. Other clicks after the
    /// payment do not count, because they did not cause it.
    pub fn at_payment(&self, paid_at: DateTime<Utc>) -> Option<Self> {
        let first_clicked_at = self.first.clicked_at;
        if first_clicked_at - paid_at > CLOCK_SKEW {
            return None;
        }
        self.as_of(paid_at.max(first_clicked_at))
    }

    /// The start of the attribution window: the earliest click. A change of partner does not move it.
    pub const fn first(&self) -> Touch {
        self.first
    }

    pub fn last(&self) -> Touch {
        self.touches.last().copied().unwrap_or(self.first)
    }

    /// The kept clicks, oldest first.
    pub fn touches(&self) -> &[Touch] {
        &self.touches
    }

    /// Every link once, ordered by its latest click, oldest first.
    pub fn links(&self) -> Vec<ReferralLinkId> {
        let clicked: Vec<ReferralLinkId> = self.touches.iter().map(|touch| touch.referral_link_id).collect();
        distinct_in_order(&clicked)
    }
}

crate::text_enum! {
    /// The links of a journey that a sale credits.
    #[derive(Default, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum AttributionModel {
        #[default]
        LastClick = "last_click",
        FirstClick = "first_click",
        /// Every link of the journey, in equal shares.
        Linear = "linear",
    }
}

impl AttributionModel {
    /// The links to credit; never empty. The answer to a sale names the last link's commission.
    pub fn credited(self, journey: &Journey) -> Vec<ReferralLinkId> {
        match self {
            Self::LastClick => vec![journey.last().referral_link_id],
            Self::FirstClick => vec![journey.first().referral_link_id],
            Self::Linear => journey.links(),
        }
    }
}

/// Each item once, at the position of its last occurrence.
///
/// So a partner with several links is credited once, at the position of their latest click.
pub fn distinct_in_order<T: Eq + Copy>(items: &[T]) -> Vec<T> {
    let mut distinct = Vec::with_capacity(items.len());
    for item in items.iter().rev() {
        if !distinct.contains(item) {
            distinct.push(*item);
        }
    }
    distinct.reverse();
    distinct
}

crate::bounded::bounded! {
    /// How long after the first click a sale counts, in days of 24 hours.
    #[derive(PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(try_from = "u16", into = "u16")]
    AttributionWindow { days: u16 }, 1..=365, default 60
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WindowVerdict {
    Inside,
    /// The sale succeeds without attribution. `click_age_days` is rounded down to whole days, so it may equal
    /// `window_days`.
    Expired {
        click_age_days: i64,
        window_days: u16,
    },
}

impl AttributionWindow {
    /// Expired once more than the window has passed since the first click: exactly its end is inside.
    pub fn judge(self, first_click: DateTime<Utc>, at: DateTime<Utc>) -> WindowVerdict {
        let age = at.signed_duration_since(first_click);
        if age > TimeDelta::days(self.days.into()) {
            WindowVerdict::Expired {
                click_age_days: age.num_days(),
                window_days: self.days,
            }
        } else {
            WindowVerdict::Inside
        }
    }
}

impl TryFrom<u16> for AttributionWindow {
    type Error = OutOfRange;

    fn try_from(days: u16) -> Result<Self, OutOfRange> {
        Self::new(days).ok_or(OutOfRange {
            value: days.into(),
            min: 1,
            max: 365,
        })
    }
}

impl From<AttributionWindow> for u16 {
    fn from(window: AttributionWindow) -> Self {
        window.days
    }
}

#[cfg(test)]
mod tests;
