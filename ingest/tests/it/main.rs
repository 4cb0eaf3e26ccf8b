//! The pipeline as its users see it: HTTP answers and rows, on real PostgreSQL and NATS.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

mod attribution;
mod commissions;
mod credentials;
mod envelope;
mod funnel;
mod limits;
mod program_status;
mod refunds;
mod reversals;
mod rows;
mod stack;
mod subscriptions;
mod test_chain;
mod window;
