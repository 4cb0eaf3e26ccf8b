//! How long logins and sessions of a command line last, and how its routes fail.

use chrono::TimeDelta;

use crate::management::prelude::*;

pub const UNKNOWN_LOGIN: &str = "A CLI login session does not exist";
pub const LOGIN_LASTS: TimeDelta = TimeDelta::minutes(5);
pub const POLL_SECONDS: u32 = 2;
/// How long a session lasts. After that the user signs in again.
pub const SESSION_LASTS: TimeDelta = TimeDelta::days(90);

/// An example for the API description: an internal error with the id of its request.
pub fn failed() -> ApiError {
    ApiError::quoted_example("Internal Server Error")
}
