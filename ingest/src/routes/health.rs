//! `/livez` and `/readyz`, for whoever decides where to send traffic.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::json;

use crate::app::App;

/// The process runs and answers.
pub async fn livez() -> StatusCode {
    StatusCode::OK
}

/// Every dependency a sale needs answered just now: a query by Postgres, a publish with its acknowledgement by
/// JetStream.
pub async fn readyz(State(app): State<App>) -> Response {
    let query = sqlx::query_scalar::<_, i32>("SELECT 1").fetch_one(&app.pool);
    let (postgres, jetstream) = tokio::join!(query, app.pipeline.clicks.probe());
    let ready = postgres.is_ok() && jetstream.is_ok();
    let status = if ready {
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    };
    let body = json!({ "ready": ready, "postgres": postgres.is_ok(), "jetstream": jetstream.is_ok() });
    (status, Json(body)).into_response()
}
