//! Which referral links a sale credits, and whether the customer's first click is still recent enough.
//!
//! Clicks arrive late, twice and out of order. A [`Journey`] is a fold that does not notice: the same clicks
//! give the same journey in any order and any number. It is bounded by the number of distinct links, not of
//! clicks.

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

use super::ids::ReferralLinkId;
use super::money::OutOfRange;

/// One real (non-test) click of a customer on a referral link.
// Time stands first because the derived order is the attribution order: by time, then by link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Touch {
    pub clicked_at: DateTime<Utc>,
    pub referral_link_id: ReferralLinkId,
}

/// All clicks of one customer, folded to what attribution needs: the first click, and each link's latest.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
pub struct Journey {
    first: Touch,
    /// Distinct links, ascending in [`Touch`] order; never empty; none before `first`.
    touches: Vec<Touch>,
}

impl Journey {
    pub fn begin(touch: Touch) -> Self {
        Self {
            first: touch,
            touches: vec![touch],
        }
    }

    /// Takes one more click in. A repeated click changes nothing.
    pub fn touch(&mut self, touch: Touch) {
        self.first = self.first.min(touch);
        let of_same_link = |known: &Touch| known.referral_link_id == touch.referral_link_id;
        if self
            .touches
            .iter()
            .any(|known| of_same_link(known) && *known >= touch)
        {
            return;
        }
        self.touches.retain(|known| !of_same_link(known));
        let position = self.touches.partition_point(|known| *known < touch);
        self.touches.insert(position, touch);
    }

    /// The journey of stored rows, in any order. `None` when no clicks could have produced them: no touch at
    /// all, a link twice, a touch before the first click, or a first click whose link is not among them.
    pub fn from_parts(first: Touch, mut touches: Vec<Touch>) -> Option<Self> {
        touches.sort_unstable();
        let starts_at_first = touches.first().is_some_and(|earliest| *earliest >= first);
        let knows_first_link = touches
            .iter()
            .any(|touch| touch.referral_link_id == first.referral_link_id);
        let mut links: Vec<_> = touches.iter().map(|touch| touch.referral_link_id).collect();
        links.sort_unstable();
        links.dedup();
        let links_are_distinct = links.len() == touches.len();
        (starts_at_first && knows_first_link && links_are_distinct).then_some(Self { first, touches })
    }

    /// The anchor of the attribution window: the earliest click ever. A switch of partner does not move it.
    pub const fn first(&self) -> Touch {
        self.first
    }

    /// The latest click.
    pub fn last(&self) -> Touch {
        self.touches.last().copied().unwrap_or(self.first)
    }

    /// Every link once, at its latest click, oldest first.
    pub fn touches(&self) -> &[Touch] {
        &self.touches
    }
}

/// The program's choice of whom a sale credits.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttributionModel {
    #[default]
    LastClick,
    FirstClick,
    /// Every link of the journey, in equal shares.
    Linear,
}

impl AttributionModel {
    pub const ALL: [Self; 3] = [Self::LastClick, Self::FirstClick, Self::Linear];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::LastClick => "last_click",
            Self::FirstClick => "first_click",
            Self::Linear => "linear",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|model| model.as_str() == text)
    }

    /// The links to credit; never empty. The last one's commission is the one a sale's answer names.
    pub fn credited(self, journey: &Journey) -> Vec<ReferralLinkId> {
        match self {
            Self::LastClick => vec![journey.last().referral_link_id],
            Self::FirstClick => vec![journey.first().referral_link_id],
            Self::Linear => journey
                .touches()
                .iter()
                .map(|touch| touch.referral_link_id)
                .collect(),
        }
    }
}

/// Each item once, at the place of its last occurrence.
///
/// A partner with several links is credited once, and as late as their latest click.
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

/// How long after the first click a sale still counts: 1..=365 days of 24 hours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "u16", into = "u16")]
pub struct AttributionWindow {
    days: u16,
}

/// Whether a sale is inside the attribution window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WindowVerdict {
    Inside,
    /// The sale succeeds unattributed. `click_age_days` counts whole days, rounded down, so it may equal
    /// `window_days`.
    Expired {
        click_age_days: i64,
        window_days: u16,
    },
}

impl AttributionWindow {
    pub const DEFAULT: Self = Self { days: 60 };

    pub const fn new(days: u16) -> Option<Self> {
        if days >= 1 && days <= 365 {
            Some(Self { days })
        } else {
            None
        }
    }

    pub const fn days(self) -> u16 {
        self.days
    }

    /// Expired once more than the whole window has passed since the first click; exactly the window is
    /// inside.
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

impl Default for AttributionWindow {
    fn default() -> Self {
        Self::DEFAULT
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
