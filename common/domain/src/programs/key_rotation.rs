//! A program key that must be replaced. It works until its deadline and is refused from then on.

use chrono::{DateTime, Utc};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyRotation {
    pub marked_at: DateTime<Utc>,
    /// The first moment at which the key is refused.
    pub rotate_by: DateTime<Utc>,
}

impl KeyRotation {
    /// The stored form: both times, or neither.
    pub fn of(marked_at: Option<DateTime<Utc>>, rotate_by: Option<DateTime<Utc>>) -> Option<Self> {
        let (marked_at, rotate_by) = marked_at.zip(rotate_by)?;
        Some(Self { marked_at, rotate_by })
    }

    /// Limits this rotation to the deadline of an earlier mark. `None` if that deadline has passed: a refused
    /// key never becomes valid again.
    #[must_use]
    pub fn no_later_than(self, mark: Option<Self>, now: DateTime<Utc>) -> Option<Self> {
        let Some(mark) = mark else { return Some(self) };
        let rotate_by = self.rotate_by.min(mark.rotate_by);
        Some(Self { rotate_by, ..mark }).filter(|kept| !kept.is_over(now))
    }

    pub fn is_over(&self, now: DateTime<Utc>) -> bool {
        now >= self.rotate_by
    }
}
