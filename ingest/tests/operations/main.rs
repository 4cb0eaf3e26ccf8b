//! Features that operators rely on: settings, outages, deployment, backups, metrics and the command line.

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

mod data;
mod deployment;
mod secrets;
mod security;
mod services;
