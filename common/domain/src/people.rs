//! Accounts, their credentials and their permissions.

pub mod account;
pub mod email_content;
pub mod management_key;
pub mod permission;
pub mod second_factor;
pub mod unsubscribe;
pub mod user_code;
pub mod weekly_summary;
