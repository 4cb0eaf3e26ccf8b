//! Signing in and out, and what goes with an account.

pub mod cli;
pub mod confirm;
pub mod invitations;
pub mod me;
mod open_session;
pub mod passkeys;
pub mod password;
pub mod second_factor;
pub mod sessions;
pub mod sign_in;
pub mod sign_out;

use utoipa_axum::routes;

use crate::http::endpoint::Endpoint;

pub fn endpoints() -> Vec<Endpoint> {
    vec![
        Endpoint::new(routes!(sign_in::sign_in))
            .managed()
            .examples(sign_in::examples()),
        Endpoint::new(routes!(sign_out::sign_out)).managed(),
        Endpoint::new(routes!(password::change))
            .managed()
            .examples(password::examples()),
        Endpoint::new(routes!(invitations::inspect))
            .managed()
            .examples(invitations::inspect_examples()),
        Endpoint::new(routes!(invitations::accept))
            .managed()
            .examples(invitations::accept_examples()),
        Endpoint::new(routes!(confirm::confirm))
            .managed()
            .examples(confirm::examples()),
        Endpoint::new(routes!(me::me)).managed().examples(me::examples()),
        Endpoint::new(routes!(sessions::list, sessions::end_others))
            .managed()
            .examples(sessions::examples()),
        Endpoint::new(routes!(sessions::end))
            .managed()
            .examples(sessions::end_examples()),
        Endpoint::new(routes!(second_factor::begin))
            .managed()
            .examples(second_factor::begin_examples()),
        Endpoint::new(routes!(second_factor::enable))
            .managed()
            .examples(second_factor::enable_examples()),
        Endpoint::new(routes!(second_factor::renew_codes))
            .managed()
            .examples(second_factor::renew_examples()),
        Endpoint::new(routes!(second_factor::remove))
            .managed()
            .examples(second_factor::remove_examples()),
        Endpoint::new(routes!(passkeys::list, passkeys::create))
            .managed()
            .examples(passkeys::list_examples()),
        Endpoint::new(routes!(passkeys::begin))
            .managed()
            .examples(passkeys::challenge_examples()),
        Endpoint::new(routes!(passkeys::remove))
            .managed()
            .examples(passkeys::remove_examples()),
        Endpoint::new(routes!(passkeys::ask))
            .managed()
            .examples(passkeys::challenge_examples()),
        Endpoint::new(routes!(passkeys::sign_in))
            .managed()
            .examples(passkeys::sign_in_examples()),
        Endpoint::new(routes!(passkeys::confirm))
            .managed()
            .examples(passkeys::shown_examples()),
        Endpoint::new(routes!(cli::inspect))
            .managed()
            .examples(cli::inspect_examples()),
        Endpoint::new(routes!(cli::confirm))
            .managed()
            .examples(cli::confirm_examples()),
    ]
}
