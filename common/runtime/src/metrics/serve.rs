//! Serves `/metrics` on a separate address. Access is restricted by the network; there is no password.
//!
//! Some values are not counted as they change (pool connections, pending rows, messages in a stream). They
//! are collected when `/metrics` is scraped. Concurrent scrapes share one collection. Values of a source that
//! does not answer within [`TIMEOUT`] are missing from the page.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use futures::future::{BoxFuture, join_all};
use sqlx::PgPool;
use tokio::time::timeout;

use super::{ALL, BUILD_INFO, POOL_CONNECTIONS, POOL_CONNECTIONS_MAX, STARTED};

use crate::batch::{Batcher, Bounds};
use crate::clock::Clock;
use crate::config::{HttpConfig, TelemetryConfig};
use crate::lifecycle::Lifecycle;

const BOUNDS: Bounds = Bounds {
    name: "metrics",
    queue: 64,
    max_records: 64,
    max_weight: usize::MAX,
    in_flight: 1,
    pace: Duration::ZERO,
};

/// Below the ten seconds of Prometheus's default scrape timeout.
const TIMEOUT: Duration = Duration::from_secs(3);

/// Enough, because few clients scrape.
const MAX_CONNECTIONS: usize = 64;

const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

type Collect = Arc<dyn Fn() -> BoxFuture<'static, ()> + Send + Sync>;

/// Functions that set gauges before a page is rendered.
#[derive(Clone, Default)]
pub struct Sources(Vec<Collect>);

impl fmt::Debug for Sources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Sources").field(&self.0.len()).finish()
    }
}

impl Sources {
    #[must_use]
    pub fn and<F>(mut self, collect: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.0.push(Arc::new(move || Box::pin(collect())));
        self
    }

    #[must_use]
    pub fn pool(self, name: &'static str, pool: &PgPool) -> Self {
        let [idle, busy] = ["idle", "busy"].map(|state| POOL_CONNECTIONS.with([name, state]));
        POOL_CONNECTIONS_MAX
            .with([name])
            .set(pool.options().get_max_connections().into());
        let pool = pool.clone();
        self.and(move || {
            let open = pool.size();
            let waiting = u32::try_from(pool.num_idle()).unwrap_or(open).min(open);
            idle.set(waiting.into());
            busy.set((open - waiting).into());
            std::future::ready(())
        })
    }

    async fn collect(self) {
        join_all(self.0.iter().map(|collect| timeout(TIMEOUT, collect()))).await;
    }
}

/// Serves metrics until shutdown, if `METRICS_LISTEN` is set. Fails if the address cannot be bound.
pub fn serve(
    service: &'static str,
    http: &HttpConfig,
    telemetry: &TelemetryConfig,
    clock: &Clock,
    sources: Sources,
    lifecycle: &Lifecycle,
) -> anyhow::Result<()> {
    let Some(listen) = telemetry.metrics_listen else {
        return Ok(());
    };
    let version = env!("CARGO_PKG_VERSION");
    let revision = option_env!("BUILD_REVISION").unwrap_or("unknown");
    BUILD_INFO.with([service, version, revision]).set(1.0);
    #[expect(clippy::cast_precision_loss, reason = "seconds need 31 bits")]
    STARTED.with([]).set(clock.now().timestamp() as f64);
    let of_service = ALL.iter().filter(|metric| metric.services().contains(&service));
    of_service.for_each(|metric| metric.initialize());
    let listener = crate::http::listen(listen).context("binding the metrics address")?;
    let http = HttpConfig {
        listen,
        max_connections: MAX_CONNECTIONS,
        ..http.clone()
    };
    let router = router(sources, lifecycle);
    let serving = lifecycle.clone();
    lifecycle.tasks().spawn(async move {
        if let Err(error) = crate::http::serve(listener, router, &http, &serving).await {
            tracing::warn!(%error, "metrics server stopped");
        }
    });
    Ok(())
}

fn router(sources: Sources, lifecycle: &Lifecycle) -> Router {
    let pages = Batcher::spawn(
        lifecycle.tasks(),
        BOUNDS,
        |()| 1,
        move |scrapes: Vec<()>| {
            let collect = sources.clone().collect();
            async move {
                collect.await;
                vec![Arc::<str>::from(super::export()); scrapes.len()]
            }
        },
    );
    Router::new().route("/metrics", get(metrics)).with_state(pages)
}

async fn metrics(State(pages): State<Batcher<(), Arc<str>>>) -> Response {
    match pages.submit(()).await {
        Ok(page) => ([(header::CONTENT_TYPE, OPEN_METRICS)], page.to_string()).into_response(),
        Err(_) => StatusCode::SERVICE_UNAVAILABLE.into_response(),
    }
}
