//! The edge's request parsers without a server, for fuzzing and benchmarks.

pub use crate::http::credential::Credential;
pub use crate::http::error::ApiError;
pub use crate::tracking::click::read as click;
pub use crate::tracking::lead::read as lead;
pub use crate::tracking::refund::read as refund;
pub use crate::tracking::sale::read as sale;
