//! Endpoints that are no more: 410 for every method, naming what took their place.
//!
//! Nothing here reads a body, a key or a table, so nothing is counted either.

use axum::routing::any;
use utoipa::openapi::path::{HttpMethod, OperationBuilder, Paths};
use utoipa::openapi::{Content, Ref, Response};

use crate::http::endpoint::Endpoint;
use crate::http::error::ApiError;
use crate::http::layers::{Identified, Layers};
use crate::http::openapi::examples::Examples;

/// Path, and what to use instead.
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
        let layers = Layers {
            identified: Identified::Always,
            browsers: true,
            budget: None,
            ..Layers::default()
        };
        Endpoint::new((vec![], description(path, replacement), route))
            .with(layers)
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
