//! Operations: partitions, outbox, dead letters, the audit log, invariants.

pub(crate) mod alone;
pub mod audit_log;
pub mod dead_letters;
pub mod notifications;
pub mod outbox;
pub mod partitions;
pub mod pipeline_status;
pub mod sealed_secrets;
pub mod server_status;
pub mod verify;
