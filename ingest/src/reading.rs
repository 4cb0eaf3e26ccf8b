//! What the edge understands of a request, without a server around it: for fuzzing and benchmarks.

pub use crate::credential::Credential;
pub use crate::error::ApiError;
pub use crate::routes::reading::{click, lead, refund, sale};
