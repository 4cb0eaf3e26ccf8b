//! Users, their sessions and credentials, workspaces and their members, personal data.

pub mod address_verifications;
pub mod cli_logins;
pub mod invitations;
pub mod management_keys;
pub mod members;
pub mod passkeys;
pub mod password_resets;
pub mod personal_data;
pub mod second_factors;
pub mod sessions;
pub mod users;
pub mod workspaces;
