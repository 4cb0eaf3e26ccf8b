//! Tracking tokens of a program and management keys of a workspace.

pub mod api_keys;
pub mod key_settings;
pub mod program_token;
pub mod tracking_tokens;

use crate::http::endpoint::{Endpoint, SESSION, SESSION_OR_KEY, managed};

pub fn endpoints() -> Vec<Endpoint> {
    [
        managed! { "credentials", SESSION_OR_KEY;
            program_token::regenerate_api_token;
            program_token::mark_key_rotation, program_token::unmark_key_rotation;
            tracking_tokens::list_tracking_tokens, tracking_tokens::create_tracking_token;
            tracking_tokens::revoke_tracking_token;
        },
        managed! { "credentials", SESSION;
            api_keys::list_api_keys, api_keys::create_api_key;
            api_keys::update_api_key, api_keys::revoke_api_key;
        },
    ]
    .concat()
}
