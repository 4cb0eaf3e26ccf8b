//! Figures of the dashboard for a range of days.

pub mod breakdown;
pub mod cohorts;
pub mod days;
pub mod figures;
pub mod partner_figures;
pub mod performance;
pub mod program_events;
