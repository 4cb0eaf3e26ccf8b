mod approvals;
mod commissions;
mod refund_rollups;
mod refunds;
mod reversals;
mod rollups;
mod signals;
mod subscriptions;
