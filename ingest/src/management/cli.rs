//! `/api/v1/cli/*` for users: signs in a command line, and sets up programs for it. Routes that take a
//! program's key are in [`test_event`](crate::tracking::test_event) and
//! [`program_status`](crate::tracking::program_status).

pub mod auth_poll;
pub mod auth_start;
pub mod init;
pub mod login;
pub mod programs;
pub mod stripe_connect;

use crate::http::endpoint::{Endpoint, managed};
use crate::http::limits::Budget;

pub fn endpoints() -> Vec<Endpoint> {
    [
        managed! { "set-up", [];
            auth_start::start_cli_login;
            auth_poll::poll_cli_login, auth_poll::poll_cli_login_by_body;
        },
        managed! { "set-up", ["cli_session"];
            init::init_program;
            programs::list_cli_programs;
        },
        managed! { "set-up", ["cli_session", "program_key"];
            stripe_connect::connect_stripe;
        },
    ]
    .concat()
    .into_iter()
    .map(|endpoint| endpoint.limited(Budget::Cli))
    .collect()
}
