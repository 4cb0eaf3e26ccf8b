//! `/api/v1/cli/*` of people: how a command line is signed in, and what it then sets up. What it asks with a program's
//! own key is in [`test_event`](crate::tracking::test_event) and [`program_status`](crate::tracking::program_status).

pub mod auth_poll;
pub mod auth_start;
pub mod init;
pub mod login;
pub mod programs;
pub mod stripe_connect;

use utoipa_axum::routes;

use crate::http::endpoint::Endpoint;
use crate::http::limits::Budget;

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
