//! How long logins and sessions of a command line last, and how its routes fail.

use chrono::TimeDelta;

use crate::management::prelude::*;

/// The refusal of an unknown login.
pub const UNKNOWN_LOGIN: &str = "A CLI login session does not exist";
/// How long a login waits for its confirmation.
pub const LOGIN_LASTS: TimeDelta = TimeDelta::minutes(5);
/// Seconds between two polls of a command line.
pub const POLL_SECONDS: u32 = 2;
/// How long a session lasts. After that the user signs in again.
pub const SESSION_LASTS: TimeDelta = TimeDelta::days(90);

/// An example for the API description: an internal error with the id of its request.
pub fn failed() -> ApiError {
    ApiError::InternalQuoted {
        message: "Internal Server Error",
        request_id: "019ab2c3d4e57f60a1b2c3d4e5f60718".to_owned(),
        cause: anyhow::Error::msg("an example"),
    }
}
