//! The pipeline as its callers see it: HTTP answers and rows, on real PostgreSQL, NATS and Redis.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]
#![expect(
    clippy::too_many_lines,
    reason = "a test reads from its first step to its last"
)]

mod contract;
mod hostile;
mod programs;
mod tracking;
mod webhooks;
