mod approvals;
mod commissions;
mod refunds;
mod reversals;
mod rollups;
mod signals;
mod subscriptions;
