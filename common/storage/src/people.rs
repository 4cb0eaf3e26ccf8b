//! Users, their sessions and credentials, workspaces and their members, personal data.

pub mod cli_logins;
pub mod invitations;
pub mod management_keys;
pub mod members;
pub mod one_time_links;
pub mod passkeys;
pub mod personal_data;
pub mod second_factors;
pub mod sessions;
pub mod users;
pub mod workspaces;
