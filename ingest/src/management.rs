//! Management: the routes for people and management keys.

pub mod access;
pub mod advertiser;
pub mod answers;
pub mod auth;
pub mod balance;
pub mod cli;
pub mod csv_download;
pub mod emails;
pub mod id_list;
pub mod idempotency;
pub mod notices;
pub mod one_time_links;
pub mod partner;
pub mod passkeys;
pub mod passwords;
pub mod payout;
pub mod prelude;
pub mod reads;
pub mod reports;
pub mod stream_waits;
pub mod workspace_limit;

use crate::http::endpoint::Endpoint;

pub fn endpoints() -> Vec<Endpoint> {
    [
        cli::endpoints(),
        auth::endpoints(),
        advertiser::endpoints(),
        reports::endpoints(),
        partner::endpoints(),
    ]
    .concat()
}
