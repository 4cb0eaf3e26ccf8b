//! A payment processor: its payments, their ids and their customers.

pub mod payer;
pub mod payment;
pub mod processor;
