//! The management API as users and programs use it.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]
#![expect(
    clippy::too_many_lines,
    reason = "a test reads from its first step to its last"
)]

mod access;
mod auth;
mod money;
mod privacy;
mod reads;
mod setup;
mod webhooks;
mod workspaces;
