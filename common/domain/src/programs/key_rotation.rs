//! A program key that must be replaced: usable until its deadline, refused from then on.

use chrono::{DateTime, Utc};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyRotation {
    pub marked_at: DateTime<Utc>,
    /// The first moment at which the key is no longer accepted.
    pub rotate_by: DateTime<Utc>,
}

impl KeyRotation {
    /// As stored: both times, or none.
    pub fn of(marked_at: Option<DateTime<Utc>>, rotate_by: Option<DateTime<Utc>>) -> Option<Self> {
        let (marked_at, rotate_by) = marked_at.zip(rotate_by)?;
        Some(Self { marked_at, rotate_by })
    }

    /// A time for which the key is kept, cut to the deadline of a mark it has already. `None` once that has passed: a key
    /// that is refused does not come back.
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
