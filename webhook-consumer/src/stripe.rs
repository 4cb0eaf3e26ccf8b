//! Stripe's events: verify ([`signature`]), parse ([`event`]), translate ([`translate`]), choose the programs
//! ([`recipients`]). These four modules are pure; [`handler`] calls them in this order.

pub mod event;
pub mod handler;
pub mod metadata;
pub mod recipients;
pub mod signature;
pub mod translate;
