//! Commissions of sales, deductions by refunds, and payouts.

pub mod adjustment;
pub mod commission;
pub mod ledger;
pub mod payout;
pub mod refund;
