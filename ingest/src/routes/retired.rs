//! Endpoints that are no more: 410 for every method, naming what took their place.

use axum::Router;
use axum::routing::any;

use crate::app::App;
use crate::error::ApiError;

/// Path, and what to use instead.
const RETIRED: [(&str, &str); 6] = [
    ("/api/track/click", "POST /api/v1/track/click"),
    ("/api/track/lead", "POST /api/v1/track/lead"),
    ("/api/track/sale", "POST /api/v1/track/sale"),
    ("/api/track/refund", "POST /api/v1/track/refund"),
    ("/api/tracking/conversion", "POST /api/v1/track/sale"),
    ("/api/tracking/signup", "POST /api/v1/track/lead"),
];

/// Nothing here reads a body, a key or a table, so nothing is counted either.
pub fn router() -> Router<App> {
    RETIRED
        .into_iter()
        .fold(Router::new(), |router, (path, replacement)| {
            router.route(
                path,
                any(move || async move { ApiError::Retired { replacement } }),
            )
        })
}
