mod accounts;
mod api_keys;
mod app_pages;
pub mod cli_login;
mod passkeys;
mod second_factor;
mod sessions;
