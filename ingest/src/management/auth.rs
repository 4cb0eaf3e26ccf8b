//! Sign-in, sign-out, and the settings of an account.

pub mod address_verification;
pub mod cli;
pub mod confirm;
pub mod invitations;
pub mod me;
pub mod notification_settings;
mod open_session;
pub mod passkey_sign_in;
pub mod passkeys;
pub mod password;
pub mod password_reset;
pub mod second_factor;
pub mod sessions;
pub mod sign_in;
pub mod sign_in_options;
pub mod sign_out;
pub mod unsubscribe;

use crate::http::endpoint::{Endpoint, SESSION, managed};
use crate::http::openapi::examples::Examples;

pub fn endpoints() -> Vec<Endpoint> {
    [
        managed! { "accounts", [];
            sign_in::sign_in => sign_in::examples();
            sign_in_options::read => sign_in_options::examples();
        },
        managed! { "accounts", SESSION;
            sign_out::sign_out => Examples::default();
            password::change => password::examples();
        },
        managed! { "accounts", [];
            password_reset::request => password_reset::request_examples();
            password_reset::inspect => password_reset::inspect_examples();
            password_reset::complete => password_reset::complete_examples();
            address_verification::inspect => address_verification::inspect_examples();
            address_verification::complete => address_verification::complete_examples();
            invitations::inspect => invitations::inspect_examples();
            invitations::accept => invitations::accept_examples();
            unsubscribe::show, unsubscribe::unsubscribe => unsubscribe::examples();
        },
        managed! { "accounts", SESSION;
            confirm::confirm => confirm::examples();
            me::me => me::examples();
            address_verification::request => address_verification::request_examples();
            notification_settings::read, notification_settings::change => notification_settings::examples();
            sessions::list, sessions::end_others => sessions::examples();
            sessions::end => sessions::end_examples();
            second_factor::begin => second_factor::begin_examples();
            second_factor::enable => second_factor::enable_examples();
            second_factor::renew_codes => second_factor::renew_examples();
            second_factor::remove => second_factor::remove_examples();
            passkeys::list, passkeys::create => passkeys::list_examples();
            passkeys::begin => passkeys::challenge_examples();
            passkeys::remove => passkeys::remove_examples();
        },
        managed! { "accounts", [];
            passkey_sign_in::ask => passkeys::challenge_examples();
            passkey_sign_in::sign_in => passkey_sign_in::sign_in_examples();
        },
        managed! { "accounts", SESSION;
            passkey_sign_in::confirm => passkey_sign_in::shown_examples();
            cli::inspect => cli::inspect_examples();
            cli::confirm => cli::confirm_examples();
        },
    ]
    .concat()
}
