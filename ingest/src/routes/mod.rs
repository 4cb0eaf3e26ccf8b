//! One endpoint a file, read top to bottom: request, answer, handler, validation, refusals, examples.
//!
//! [`endpoints`] is the list of them all: the router and the description of the API are both made from it.

mod advertiser;
mod answers;
mod auth;
mod cli;
mod click;
mod csv_download;
mod dashboard;
mod docs;
mod endpoint;
mod health;
mod layers;
mod lead;
mod legacy;
mod notices;
mod openapi;
mod partner;
mod program_status;
mod readiness;
mod refund;
mod reports;
mod retired;
mod sale;
mod security_txt;
mod test_event;
mod test_mode;
mod tracker_script;

use axum::Router;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use utoipa_axum::routes;

use crate::app::App;
use crate::client_address::TrustedProxies;
use crate::error::ApiError;
use crate::limits::Budget;
use crate::pipeline::Noun;
use crate::routes::endpoint::Endpoint;

#[cfg(feature = "testing")]
pub mod reading {
    pub use super::click::read as click;
    pub use super::lead::read as lead;
    pub use super::refund::read as refund;
    pub use super::sale::read as sale;
}

/// Everything a caller can ask for, in the order in which it is described.
fn endpoints() -> Vec<Endpoint> {
    let mut endpoints = tracking();
    let older = older_paths(&endpoints);
    endpoints.extend(set_up());
    endpoints.extend(cli::endpoints());
    endpoints.extend(auth::endpoints());
    endpoints.extend(advertiser::endpoints());
    endpoints.extend(reports::endpoints());
    endpoints.extend(partner::endpoints());
    endpoints.extend(older);
    endpoints.extend(retired::endpoints());
    endpoints.extend([
        Endpoint::new(routes!(health::livez)),
        Endpoint::new(routes!(health::readyz)).examples(health::examples()),
    ]);
    endpoints
}

fn tracking() -> Vec<Endpoint> {
    vec![
        Endpoint::new(routes!(click::click))
            .limited(Budget::Click)
            .waiting_with(Noun::Click)
            .open_to_browsers()
            .examples(click::examples()),
        Endpoint::new(routes!(lead::lead))
            .limited(Budget::Lead)
            .waiting_with(Noun::Lead)
            .open_to_browsers()
            .examples(lead::examples()),
        Endpoint::new(routes!(sale::sale))
            .limited(Budget::SaleAndRefund)
            .waiting_with(Noun::Sale)
            .examples(sale::examples()),
        Endpoint::new(routes!(refund::refund))
            .limited(Budget::SaleAndRefund)
            .waiting_with(Noun::Refund)
            .examples(refund::examples()),
    ]
}

/// Whether a program is set up, and whether its events arrive.
fn set_up() -> Vec<Endpoint> {
    vec![
        Endpoint::new(routes!(test_event::test_event))
            .limited(Budget::Cli)
            .examples(test_event::examples()),
        Endpoint::new(routes!(program_status::status))
            .limited(Budget::Cli)
            .identified_on_failure()
            .examples(program_status::examples()),
        Endpoint::new(routes!(readiness::readiness))
            .limited(Budget::Readiness)
            .examples(readiness::examples()),
    ]
}

/// The paths of older scripts. They count together with the routes they stand for; the checks of an installation count by
/// key, as those of the command line do.
fn older_paths(tracking: &[Endpoint]) -> Vec<Endpoint> {
    // Leads had other names.
    let same = tracking.iter().filter_map(|endpoint| {
        let noun = endpoint.path().strip_prefix("/api/v1/track/")?;
        (noun != "lead").then(|| endpoint.under_older_path(&format!("/api/tracking/{noun}")))
    });
    same.chain(vec![
        Endpoint::new(routes!(legacy::lead))
            .older()
            .limited(Budget::Lead)
            .waiting_with(Noun::Lead)
            .open_to_browsers()
            .examples(legacy::lead_examples()),
        Endpoint::new(routes!(legacy::test))
            .older()
            .limited(Budget::Cli)
            .open_to_browsers()
            .examples(legacy::test_examples()),
        Endpoint::new(routes!(legacy::check))
            .older()
            .limited(Budget::Cli)
            .open_to_browsers()
            .examples(legacy::check_examples()),
    ])
    .collect()
}

pub fn router(app: App, proxies: &TrustedProxies) -> Router {
    endpoints()
        .into_iter()
        .fold(Router::new(), |router, endpoint| {
            endpoint.serve(&app, proxies, router)
        })
        .route("/openapi.json", get(openapi::openapi_json))
        .route("/docs", get(docs::docs))
        .route("/.well-known/security.txt", get(security_txt::security_txt))
        .route("/docs.js", get(docs::script))
        .route("/js/tracker.js", get(tracker_script::script))
        .merge(dashboard::router())
        .fallback(not_found)
        .method_not_allowed_fallback(method_not_allowed)
        .with_state(app)
}

async fn not_found() -> Response {
    ApiError::NotFound("Not Found").into_response()
}

async fn method_not_allowed() -> Response {
    ApiError::MethodNotAllowed.into_response()
}
