//! `/livez` and `/readyz` of a worker.

use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::get;
use axum::{Json, Router};
use serde_json::{Value, json};
use sqlx::PgPool;

pub fn router(pool: PgPool, nats: async_nats::Client) -> Router {
    Router::new()
        .route("/livez", get(|| async { StatusCode::OK }))
        .route("/readyz", get(readyz))
        .with_state((pool, nats))
}

/// Postgres answers a query and the connection to NATS stands.
async fn readyz(State((pool, nats)): State<(PgPool, async_nats::Client)>) -> (StatusCode, Json<Value>) {
    let postgres = sqlx::query_scalar::<_, i32>("SELECT 1")
        .fetch_one(&pool)
        .await
        .is_ok();
    let nats =
        nats.flush().await.is_ok() && nats.connection_state() == async_nats::connection::State::Connected;
    let status = if postgres && nats {
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    };
    (
        status,
        Json(json!({ "ready": postgres && nats, "postgres": postgres, "nats": nats })),
    )
}
