//! Refusals of requests without the right.

use crate::http::error::ApiError;

const UNAUTHENTICATED: &str = "Missing or invalid credentials";
pub const WRONG_KIND: &str = "This credential is not accepted here";
const FORBIDDEN: &str = "You do not have access to this resource";

/// The refusal of a request without a usable credential.
pub const fn unauthenticated() -> ApiError {
    ApiError::Unauthorized(UNAUTHENTICATED)
}

/// The refusal of a caller without the right.
pub const fn forbidden() -> ApiError {
    ApiError::Forbidden(FORBIDDEN)
}
