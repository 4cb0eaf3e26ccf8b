//! The router: every endpoint, the pages, and the answer for any other path.

use axum::Router;
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use crate::app::App;
use crate::http::client_address::TrustedProxies;
use crate::http::error::{ApiError, method_not_allowed};
use crate::pages::{dashboard, docs, openapi, security_txt, tracker_script};
use crate::routes::endpoints;

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
        .route("/js/{file}", get(tracker_script::alias))
        .merge(dashboard::router())
        .fallback(not_found)
        .method_not_allowed_fallback(method_not_allowed)
        .with_state(app)
}

async fn not_found() -> Response {
    ApiError::NotFound("Not Found").into_response()
}
