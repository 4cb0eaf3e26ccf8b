//! Retired endpoints: 410 for every method, with a message that names the replacement.
//!
//! These endpoints read no body, key or table, so they have no rate limit.

use axum::routing::any;
use utoipa::openapi::path::{HttpMethod, OperationBuilder, Paths};
use utoipa::openapi::{Content, Ref, Response};

use crate::http::endpoint::Endpoint;
use crate::http::error::ApiError;
use crate::http::openapi::examples::Examples;

/// Path and replacement.
const RETIRED: [(&str, &str); 6] = [
    ("/api/track/click", "POST /api/v1/track/click"),
    ("/api/track/lead", "POST /api/v1/track/lead"),
    ("/api/track/sale", "POST /api/v1/track/sale"),
    ("/api/track/refund", "POST /api/v1/track/refund"),
    ("/api/tracking/conversion", "POST /api/v1/track/sale"),
    ("/api/tracking/signup", "POST /api/v1/track/lead"),
];

pub fn endpoints() -> impl Iterator<Item = Endpoint> {
    RETIRED.into_iter().map(|(path, replacement)| {
        let route = any(move || async move { ApiError::Retired { replacement } });
        Endpoint::new((vec![], description(path, replacement), route))
            .identified()
            .open_to_browsers()
            .older()
            .examples(Examples::of_refusals([ApiError::Retired { replacement }]))
    })
}

fn description(path: &str, replacement: &str) -> Paths {
    let gone = Response::builder()
        .description("Retired; the message names what to use instead.")
        .content(
            "application/json",
            Content::new(Some(Ref::from_schema_name("PlatformError"))),
        );
    let operation = OperationBuilder::new()
        .operation_id(Some(path.trim_start_matches("/api/").replace('/', "_")))
        .summary(Some("Retired"))
        .description(Some(format!(
            "Use `{replacement}` instead. Every other method is answered alike."
        )))
        .response("410", gone);
    let mut paths = Paths::new();
    paths.add_path_operation(path, vec![HttpMethod::Post], operation);
    paths
}
