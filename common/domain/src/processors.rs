//! A payment processor: its payments, their ids and their customers.

pub mod event_types;
pub mod payer;
pub mod payment;
pub mod processor;
