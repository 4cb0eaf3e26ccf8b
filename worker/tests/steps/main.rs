//! The worker's steps: the rows that clicks, leads, sales and refunds leave, on real PostgreSQL and NATS.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

mod money;
mod outbound;
mod reliability;
mod tracking;
