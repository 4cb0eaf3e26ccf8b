//! What others are told: events, in the order in which they are read, and their deliveries to webhook endpoints; e-mails to people.

pub mod emails;
pub mod outbound_events;
