//! `/livez` and `/readyz` of a service that has no other use for a router, or nests this one, and what readiness is.
//!
//! Anybody may ask, and each question costs a query and a synced publish: those who ask while one is under way share the
//! next, so that however many ask, one is asked at a time. Nobody hears what was found out before they asked.

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

/// What answered just now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DependencyHealth {
    pub postgres: bool,
    pub jetstream: bool,
}

impl DependencyHealth {
    pub const fn all(self) -> bool {
        self.postgres && self.jetstream
    }

    pub const fn status(self) -> StatusCode {
        if self.all() {
            StatusCode::OK
        } else {
            StatusCode::SERVICE_UNAVAILABLE
        }
    }
}

/// Asks Postgres and JetStream whether they answer.
#[derive(Debug, Clone)]
pub struct Probe(Batcher<(), DependencyHealth>);

impl Probe {
    /// `jetstream` says whether a publish of the service's own is acknowledged.
    pub fn start<A: Future<Output = bool> + Send>(
        tasks: &TaskTracker,
        pool: PgPool,
        jetstream: impl Fn() -> A + Send + Sync + 'static,
    ) -> Self {
        let jetstream = Arc::new(jetstream);
        let ask = move |those: Vec<()>| {
            let (pool, jetstream) = (pool.clone(), Arc::clone(&jetstream));
            async move { vec![ask(&pool, jetstream()).await; those.len()] }
        };
        Self(Batcher::spawn(tasks, BOUNDS, |()| 1, ask))
    }

    /// So many asking at once that this one is not heard counts as nothing answering.
    pub async fn check(&self) -> DependencyHealth {
        self.0.submit(()).await.unwrap_or(DependencyHealth {
            postgres: false,
            jetstream: false,
        })
    }
}

/// Postgres answers a query, and JetStream acknowledges a publish. A flushed connection would prove nothing: while the
/// server is away, the flush itself waits for it.
async fn ask(pool: &PgPool, jetstream: impl Future<Output = bool>) -> DependencyHealth {
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
    let answering = probe.check().await;
    let DependencyHealth { postgres, jetstream } = answering;
    let body = json!({ "ready": answering.all(), "postgres": postgres, "jetstream": jetstream });
    (answering.status(), Json(body))
}
