//! Length and number of measurements.

use super::market::Size;

#[derive(Debug, Clone, Copy)]
pub(super) struct Effort {
    pub(super) quick: bool,
}

impl Effort {
    /// The result is their median.
    pub(super) const fn rounds(self) -> usize {
        if self.quick { 1 } else { 3 }
    }

    pub(super) const fn size(self) -> Size {
        Size {
            customers: 100_000,
            hot_customers: 20_000,
            // Each lead needs a visitor without a lead.
            visitors: if self.quick { 400_000 } else { 1_200_000 },
        }
    }
}
