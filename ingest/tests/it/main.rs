//! The pipeline as its users see it: HTTP answers and rows, on real PostgreSQL and NATS.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "clippy knows test functions, not what they share: a helper may stop at the first surprise as well"
)]

mod rows;
mod stack;

mod approvals;
mod attribution;
mod clicks;
mod commissions;
mod credentials;
mod funnel;
mod leads;
mod limits;
mod malformed;
mod models;
mod provisional;
mod refunds;
mod requests;
mod reversals;
mod subscriptions;
mod window;
