//! Refusals of requests without the right.

use crate::http::error::ApiError;

pub const WRONG_KIND: &str = "This credential is not accepted here";
pub const UNAUTHENTICATED: ApiError = ApiError::Unauthorized("Missing or invalid credentials");
pub const FORBIDDEN: ApiError = ApiError::Forbidden("You do not have access to this resource");
