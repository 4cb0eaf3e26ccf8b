//! Queries of the dashboard and reports.

pub mod breakdowns;
pub mod click_origins;
pub mod cohorts;
pub mod commission_lists;
pub mod customer_lists;
pub mod customer_timeline;
pub mod dashboard;
pub mod partner_days;
pub mod partner_lists;
pub mod partner_payouts;
pub mod partner_view;
pub mod payout_lists;
pub mod program_events;
pub mod program_health;
pub mod program_overview;
pub mod refund_rollups;
pub mod review_queue;
pub mod rollups;
