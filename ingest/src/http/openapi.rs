//! What descriptions of endpoints are made of.

pub mod envelopes;
pub mod examples;
