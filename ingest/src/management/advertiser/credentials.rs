//! Tracking tokens of a program and management keys of a workspace.

pub mod api_keys;
pub mod key_settings;
pub mod program_token;
pub mod tracking_tokens;

use crate::http::endpoint::{Endpoint, SESSION, SESSION_OR_KEY, managed};

pub fn endpoints() -> Vec<Endpoint> {
    [
        managed! { "credentials", SESSION_OR_KEY;
            program_token::regenerate;
            program_token::mark, program_token::unmark;
            tracking_tokens::list, tracking_tokens::create;
            tracking_tokens::revoke;
        },
        managed! { "credentials", SESSION;
            api_keys::list, api_keys::create;
            api_keys::update, api_keys::revoke;
        },
    ]
    .concat()
}
