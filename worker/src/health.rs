//! `/livez` and `/readyz` of a worker.

use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::get;
use axum::{Json, Router};
use common::bus::publish::Publisher;
use serde_json::{Value, json};
use sqlx::PgPool;

pub fn router(pool: PgPool, notifications: Publisher) -> Router {
    Router::new()
        .route("/livez", get(|| async { StatusCode::OK }))
        .route("/readyz", get(readyz))
        .with_state((pool, notifications))
}

/// Postgres answers a query, and JetStream acknowledges a publish. A flushed connection would prove nothing: while the
/// server is away, the flush itself waits for it.
async fn readyz(State((pool, notifications)): State<(PgPool, Publisher)>) -> (StatusCode, Json<Value>) {
    let query = sqlx::query_scalar::<_, i32>("SELECT 1").fetch_one(&pool);
    let (postgres, jetstream) = tokio::join!(query, notifications.probe());
    let ready = postgres.is_ok() && jetstream.is_ok();
    let status = if ready {
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    };
    let body = json!({ "ready": ready, "postgres": postgres.is_ok(), "jetstream": jetstream.is_ok() });
    (status, Json(body))
}
