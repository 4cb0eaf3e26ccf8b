//! Messaging between the processes: JetStream for records that must not be lost, plain NATS for replies.
//!
//! - [`connect`]: one connection, one minimum server version.
//! - [`backlog`]: how far a stream is settled.
//! - [`history`]: what a stream holds from a moment on.
//! - [`topology`]: the streams and durable consumers, written out and verified at start.
//! - [`publish`]: records in, packed messages out, acknowledged before the caller gets `Ok`.
//! - [`consume`]: the one loop that turns messages into transactions, answers and acks.
//! - [`standing`]: how far workers are in a stream, and back to its beginning.
//! - [`stream_trim`]: what is settled leaves a stream that fills.
//! - [`reply`]: how an outcome finds the request that waits for it.

pub mod backlog;
pub mod connect;
pub mod consume;
pub mod history;
pub mod publish;
pub mod reply;
pub mod standing;
pub mod stream_trim;
pub mod topology;
