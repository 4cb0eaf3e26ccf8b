//! Tracking tokens of a program and management keys of a workspace.

pub mod api_keys;
pub mod key_settings;
pub mod program_token;
pub mod tracking_tokens;

use crate::http::endpoint::{Endpoint, SESSION, SESSION_OR_KEY, managed};

pub fn endpoints() -> Vec<Endpoint> {
    [
        managed! { "credentials", SESSION_OR_KEY;
            program_token::regenerate => program_token::regenerate_examples();
            program_token::mark, program_token::unmark => program_token::rotation_examples();
            tracking_tokens::list, tracking_tokens::create => tracking_tokens::list_examples();
            tracking_tokens::revoke => tracking_tokens::examples();
        },
        managed! { "credentials", SESSION;
            api_keys::list, api_keys::create => api_keys::list_examples();
            api_keys::update, api_keys::revoke => api_keys::examples();
        },
    ]
    .concat()
}
