//! Reports of payment processors: accounts, events, ids of payments, reversals.

pub mod processor_accounts;
pub mod processor_connections;
pub mod processor_customers;
pub mod processor_events;
pub mod processor_inbox;
pub mod processor_refs;
pub mod processor_reversals;
