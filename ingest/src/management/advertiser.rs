//! `/api/advertiser/*`: an advertiser's settings and reports, by session or management key.

pub mod credentials;
pub mod customers;
mod dashboard;
pub mod money;
mod named_workspace;
pub mod notifications;
pub mod program;
pub mod webhooks;
pub mod workspace;

use crate::http::endpoint::{Endpoint, SESSION, SESSION_OR_KEY, managed};

pub fn endpoints() -> Vec<Endpoint> {
    [
        program::endpoints(),
        workspace::invitation_endpoints(),
        credentials::endpoints(),
        workspace::endpoints(),
        money::endpoints(),
        webhooks::endpoints(),
        people_endpoints(),
    ]
    .concat()
}

/// Notifications, the dashboard, and the personal data of customers.
fn people_endpoints() -> Vec<Endpoint> {
    [
        managed! { "programs", SESSION_OR_KEY;
            notifications::list_notifications;
            notifications::mark_notifications_read;
        },
        managed! { "privacy", SESSION;
            customers::export_customer;
            customers::erase_customer;
        },
        managed! { "programs", SESSION_OR_KEY;
            dashboard::read_dashboard_summary;
        },
    ]
    .concat()
}
