//! What a sale earns its partner, what a refund deducts, and what is paid out.

pub mod adjustment;
pub mod commission;
pub mod ledger;
pub mod payout;
pub mod refund;
