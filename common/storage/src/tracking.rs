//! Recorded clicks, leads and sales, and their attribution.

pub mod claims;
pub mod clicks;
pub mod customer_ids;
pub mod customers;
pub mod leads;
pub mod reassessments;
pub mod refused_events;
pub mod sales;
pub mod shared_texts;
pub mod subscription_periods;
pub mod subscriptions;
pub mod test_chains;
pub mod test_events;
pub mod visitor_retention;
