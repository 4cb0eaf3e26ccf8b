mod accounts;
mod api_keys;
mod app_pages;
pub mod cli_login;
mod emails;
mod passkeys;
mod password_reset;
mod second_factor;
mod sessions;
