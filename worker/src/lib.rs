//! The steps of the pipeline, which turn batches of records into rows, one transaction per batch; and the
//! worker's periodic tasks. In its other role ([`delivery`]) a worker sends webhooks and e-mails instead.
//!
//! Any number of workers may run concurrently: they share durable consumers, rows are locked in a fixed
//! order, and every effect is deduplicated by its event.

pub mod config;
mod customer_lookup;
pub mod delivery;
mod late_leads;
mod lead_rates;
mod mail;
mod outbound;
mod postings;
mod reassessment;
mod relay;
mod rollups;
mod shared_texts;
mod signals;
mod steps;
mod stream_trim;
mod upkeep;
mod verification;
mod visitor;
mod watch;

use std::sync::Arc;

use anyhow::Context;
use bus::backlog::Backlog;
use bus::connect::Bus;
use bus::consume::{ConsumeBounds, consume};
use bus::publish::Publisher;
use bus::topology::Topology;
use chrono::TimeDelta;
use domain::email::EmailHasher;
use domain::tracking::click_id::ClickIdCodec;
use domain::tracking::signal::SignalRules;
use messages::subject::Subject;
use runtime::clock::Clock;
use runtime::health::{self, Probe};
use runtime::lifecycle::Lifecycle;
use runtime::{http, metrics, postgres};
use sqlx::PgPool;
use tokio::net::TcpListener;
use tokio::sync::Notify;

use crate::config::Config;
use crate::late_leads::LateLeads;
use crate::lead_rates::LeadRates;
use crate::relay::Relay;
use crate::shared_texts::SharedTexts;
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

pub async fn run(config: Config, clock: Clock, lifecycle: Lifecycle) -> anyhow::Result<()> {
    let listener = http::listen(config.service.http.listen).context("binding the listen address")?;
    let visitors = Arc::new(Visitors::load(config.geoip_db_path.as_deref()).await?);
    let pool = postgres::connect_for_shared_batches(&config.service.postgres, "worker").await?;
    storage::refuse_earlier_schema(&pool).await?;
    let nats = bus::connect::connect(&config.service.nats, "worker").await?;
    let topology = Topology::from(&config.service.nats);
    topology.ensure(&nats.jetstream).await?;
    let worker = Worker {
        pool,
        nats,
        topology,
        clock,
        lifecycle,
    };
    let context = worker.step_context(&config);
    let notifications = worker.publisher(Subject::Notifications);
    worker.start_background_tasks(&config, &context, notifications.clone());
    worker.start_steps(&context, &visitors);
    worker.serve(listener, &config, notifications).await
}

struct Worker {
    pool: PgPool,
    nats: Bus,
    topology: Topology,
    clock: Clock,
    lifecycle: Lifecycle,
}

impl Worker {
    fn step_context(&self, config: &Config) -> StepContext {
        StepContext {
            pool: self.pool.clone(),
            codec: Arc::new(ClickIdCodec::from(config.keys.click_id_keys())),
            clicks: self.backlog(Subject::Clicks),
            leads: Arc::new(LateLeads::of(self.backlog(Subject::Leads))),
            clock: self.clock.clone(),
            signal_rules: Arc::new(SignalRules {
                hasher: EmailHasher::from(config.keys.email_hash_keys()),
                fast_sale: TimeDelta::seconds(config.fast_sale_seconds.into()),
            }),
            lead_rates: Arc::new(LeadRates::new(config.many_leads_per_link)),
            outbox_filled: Arc::new(Notify::new()),
        }
    }

    fn backlog(&self, subject: Subject) -> Backlog {
        Backlog::of(self.nats.jetstream.clone(), &self.topology, subject)
    }

    fn publisher(&self, subject: Subject) -> Publisher {
        let jetstream = self.nats.jetstream.clone();
        Publisher::spawn(self.lifecycle.tasks(), jetstream, &self.topology, subject, None)
    }

    fn start_background_tasks(&self, config: &Config, context: &StepContext, notifications: Publisher) {
        let relay = Relay {
            pool: self.pool.clone(),
            sales: self.publisher(Subject::Sales),
            notifications,
            outbox_filled: Arc::clone(&context.outbox_filled),
        };
        let upkeep = Upkeep {
            pool: self.pool.clone(),
            clock: self.clock.clone(),
            lifecycle: self.lifecycle.clone(),
            retention: config.retention(),
        };
        let (tasks, pool) = (self.lifecycle.tasks(), &self.pool);
        tasks.spawn(relay.run(self.lifecycle.clone()));
        tasks.spawn(upkeep.run());
        tasks.spawn(Arc::clone(&context.leads).watch(self.lifecycle.clone()));
        tasks.spawn(rollups::run(pool.clone(), self.lifecycle.clone()));
        tasks.spawn(verification::run(pool.clone(), self.lifecycle.clone()));
        tasks.spawn(stream_trim::run(
            self.nats.jetstream.clone(),
            self.topology.clone(),
            self.lifecycle.clone(),
        ));
    }

    fn start_steps(&self, context: &StepContext, visitors: &Arc<Visitors>) {
        self.start(
            context,
            ClickStep {
                context: context.clone(),
                visitors: Arc::clone(visitors),
                shared_texts: SharedTexts::new(self.pool.clone()),
            },
        );
        self.start(context, LeadStep(context.clone()));
        self.start(context, SaleStep(context.clone()));
        self.start(context, RefundStep(context.clone()));
        self.start(context, PaymentStep(context.clone()));
        self.start(context, TestEventStep(Arc::clone(visitors)));
        self.start(context, TestChainStep::new(context.clone()));
        self.start(context, NotificationStep);
    }

    /// Starts one consumer for a step. If the consumer ends by itself, the worker shuts down: a worker that
    /// consumes nothing must be restarted.
    fn start<S: TransactionalStep>(&self, context: &StepContext, step: S) {
        let step = InTransaction {
            context: context.clone(),
            step,
        };
        let (nats, topology, shutdown) = (self.nats.clone(), self.topology.clone(), self.lifecycle.clone());
        self.lifecycle.tasks().spawn(async move {
            let (step, bounds) = (Arc::new(step), ConsumeBounds::default());
            let consumed = consume(step, nats.jetstream, nats.client, &topology, &shutdown, bounds).await;
            if let Err(error) = consumed {
                tracing::error!(%error, "shutting down");
                shutdown.shut_down();
            }
        });
    }

    async fn serve(
        self,
        listener: TcpListener,
        config: &Config,
        notifications: Publisher,
    ) -> anyhow::Result<()> {
        let sources = watch::sources(
            self.pool.clone(),
            self.nats.jetstream.clone(),
            self.topology,
            self.clock.clone(),
        );
        metrics::serve::serve(
            "worker",
            &config.service.http,
            &config.service.telemetry,
            &self.clock,
            sources,
            &self.lifecycle,
        )?;
        tracing::info!(listen = %listener.local_addr()?, "worker is ready");
        let probe = Probe::start(self.lifecycle.tasks(), self.pool, notifications.acknowledges());
        Ok(http::serve(
            listener,
            health::router(probe),
            &config.service.http,
            &self.lifecycle,
        )
        .await?)
    }
}
