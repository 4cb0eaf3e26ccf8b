//! Commissions, refunds, the ledger, balances and payouts.

pub mod adjustments;
pub mod balances;
pub mod by_hand;
pub mod commissions;
pub mod duplicate_sales;
pub mod ledger;
pub mod payouts;
pub mod refunds;
