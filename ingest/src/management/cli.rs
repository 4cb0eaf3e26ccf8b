//! `/api/v1/cli/*` of people: how a command line is signed in, and what it then sets up. What it asks with a program's
//! own key is in [`test_event`](crate::tracking::test_event) and [`program_status`](crate::tracking::program_status).

pub mod auth_poll;
pub mod auth_start;
pub mod init;
pub mod programs;
pub mod stripe_connect;

use chrono::TimeDelta;
use utoipa_axum::routes;

use crate::http::endpoint::Endpoint;
use crate::http::error::ApiError;
use crate::http::limits::Budget;

/// Of a login nobody has begun.
pub const UNKNOWN_LOGIN: &str = "A CLI login session does not exist";
/// How long a login waits to be confirmed.
const LOGIN_LASTS: TimeDelta = TimeDelta::minutes(5);
/// How often a command line asks whether it is.
const POLL_SECONDS: u32 = 2;
/// Then one has to sign in again.
const SESSION_LASTS: TimeDelta = TimeDelta::days(90);

pub fn endpoints() -> Vec<Endpoint> {
    vec![
        Endpoint::new(routes!(auth_start::start))
            .limited(Budget::Cli)
            .managed()
            .examples(auth_start::examples()),
        Endpoint::new(routes!(auth_poll::poll, auth_poll::poll_by_body))
            .limited(Budget::Cli)
            .managed()
            .examples(auth_poll::examples()),
        Endpoint::new(routes!(init::init))
            .limited(Budget::Cli)
            .managed()
            .examples(init::examples()),
        Endpoint::new(routes!(programs::list))
            .limited(Budget::Cli)
            .managed()
            .examples(programs::examples()),
        Endpoint::new(routes!(stripe_connect::connect))
            .limited(Budget::Cli)
            .managed()
            .examples(stripe_connect::examples()),
    ]
}

/// For the description: how a route tells of a failure of ours.
fn failed() -> ApiError {
    ApiError::InternalQuoted {
        message: "Internal Server Error",
        request_id: "019ab2c3d4e57f60a1b2c3d4e5f60718".to_owned(),
        cause: anyhow::Error::msg("an example"),
    }
}
