//! The management API as people and programs use it.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

mod access;
mod auth;
mod money;
mod privacy;
mod reads;
mod setup;
mod webhooks;
mod workspaces;
