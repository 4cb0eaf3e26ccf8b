//! The funnel: clicks, leads and sales, and which partner a sale is attributed to.

pub mod affiliate_url;
pub mod attribution;
pub mod click;
pub mod click_id;
pub mod customer;
pub mod lead;
pub mod reassessment;
pub mod sale;
pub mod signal;
pub mod test_chain;
pub mod visitor;
