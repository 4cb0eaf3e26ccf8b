//! One endpoint a file, read top to bottom: request, answer, handler, validation, refusals.
//!
//! What surrounds a tracking route, from the outside in: the client's address, the request id, CORS where browsers
//! call, the credential, the limit, whose key it is, the route.

mod click;
mod docs;
mod health;
mod lead;
mod legacy;
mod openapi;
mod program_status;
mod readiness;
mod refund;
mod retired;
mod sale;
mod test_event;
mod test_mode;

use std::time::Duration;

use axum::Router;
use axum::http::{HeaderName, Method, header};
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get, post};
use tower_http::cors::{Any, CorsLayer};

use crate::app::App;
use crate::client_address::TrustedProxies;
use crate::error::ApiError;
use crate::limits::{Budget, Enforced};
use crate::request_id::X_REQUEST_ID;
use crate::{caller, client_address, credential, limits, request_id};

pub fn router(app: App, proxies: TrustedProxies) -> Router {
    let tracking = Router::new()
        .route(
            "/api/v1/track/click",
            limited(&app, Budget::Click, post(click::click)).layer(browsers()),
        )
        .route(
            "/api/v1/track/lead",
            limited(&app, Budget::Lead, post(lead::lead)).layer(browsers()),
        )
        .route(
            "/api/v1/track/sale",
            limited(&app, Budget::SaleAndRefund, post(sale::sale)),
        )
        .route(
            "/api/v1/track/refund",
            limited(&app, Budget::SaleAndRefund, post(refund::refund)),
        )
        .merge(legacy_tracking(&app))
        .merge(retired::router().layer(browsers()))
        .route(
            "/api/v1/cli/test-event",
            limited(&app, Budget::Cli, post(test_event::test_event)),
        )
        .route(
            "/api/v1/programs/me/readiness",
            limited(&app, Budget::Readiness, get(readiness::readiness)),
        )
        .layer(from_fn_with_state(app.clone(), request_id::identify));
    let status = Router::new()
        .route(
            "/api/v1/cli/status",
            limited(&app, Budget::Cli, get(program_status::status)),
        )
        .layer(from_fn_with_state(app.clone(), request_id::identify_failures));
    let limited = tracking
        .merge(status)
        .layer(from_fn_with_state(proxies, client_address::find));
    Router::new()
        .merge(limited)
        .route("/livez", get(health::livez))
        .route("/readyz", get(health::readyz))
        .route("/openapi.json", get(openapi::openapi_json))
        .route("/docs", get(docs::docs))
        .route("/docs.js", get(docs::script))
        .fallback(not_found)
        .method_not_allowed_fallback(method_not_allowed)
        .with_state(app)
}

/// The paths of older scripts. They count together with the routes they stand for; the checks of an installation, which
/// come from browsers as leads do, count with leads.
fn legacy_tracking(app: &App) -> Router<App> {
    Router::new()
        .route(
            "/api/tracking/click",
            limited(app, Budget::Click, post(click::click)).layer(browsers()),
        )
        .route(
            "/api/tracking/lead",
            limited(app, Budget::Lead, post(legacy::lead)).layer(browsers()),
        )
        .route(
            "/api/tracking/sale",
            limited(app, Budget::SaleAndRefund, post(sale::sale)),
        )
        .route(
            "/api/tracking/refund",
            limited(app, Budget::SaleAndRefund, post(refund::refund)),
        )
        .route(
            "/api/tracking/test",
            limited(app, Budget::Lead, post(legacy::test)).layer(browsers()),
        )
        .route(
            "/api/tracking/check-test-events",
            limited(app, Budget::Lead, post(legacy::check)).layer(browsers()),
        )
}

/// A route with its limit and its caller.
fn limited(app: &App, budget: Budget, route: MethodRouter<App>) -> MethodRouter<App> {
    let enforced = Enforced {
        limits: app.limits.clone(),
        directory: app.directory.clone(),
        budget,
    };
    route
        // A method that is none of the route's is inside the layers too: answers, preflights among them, are whole.
        .fallback(method_not_allowed)
        .layer(from_fn_with_state(app.clone(), caller::identify))
        .layer(from_fn_with_state(enforced, limits::enforce))
        .layer(from_fn(credential::read))
}

/// Any site may send clicks and leads from its pages. Preflights are answered here, before the limits count.
fn browsers() -> CorsLayer {
    let exposed = [
        "x-ratelimit-limit",
        "x-ratelimit-remaining",
        "x-ratelimit-reset",
        "retry-after",
        "deprecation",
        "sunset",
        "link",
        "x-request-id",
    ];
    CorsLayer::new()
        .allow_origin(Any)
        .allow_methods([Method::POST])
        .allow_headers([header::CONTENT_TYPE, header::AUTHORIZATION, X_REQUEST_ID])
        .expose_headers(exposed.map(HeaderName::from_static))
        .max_age(Duration::from_hours(24))
}

async fn not_found() -> Response {
    ApiError::NotFound("Not Found").into_response()
}

async fn method_not_allowed() -> Response {
    ApiError::MethodNotAllowed.into_response()
}
