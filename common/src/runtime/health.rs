//! `/livez` and `/readyz` of a service that has no other use for a router, or nests this one.

use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::get;
use axum::{Json, Router};
use serde_json::{Value, json};
use sqlx::PgPool;

use crate::bus::publish::Publisher;

/// `publisher` is any of the service's own.
pub fn router(pool: PgPool, publisher: Publisher) -> Router {
    Router::new()
        .route("/livez", get(|| async { StatusCode::OK }))
        .route("/readyz", get(readyz))
        .with_state((pool, publisher))
}

/// Postgres answers a query, and JetStream acknowledges a publish. A flushed connection would prove nothing: while the
/// server is away, the flush itself waits for it.
async fn readyz(State((pool, publisher)): State<(PgPool, Publisher)>) -> (StatusCode, Json<Value>) {
    let query = sqlx::query_scalar::<_, i32>("SELECT 1").fetch_one(&pool);
    let (postgres, jetstream) = tokio::join!(query, publisher.probe());
    let ready = postgres.is_ok() && jetstream.is_ok();
    let status = if ready {
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    };
    let body = json!({ "ready": ready, "postgres": postgres.is_ok(), "jetstream": jetstream.is_ok() });
    (status, Json(body))
}
