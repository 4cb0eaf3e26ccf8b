//! Everything two processes must agree on.
//!
//! - [`domain`]: the rules, without I/O; time and randomness are arguments.
//! - [`messages`]: what travels on the bus, versioned.
//! - [`storage`]: the only home of SQL; functions take a transaction and work on whole batches.
//! - [`bus`]: publishing, consuming, stream topology.
//! - [`runtime`]: clock, configuration, telemetry, retry, batching, HTTP serving, shutdown.

pub mod bus;
pub mod domain;
pub mod messages;
pub mod runtime;
pub mod storage;
#[cfg(feature = "testing")]
#[expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]
pub mod testing;
