//! `/livez` and `/readyz`, for load balancers and operators.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;

use crate::app::App;
use crate::http::openapi::examples::Examples;

/// What answered, and whether that is all that a sale needs.
#[derive(Debug, Serialize, ToSchema)]
pub struct Readiness {
    ready: bool,
    postgres: bool,
    jetstream: bool,
}

/// The process runs and answers.
#[utoipa::path(
    get,
    path = "/livez",
    tag = "health",
    summary = "The process runs",
    responses((status = 200, description = "Running."))
)]
pub async fn livez() -> StatusCode {
    StatusCode::OK
}

/// Every dependency a sale needs answered just now: a query by Postgres, a publish with its acknowledgement by
/// JetStream.
#[utoipa::path(
    get,
    path = "/readyz",
    tag = "health",
    summary = "Everything a sale needs answers",
    description = "Asks PostgreSQL and JetStream now.",
    responses(
        (status = 200, description = "Send traffic.", body = Readiness),
        (status = 503, description = "Send traffic elsewhere.", body = Readiness),
    )
)]
pub async fn readyz(State(app): State<App>) -> Response {
    let answering = app.probe.check().await;
    let readiness = Readiness {
        ready: answering.all(),
        postgres: answering.postgres,
        jetstream: answering.jetstream == Some(true),
    };
    (answering.status(), Json(readiness)).into_response()
}

pub fn examples() -> Examples {
    let readiness = |postgres| Readiness {
        ready: postgres,
        postgres,
        jetstream: true,
    };
    Examples::default()
        .answer("Ready", readiness(true))
        .unready("Without PostgreSQL", readiness(false))
}
