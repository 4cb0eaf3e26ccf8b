//! The pipeline as its users see it: HTTP answers and rows, on real PostgreSQL and NATS.

mod rows;
mod stack;

mod attribution;
mod commissions;
mod funnel;
mod refunds;
mod reversals;
mod subscriptions;
mod window;
