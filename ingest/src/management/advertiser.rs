//! `/api/advertiser/*`: what an advertiser sets up and looks at, by session or management key.

pub mod credentials;
pub mod customers;
mod dashboard;
pub mod money;
mod named_workspace;
pub mod notifications;
pub mod program;
pub mod workspace;

use utoipa_axum::routes;

use crate::http::endpoint::Endpoint;

pub fn endpoints() -> Vec<Endpoint> {
    [
        program::endpoints(),
        workspace::invitation_endpoints(),
        credentials::endpoints(),
        workspace::endpoints(),
        money::endpoints(),
        people_endpoints(),
    ]
    .concat()
}

/// What a person hears and sees, and the personal data of customers.
fn people_endpoints() -> Vec<Endpoint> {
    vec![
        Endpoint::new(routes!(notifications::list))
            .managed()
            .examples(notifications::list_examples()),
        Endpoint::new(routes!(notifications::mark_read))
            .managed()
            .examples(notifications::mark_read_examples()),
        Endpoint::new(routes!(customers::export))
            .managed()
            .examples(customers::export_examples()),
        Endpoint::new(routes!(customers::erase))
            .managed()
            .examples(customers::erase_examples()),
        Endpoint::new(routes!(dashboard::summary))
            .managed()
            .examples(dashboard::examples()),
    ]
}
