//! Webhooks: what receivers get, and when, whatever they answer.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

mod addresses;
mod client;
mod crashes;
mod endpoints;
mod oracles;
mod order;
mod retries;
mod signatures;
