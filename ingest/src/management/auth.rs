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

pub fn endpoints() -> Vec<Endpoint> {
    [
        managed! { "accounts", [];
            sign_in::sign_in;
            sign_in_options::read;
        },
        managed! { "accounts", SESSION;
            sign_out::sign_out;
            password::change;
        },
        managed! { "accounts", [];
            password_reset::request;
            password_reset::inspect;
            password_reset::complete;
            address_verification::inspect;
            address_verification::complete;
            invitations::inspect;
            invitations::accept;
            unsubscribe::show, unsubscribe::unsubscribe;
        },
        managed! { "accounts", SESSION;
            confirm::confirm;
            me::me;
            address_verification::request;
            notification_settings::read, notification_settings::change;
            sessions::list, sessions::end_others;
            sessions::end;
            second_factor::begin;
            second_factor::enable;
            second_factor::renew_codes;
            second_factor::remove;
            passkeys::list, passkeys::create;
            passkeys::begin;
            passkeys::remove;
        },
        managed! { "accounts", [];
            passkey_sign_in::ask;
            passkey_sign_in::sign_in;
        },
        managed! { "accounts", SESSION;
            passkey_sign_in::confirm;
            cli::inspect;
            cli::confirm;
        },
    ]
    .concat()
}
