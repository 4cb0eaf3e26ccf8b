//! The HTTP edge: validates, authenticates, claims, publishes, and answers with the worker's outcome.
//!
//! The edge decides nothing about money. A request passes `tracking/<noun>.rs` → `messages::<noun>` → the
//! worker's `steps/<noun>.rs`. The worker sends the outcome back to the reply inbox.

mod app;
pub mod config;
mod http;
mod management;
mod pages;
pub mod reading;
mod router;
mod routes;
mod tracking;

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use bus::publish::Publisher;
use bus::reply::ReplyInbox;
use bus::topology::Topology;
use domain::email::EmailHasher;
use domain::programs::webhook_address::AllowedAddresses;
use domain::sealed::SealingKeys;
use domain::tracking::click_id::ClickIdCodec;
use messages::subject::Subject;
use runtime::clock::Clock;
use runtime::config::{HttpConfig, PostgresConfig};
use runtime::health::Probe;
use runtime::lifecycle::Lifecycle;
use runtime::metrics::serve::Sources;
use runtime::{metrics, postgres};
use sqlx::PgPool;

use crate::app::{App, Parts};
use crate::config::Config;
use crate::http::client_address::TrustedProxies;
use crate::http::limits::Limits;
use crate::management::emails::Emails;
use crate::management::passkeys::Passkeys;
use crate::management::passwords::Passwords;
use crate::management::reads::Reads;
use crate::management::stream_waits::StreamWaits;
use crate::tracking::claims::Claims;
use crate::tracking::concurrency_limit::ConcurrencyLimit;
use crate::tracking::customer_ids::CustomerIds;
use crate::tracking::directory::Directory;
use crate::tracking::existing_clicks::ExistingClicks;
use crate::tracking::pipeline::{Lane, Pipeline};

pub async fn run(config: Config, clock: Clock, lifecycle: Lifecycle) -> anyhow::Result<()> {
    let listener = runtime::http::listen(config.service.http.listen).context("binding the listen address")?;
    let app = start(&config, clock, &lifecycle).await?;
    metrics::serve::serve(
        "ingest",
        &config.service.http,
        &config.service.telemetry,
        &app.clock,
        sources(&app),
        &lifecycle,
    )?;
    tracing::info!(listen = %listener.local_addr()?, "ingest is ready");
    let router = router::router(app, &TrustedProxies::new(&config.callers.trusted_proxies));
    let http = HttpConfig {
        behind_https: config.dashboard.public.public_url.scheme() == "https",
        ..config.service.http.clone()
    };
    Ok(runtime::http::serve(listener, router, &http, &lifecycle).await?)
}

/// Metrics that are measured at each scrape.
fn sources(app: &App) -> Sources {
    let sources = Sources::default()
        .pool("tracking", &app.pool)
        .pool("management", &app.management);
    app.pipeline.show(app.directory.show(app.reads.show(sources)))
}

async fn start(config: &Config, clock: Clock, lifecycle: &Lifecycle) -> anyhow::Result<App> {
    let pool = postgres::connect_for_batches(&config.service.postgres, "ingest").await?;
    storage::refuse_earlier_schema(&pool).await?;
    let management = PostgresConfig {
        pool_size: config.dashboard.management_pool_size,
        ..config.service.postgres.clone()
    };
    let pipeline = pipeline(config, &pool, &clock, lifecycle).await?;
    let codec = Arc::new(ClickIdCodec::from(config.keys.click_id_keys()));
    let management = postgres::connect_lazily(&management, "ingest management")?;
    let reads = Reads::connect(config, management.clone())?;
    Ok(App::new(Parts {
        probe: Probe::start(
            lifecycle.tasks(),
            pool.clone(),
            pipeline.clicks.publisher.clone().acknowledges(),
        ),
        stream_waits: StreamWaits::start(reads.clone(), lifecycle),
        reads,
        management,
        emails: Emails::new(config.email.email_from.is_some(), lifecycle.tasks().clone()),
        passkeys: Passkeys::at(&config.dashboard.public.public_url),
        passwords: Passwords::default(),
        sealing_keys: Arc::new(SealingKeys::from(config.secrets.secrets_keys())),
        public_url: config.dashboard.public.public_url.clone(),
        security_contact: config.dashboard.security_contact.clone(),
        script_aliases: config.script.script_aliases.clone(),
        directory: Directory::start(pool.clone(), clock.clone(), lifecycle).await?,
        customer_ids: CustomerIds::start(pool.clone(), Arc::clone(&codec), lifecycle).await?,
        existing_clicks: ExistingClicks::start(pool.clone(), codec, lifecycle),
        email_hasher: EmailHasher::from(config.keys.email_hash_keys()),
        pipeline,
        limits: Limits::start(
            &config.limits,
            &config.redis,
            &config.service.nats.stream_prefix,
            clock.clone(),
            lifecycle,
        )?,
        origin: config.origin.clone(),
        webhook_addresses: AllowedAddresses {
            loopback: config.webhook_targets.webhook_allow_loopback,
            networks: config.webhook_targets.webhook_allowed_networks.clone(),
        },
        body_limit_bytes: config.service.http.body_limit_bytes as u64,
        closing: lifecycle.soft().clone(),
        clock,
        pool,
    }))
}

async fn pipeline(
    config: &Config,
    pool: &PgPool,
    clock: &Clock,
    lifecycle: &Lifecycle,
) -> anyhow::Result<Pipeline> {
    let nats = bus::connect::connect(&config.service.nats, "ingest").await?;
    let topology = Topology::from(&config.service.nats);
    topology.ensure(&nats.jetstream).await?;
    let inbox = ReplyInbox::spawn(lifecycle.tasks(), nats.client.clone(), &topology, clock.mint()).await?;
    let publisher = |subject| {
        Publisher::spawn(
            lifecycle.tasks(),
            nats.jetstream.clone(),
            &topology,
            subject,
            Some(inbox.subject().to_owned()),
        )
    };
    let answer_within = Duration::from_millis(config.callers.answer_within_ms);
    let limit = |noun| ConcurrencyLimit::new(noun, config.callers.max_waiting, answer_within);
    let lane = |subject: Subject| Lane {
        publisher: publisher(subject),
        limit: limit(subject.noun()),
    };
    let sales = limit(Subject::Sales.noun());
    Ok(Pipeline {
        clicks: lane(Subject::Clicks),
        leads: lane(Subject::Leads),
        refunds: lane(Subject::Refunds),
        test_events: lane(Subject::TestEvents),
        test_chains: lane(Subject::TestChains),
        claims: Claims::start(pool.clone(), publisher(Subject::Sales), sales.clone(), lifecycle),
        sales,
        inbox,
        answer_within,
    })
}
