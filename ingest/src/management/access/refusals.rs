//! Refusals of requests without the right.

use crate::http::error::ApiError;

const NOBODY: &str = "Missing or invalid credentials";
pub const WRONG_KIND: &str = "This credential is not accepted here";
const FORBIDDEN: &str = "You do not have access to this resource";

/// The refusal of a request whose credential is none.
pub const fn nobody() -> ApiError {
    ApiError::Unauthorized(NOBODY)
}

/// The refusal of somebody who may not.
pub const fn forbidden() -> ApiError {
    ApiError::Forbidden(FORBIDDEN)
}
