//! A program key that must be replaced: usable until its deadline, refused from then on.

use chrono::{DateTime, Utc};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyRotation {
    pub marked_at: DateTime<Utc>,
    /// The first moment at which the key is no longer accepted.
    pub rotate_by: DateTime<Utc>,
}

impl KeyRotation {
    /// As it is stored: both times, or none.
    pub fn of(marked_at: Option<DateTime<Utc>>, rotate_by: Option<DateTime<Utc>>) -> Option<Self> {
        let (marked_at, rotate_by) = marked_at.zip(rotate_by)?;
        Some(Self { marked_at, rotate_by })
    }

    pub fn is_over(&self, now: DateTime<Utc>) -> bool {
        now >= self.rotate_by
    }
}
