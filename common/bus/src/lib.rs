//! Messaging between the processes: JetStream for records that must not be lost, plain NATS for replies.
//!
//! - [`connect`]: one connection, one minimum server version.
//! - [`backlog`]: how far a stream is settled.
//! - [`history`]: the messages that a stream has stored since a given time.
//! - [`topology`]: the settings of the streams and durable consumers, verified at start.
//! - [`publish`]: records in, packed messages out, acknowledged before the caller gets `Ok`.
//! - [`consume`]: the one loop that turns messages into transactions, answers and acks.
//! - [`standing`]: how far workers have read a stream, and how to rewind it.
//! - [`stream_trim`]: removes settled messages from a stream that fills up.
//! - [`reply`]: delivers an outcome to the request that waits for it.

pub mod backlog;
pub mod connect;
pub mod consume;
pub mod history;
pub mod publish;
pub mod reply;
pub mod standing;
pub mod stream_trim;
pub mod topology;
