//! What others are told: events, in the order in which they are read, and their deliveries to webhook endpoints.

pub mod event_streams;
pub mod outbound_events;
pub mod stream_events;
