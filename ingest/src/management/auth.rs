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
            sign_in_options::read_sign_in_options;
        },
        managed! { "accounts", SESSION;
            sign_out::sign_out;
            password::change;
        },
        managed! { "accounts", [];
            password_reset::request_password_reset;
            password_reset::inspect_password_reset;
            password_reset::complete_password_reset;
            address_verification::inspect_address_verification;
            address_verification::complete_address_verification;
            invitations::inspect_invitation;
            invitations::accept_invitation;
            unsubscribe::show_unsubscribe, unsubscribe::unsubscribe;
        },
        managed! { "accounts", SESSION;
            confirm::confirm_password;
            me::me;
            address_verification::request_address_verification;
            notification_settings::read_notification_settings,
                notification_settings::change_notification_settings;
            sessions::list_sessions, sessions::end_other_sessions;
            sessions::end_session;
            second_factor::begin_second_factor;
            second_factor::enable_second_factor;
            second_factor::renew_recovery_codes;
            second_factor::remove_second_factor;
            passkeys::list_passkeys, passkeys::create_passkey;
            passkeys::begin_passkey;
            passkeys::remove_passkey;
        },
        managed! { "accounts", [];
            passkey_sign_in::begin_passkey_sign_in;
            passkey_sign_in::sign_in_with_passkey;
        },
        managed! { "accounts", SESSION;
            passkey_sign_in::confirm_passkey;
            cli::inspect_cli_login;
            cli::confirm_cli_login;
        },
    ]
    .concat()
}
