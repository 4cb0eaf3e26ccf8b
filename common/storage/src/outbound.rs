//! What others are told: events, in the order in which they are read, and their deliveries to webhook endpoints.

pub mod outbound_events;
pub mod webhook_health;
pub mod webhook_queue;
