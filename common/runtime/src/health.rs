//! `/livez`, `/readyz` and the readiness check.
//!
//! A check costs a query and a synced publish, and anyone may request one. So one check runs at a time, and
//! requests that arrive meanwhile share the next one. A check thus always starts after its requests arrived.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::get;
use axum::{Json, Router};
use serde_json::{Value, json};
use sqlx::PgPool;
use tokio_util::task::TaskTracker;

use super::batch::{Batcher, Bounds};

const BOUNDS: Bounds = Bounds {
    name: "readiness",
    queue: 1_024,
    max_records: 1_024,
    max_weight: usize::MAX,
    in_flight: 1,
    pace: Duration::ZERO,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DependencyHealth {
    pub postgres: bool,
    /// `None` if the process does not need JetStream.
    pub jetstream: Option<bool>,
}

impl DependencyHealth {
    pub const fn all(self) -> bool {
        self.postgres && !matches!(self.jetstream, Some(false))
    }

    pub const fn status(self) -> StatusCode {
        if self.all() {
            StatusCode::OK
        } else {
            StatusCode::SERVICE_UNAVAILABLE
        }
    }
}

/// Checks that Postgres and JetStream answer.
#[derive(Debug, Clone)]
pub struct Probe(Batcher<(), DependencyHealth>);

impl Probe {
    /// `jetstream` publishes a probe and returns whether it was acknowledged.
    pub fn start<A: Future<Output = bool> + Send>(
        tasks: &TaskTracker,
        pool: PgPool,
        jetstream: impl Fn() -> A + Send + Sync + 'static,
    ) -> Self {
        let jetstream = Arc::new(jetstream);
        let run = move |requests: Vec<()>| {
            let (pool, jetstream) = (pool.clone(), Arc::clone(&jetstream));
            async move { vec![check(&pool, async { Some(jetstream().await) }).await; requests.len()] }
        };
        Self(Batcher::spawn(tasks, BOUNDS, |()| 1, run))
    }

    /// For a process that needs only Postgres.
    pub fn of_postgres(tasks: &TaskTracker, pool: PgPool) -> Self {
        let run = move |requests: Vec<()>| {
            let pool = pool.clone();
            async move { vec![check(&pool, std::future::ready(None)).await; requests.len()] }
        };
        Self(Batcher::spawn(tasks, BOUNDS, |()| 1, run))
    }

    /// A full queue counts as not ready.
    pub async fn check(&self) -> DependencyHealth {
        self.0.submit(()).await.unwrap_or(DependencyHealth {
            postgres: false,
            jetstream: None,
        })
    }
}

/// Postgres must answer a query, and JetStream must acknowledge a publish. Flushing the connection proves
/// nothing: while the server is down, the flush waits.
async fn check(pool: &PgPool, jetstream: impl Future<Output = Option<bool>>) -> DependencyHealth {
    let query = sqlx::query_scalar::<_, i32>("SELECT 1").fetch_one(pool);
    let (postgres, jetstream) = tokio::join!(query, jetstream);
    DependencyHealth {
        postgres: postgres.is_ok(),
        jetstream,
    }
}

pub fn router(probe: Probe) -> Router {
    Router::new()
        .route("/livez", get(|| async { StatusCode::OK }))
        .route("/readyz", get(readyz))
        .with_state(probe)
}

async fn readyz(State(probe): State<Probe>) -> (StatusCode, Json<Value>) {
    let health = probe.check().await;
    let DependencyHealth { postgres, jetstream } = health;
    let ready = health.all();
    let body = match jetstream {
        Some(jetstream) => json!({ "ready": ready, "postgres": postgres, "jetstream": jetstream }),
        None => json!({ "ready": ready, "postgres": postgres }),
    };
    (health.status(), Json(body))
}
