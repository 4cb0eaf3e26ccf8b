//! The pipeline's steps: clicks, leads, sales, refunds and notifications become rows, a batch a transaction.
//!
//! Any number of workers may run side by side: they share durable consumers, rows are locked in one order, and
//! every effect is recognised by its event.

pub mod config;
mod customer_lookup;
mod lead_rates;
mod postings;
mod reassessment;
mod relay;
mod rollups;
mod signals;
mod steps;
mod stream_trim;
mod upkeep;
mod visitor;
mod watch;

use std::sync::Arc;

use anyhow::Context;
use bus::backlog::Backlog;
use bus::connect::Bus;
use bus::consume::{ConsumeBounds, consume};
use bus::publish::Publisher;
use bus::topology::Topology;
use chrono::{Months, TimeDelta};
use domain::click_id::ClickIdCodec;
use domain::email::EmailHasher;
use domain::signal::SignalRules;
use messages::subject::Subject;
use runtime::clock::Clock;
use runtime::health::{self, Probe};
use runtime::lifecycle::Lifecycle;
use runtime::{http, metrics, postgres};
use tokio::sync::Notify;

use crate::config::Config;
use crate::lead_rates::LeadRates;
use crate::relay::Relay;
use crate::steps::StepContext;
use crate::steps::click::ClickStep;
use crate::steps::lead::LeadStep;
use crate::steps::notification::NotificationStep;
use crate::steps::payment::PaymentStep;
use crate::steps::refund::RefundStep;
use crate::steps::sale::SaleStep;
use crate::steps::test_chain::TestChainStep;
use crate::steps::test_event::TestEventStep;
use crate::steps::transaction::{InTransaction, TransactionalStep};
use crate::upkeep::Upkeep;
use crate::visitor::Visitors;

/// Works until shutdown.
pub async fn run(config: Config, clock: Clock, lifecycle: Lifecycle) -> anyhow::Result<()> {
    let listener = http::listen(config.service.http.listen).context("binding the listen address")?;
    let visitors = Arc::new(Visitors::load(config.geoip_db_path.as_deref()).await?);
    let pool = postgres::connect_for_shared_batches(&config.service.postgres, "worker").await?;
    let nats = bus::connect::connect(&config.service.nats, "worker").await?;
    let topology = Topology::from(&config.service.nats);
    topology.ensure(&nats.jetstream).await?;
    let context = StepContext {
        pool: pool.clone(),
        codec: Arc::new(ClickIdCodec::from(config.keys.click_id_keys())),
        clicks: Backlog::of(nats.jetstream.clone(), &topology, Subject::Clicks),
        clock: clock.clone(),
        signal_rules: Arc::new(SignalRules {
            hasher: EmailHasher::new(config.keys.email_hash_key.expose()),
            fast_sale: TimeDelta::seconds(config.fast_sale_seconds.into()),
        }),
        lead_rates: Arc::new(LeadRates::new(config.many_leads_per_link)),
        outbox_filled: Arc::new(Notify::new()),
    };
    let publisher = |subject| {
        Publisher::spawn(
            lifecycle.tasks(),
            nats.jetstream.clone(),
            &topology,
            subject,
            None,
        )
    };
    let notifications = publisher(Subject::Notifications);
    let relay = Relay {
        pool: pool.clone(),
        sales: publisher(Subject::Sales),
        notifications: notifications.clone(),
        outbox_filled: Arc::clone(&context.outbox_filled),
    };
    lifecycle.tasks().spawn(relay.run(lifecycle.clone()));
    let upkeep = Upkeep {
        clock: clock.clone(),
        event_retention: config.event_retention_months.map(Months::new),
    };
    lifecycle
        .tasks()
        .spawn(upkeep.run(pool.clone(), lifecycle.clone()));
    lifecycle
        .tasks()
        .spawn(rollups::run(pool.clone(), lifecycle.clone()));
    lifecycle.tasks().spawn(stream_trim::run(
        nats.jetstream.clone(),
        topology.clone(),
        lifecycle.clone(),
    ));
    let clicks = ClickStep {
        context: context.clone(),
        visitors: Arc::clone(&visitors),
    };
    let test_events = TestEventStep {
        context: context.clone(),
        visitors,
    };
    start(clicks, &nats, &topology, &lifecycle);
    start(LeadStep(context.clone()), &nats, &topology, &lifecycle);
    start(SaleStep(context.clone()), &nats, &topology, &lifecycle);
    start(RefundStep(context.clone()), &nats, &topology, &lifecycle);
    start(PaymentStep(context.clone()), &nats, &topology, &lifecycle);
    start(test_events, &nats, &topology, &lifecycle);
    start(TestChainStep::new(context.clone()), &nats, &topology, &lifecycle);
    start(NotificationStep(context), &nats, &topology, &lifecycle);
    let sources = watch::sources(pool.clone(), nats.jetstream.clone(), topology.clone());
    metrics::serve::serve("worker", &config.service, &clock, sources, &lifecycle)?;
    tracing::info!(listen = %listener.local_addr()?, "worker is ready");
    Ok(http::serve(
        listener,
        health::router(Probe::start(
            lifecycle.tasks(),
            pool,
            notifications.acknowledges(),
        )),
        &config.service.http,
        &lifecycle,
    )
    .await?)
}

/// One consumer, one batch at a time: batches form from everything that waits. A consumer that ends by itself ends
/// the worker: a worker that looks alive and consumes nothing is worse than one that is restarted.
fn start<S: TransactionalStep>(step: S, bus: &Bus, topology: &Topology, lifecycle: &Lifecycle) {
    let (bus, topology, shutdown) = (bus.clone(), topology.clone(), lifecycle.clone());
    lifecycle.tasks().spawn(async move {
        let bounds = ConsumeBounds::default();
        let consumed = consume(
            Arc::new(InTransaction(step)),
            bus.jetstream,
            bus.client,
            &topology,
            &shutdown,
            bounds,
        )
        .await;
        if let Err(error) = consumed {
            tracing::error!(%error, "shutting down");
            shutdown.shut_down();
        }
    });
}
