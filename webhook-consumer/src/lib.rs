//! Receives the events of payment processors, and publishes the same messages as the API.
//!
//! The path of an event: `stripe/handler.rs` (verify) → `stripe/translate/<family>.rs` (translate) →
//! `stripe/recipients.rs` (choose the programs) → `inbox.rs` (store, deduplicated) →
//! `messages::{sale, payment}` → the worker's steps. `relay.rs` retries events that a dead process left
//! unfinished.

mod app;
mod claim;
pub mod config;
mod endpoints;
mod error;
mod inbox;
mod records;
mod relay;
mod review;
pub mod stripe;

use std::sync::Arc;

use anyhow::Context;
use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use axum::routing::{MethodRouter, post};
use bus::publish::Publisher;
use bus::topology::Topology;
use domain::sealed::SealingKeys;
use messages::subject::Subject;
use runtime::clock::Clock;
use runtime::health::{self, Probe};
use runtime::lifecycle::Lifecycle;
use runtime::metrics::requests::RouteRequests;
use runtime::metrics::serve::Sources;
use runtime::trace::Span;
use runtime::{http, metrics, postgres};
use tracing::Instrument;

use crate::app::App;
use crate::config::Config;
use crate::endpoints::Endpoints;
use crate::error::Refusal;
use crate::inbox::Inbox;
use crate::records::Streams;
use crate::relay::Relay;
use crate::stripe::handler;
use crate::stripe::metadata::MetadataKeys;

pub async fn run(config: Config, clock: Clock, lifecycle: Lifecycle) -> anyhow::Result<()> {
    let listener = http::listen(config.service.http.listen).context("binding the listen address")?;
    let pool = postgres::connect_for_batches(&config.service.postgres, "webhook-consumer").await?;
    storage::refuse_earlier_schema(&pool).await?;
    let nats = bus::connect::connect(&config.service.nats, "webhook-consumer").await?;
    let topology = Topology::from(&config.service.nats);
    topology.ensure(&nats.jetstream).await?;
    let publisher = |subject| {
        let jetstream = nats.jetstream.clone();
        Publisher::spawn(lifecycle.tasks(), jetstream, &topology, subject, None)
    };
    let streams = Streams {
        sales: publisher(Subject::Sales),
        payments: publisher(Subject::Payments),
    };
    let metadata_keys = Arc::new(MetadataKeys::new(&config.stripe.metadata_aliases));
    let relay = Relay {
        pool: pool.clone(),
        streams: streams.clone(),
        keys: Arc::clone(&metadata_keys),
        clock: clock.clone(),
    };
    lifecycle.tasks().spawn(relay.run(lifecycle.clone()));
    let probe = Probe::start(
        lifecycle.tasks(),
        pool.clone(),
        streams.payments.clone().acknowledges(),
    );
    let health = health::router(probe);
    let sealing_keys = Arc::new(SealingKeys::from(config.secrets.secrets_keys()));
    let app = Arc::new(App {
        endpoints: Endpoints::start(pool.clone(), sealing_keys, clock.clone(), &lifecycle),
        inbox: Inbox::start(pool.clone(), streams, clock.clone(), &lifecycle),
        clock,
        tasks: lifecycle.tasks().clone(),
        distributor_secrets: config.stripe.stripe_distributor_secrets.into(),
        metadata_keys,
        body_limit_bytes: config.service.http.body_limit_bytes as u64,
        pool,
    });
    let sources = Sources::default().pool("main", &app.pool);
    metrics::serve::serve(
        "webhook-consumer",
        &config.service.http,
        &config.service.telemetry,
        &app.clock,
        sources,
        &lifecycle,
    )?;
    tracing::info!(listen = %listener.local_addr()?, "webhook-consumer is ready");
    Ok(http::serve(
        listener,
        router(app).merge(health),
        &config.service.http,
        &lifecycle,
    )
    .await?)
}

fn router(app: Arc<App>) -> Router {
    let clock = app.clock.clone();
    let routes = [
        ("/webhooks/stripe/{program_id}", post(handler::program)),
        ("/api/webhook-distributor/stripe", post(handler::distributor)),
    ];
    let observed = |router: Router<Arc<App>>, (path, route): (&str, MethodRouter<Arc<App>>)| {
        let requests = Arc::new(RouteRequests::of(path));
        router.route(
            path,
            route.layer(from_fn_with_state((requests, clock.clone()), observe)),
        )
    };
    routes
        .into_iter()
        .fold(Router::new(), observed)
        .fallback(async || Refusal::NotFound)
        .method_not_allowed_fallback(async || Refusal::MethodNotAllowed)
        .with_state(app)
}

async fn observe(
    State((requests, clock)): State<(Arc<RouteRequests>, Clock)>,
    request: Request,
    next: Next,
) -> Response {
    let started = requests.start(request.method());
    let span = Span::for_request(started.route(), request.headers());
    let logs = span.log_span(&clock.mint().simple().to_string());
    let response = span.clone().scope(next.run(request).instrument(logs)).await;
    span.record_status(response.status());
    started.answered(response.status());
    response
}
