//! Tracking tokens of a program and management keys of a workspace.

pub mod api_keys;
pub mod key_settings;
pub mod program_token;
pub mod tracking_tokens;

use utoipa_axum::routes;

use crate::http::endpoint::Endpoint;

pub fn endpoints() -> Vec<Endpoint> {
    vec![
        Endpoint::new(routes!(program_token::regenerate))
            .managed()
            .examples(program_token::regenerate_examples()),
        Endpoint::new(routes!(program_token::mark, program_token::unmark))
            .managed()
            .examples(program_token::rotation_examples()),
        Endpoint::new(routes!(tracking_tokens::list, tracking_tokens::create))
            .managed()
            .examples(tracking_tokens::list_examples()),
        Endpoint::new(routes!(tracking_tokens::revoke))
            .managed()
            .examples(tracking_tokens::examples()),
        Endpoint::new(routes!(api_keys::list, api_keys::create))
            .managed()
            .examples(api_keys::list_examples()),
        Endpoint::new(routes!(api_keys::update, api_keys::revoke))
            .managed()
            .examples(api_keys::examples()),
    ]
}
