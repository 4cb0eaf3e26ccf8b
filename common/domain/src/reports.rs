//! Figures of the dashboard for a range of days.

pub mod days;
pub mod performance;
