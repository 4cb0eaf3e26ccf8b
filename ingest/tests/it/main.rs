//! The pipeline as its users see it: HTTP answers and rows, on real PostgreSQL and NATS.

mod rows;
mod stack;

mod approvals;
mod attribution;
mod clicks;
mod commissions;
mod funnel;
mod leads;
mod malformed;
mod models;
mod refunds;
mod requests;
mod reversals;
mod subscriptions;
mod window;
