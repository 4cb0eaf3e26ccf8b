//! The pipeline as its users see it: HTTP answers and rows, on real PostgreSQL and NATS.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

mod edge;
mod stack;
mod streams;

mod concurrency;
mod crashes;
mod dead_letters;
mod delivery;
mod funnel;
mod health;
mod outages;
