//! Who works in a workspace, and what they did.

pub mod audit_log;
pub mod invitations;
pub mod members;
pub mod workspaces;

use utoipa_axum::routes;

use crate::http::endpoint::Endpoint;

pub fn endpoints() -> Vec<Endpoint> {
    vec![
        Endpoint::new(routes!(members::list))
            .managed()
            .examples(members::list_examples()),
        Endpoint::new(routes!(members::update, members::remove))
            .managed()
            .examples(members::examples()),
        Endpoint::new(routes!(workspaces::update))
            .managed()
            .examples(workspaces::examples()),
        Endpoint::new(routes!(audit_log::list))
            .managed()
            .examples(audit_log::examples()),
        Endpoint::new(routes!(audit_log::export))
            .managed()
            .examples(audit_log::export_examples()),
    ]
}

pub fn invitation_endpoints() -> Vec<Endpoint> {
    vec![
        Endpoint::new(routes!(invitations::list, invitations::create))
            .managed()
            .examples(invitations::list_examples()),
        Endpoint::new(routes!(invitations::withdraw))
            .managed()
            .examples(invitations::examples()),
    ]
}
