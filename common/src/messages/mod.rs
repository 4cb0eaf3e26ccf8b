//! What travels between processes: versioned, and readable by the release before.

pub mod envelope;
pub mod subject;
