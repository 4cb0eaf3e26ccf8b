//! Parts of endpoint descriptions.

pub mod envelopes;
pub mod examples;
