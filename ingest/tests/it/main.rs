//! The pipeline as its users see it: HTTP answers and rows, on real PostgreSQL and NATS.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

mod accounts;
mod approvals;
mod attribution;
mod clicks;
mod commissions;
mod concurrency;
mod contract;
mod crashes;
mod credentials;
mod dead_letters;
mod delivery;
mod edge;
mod funnel;
mod health;
mod hostile;
mod leads;
mod legacy;
mod limits;
mod models;
mod outages;
mod people;
mod program_status;
mod programs;
mod provisional;
mod refunds;
mod reversals;
mod rows;
mod stack;
mod streams;
mod subscriptions;
mod test_chain;
mod test_mode;
mod visitors;
mod window;
