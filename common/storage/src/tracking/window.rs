//! One page of a list.

/// So many rows after so many others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    pub offset: i64,
    pub limit: i64,
}

impl Window {
    /// The page out of a list that is in memory.
    pub fn of<T>(self, rows: Vec<T>) -> Vec<T> {
        let skip = usize::try_from(self.offset).unwrap_or(usize::MAX);
        let take = usize::try_from(self.limit).unwrap_or(0);
        rows.into_iter().skip(skip).take(take).collect()
    }
}
