//! What the dashboard shows for a range of days.

pub mod days;
pub mod performance;
