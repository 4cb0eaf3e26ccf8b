//! What the edge understands of a request, without a server around it: for fuzzing and benchmarks.

pub use crate::http::credential::Credential;
pub use crate::http::error::ApiError;
pub use crate::tracking::click::read as click;
pub use crate::tracking::lead::read as lead;
pub use crate::tracking::refund::read as refund;
pub use crate::tracking::sale::read as sale;
