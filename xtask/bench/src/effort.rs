//! How long and how often.

use super::market::Size;

#[derive(Debug, Clone, Copy)]
pub(super) struct Effort {
    pub(super) quick: bool,
}

impl Effort {
    /// Of each figure, of which the median counts.
    pub(super) const fn rounds(self) -> usize {
        if self.quick { 1 } else { 3 }
    }

    pub(super) const fn size(self) -> Size {
        Size {
            customers: 100_000,
            hot_customers: 20_000,
            // A lead needs a visitor without an earlier one.
            visitors: if self.quick { 100_000 } else { 500_000 },
        }
    }
}
