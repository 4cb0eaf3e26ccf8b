mod approvals;
mod commissions;
mod refund_rollups;
mod reversals;
mod rollups;
mod signals;
