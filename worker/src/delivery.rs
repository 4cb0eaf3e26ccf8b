//! The delivery role (`worker --role delivery`): orders events, delivers them to webhook endpoints, and sends
//! e-mails.
//!
//! The loops share a pool of connections:
//!
//! - [`place`] gives events their positions and fills the queue;
//! - [`take`] takes due deliveries, as many as there are free slots, and starts an [`attempt`] for each;
//! - [`finish`] writes the results of attempts, in batches;
//! - [`disable`] disables endpoints that fail permanently;
//! - [`bring_forward`] keeps a customer with many events from delaying the other customers of an endpoint;
//! - [`emails`] hands e-mails to a mail server, if one is configured;
//! - [`weekly_summaries`] and [`program_notices`] write the e-mails that are due by time.
//!
//! All state is in PostgreSQL before and after an attempt. A process that dies leaves leased deliveries,
//! which are due again when the lease ends. The delivery role does not need NATS.

mod attempt;
mod bring_forward;
pub mod client;
pub mod config;
mod disable;
mod emails;
mod finish;
mod in_flight;
mod place;
mod program_notices;
mod take;
mod watch;
mod weekly_summaries;

use std::sync::Arc;

use anyhow::Context;
use chrono::TimeDelta;
use domain::email::EmailHasher;
use domain::programs::webhook_address::AllowedAddresses;
use domain::sealed::SealingKeys;
use runtime::clock::Clock;
use runtime::health::{self, Probe};
use runtime::lifecycle::Lifecycle;
use runtime::{http, metrics, postgres};
use sqlx::PgPool;
use storage::outbound::webhook_queue::LONGEST_LEASE;
use tokio::sync::{Notify, mpsc};

use self::client::{Client, SystemResolver, roots};
use self::config::DeliveryConfig;
use self::emails::Emails;
use self::finish::Finisher;
use self::in_flight::InFlight;
use self::program_notices::ProgramNotices;
use self::take::Taker;
use self::weekly_summaries::WeeklySummaries;

pub async fn run(config: DeliveryConfig, clock: Clock, lifecycle: Lifecycle) -> anyhow::Result<()> {
    let listener = http::listen(config.http.listen).context("binding the listen address")?;
    let client = client(&config)?;
    let pool = postgres::connect_for_shared_batches(&config.postgres, "delivery").await?;
    storage::refuse_earlier_schema(&pool).await?;
    let in_flight = InFlight::new(&config.limits);
    start(&config, client, &pool, &clock, &in_flight, &lifecycle);
    start_emails(&config, &pool, &clock, &lifecycle)?;
    let sources = watch::sources(pool.clone(), clock.clone(), in_flight);
    metrics::serve::serve(
        "delivery",
        &config.http,
        &config.telemetry,
        &clock,
        sources,
        &lifecycle,
    )?;
    tracing::info!(listen = %listener.local_addr()?, "delivery is ready");
    let probe = Probe::of_postgres(lifecycle.tasks(), pool);
    Ok(http::serve(listener, health::router(probe), &config.http, &lifecycle).await?)
}

fn client(config: &DeliveryConfig) -> anyhow::Result<Client> {
    let allowed = AllowedAddresses {
        loopback: config.targets.webhook_allow_loopback,
        networks: config.targets.webhook_allowed_networks.clone(),
    };
    let roots = roots(config.limits.webhook_ca_file.as_deref())?;
    let client = Client::new(allowed, Arc::new(SystemResolver), roots, config.limits.within());
    client.context("TLS cannot be set up")
}

fn start(
    config: &DeliveryConfig,
    client: Client,
    pool: &PgPool,
    clock: &Clock,
    in_flight: &InFlight,
    lifecycle: &Lifecycle,
) {
    let tasks = lifecycle.tasks();
    let wake = Arc::new(Notify::new());
    // As many results as attempts, so that no attempt waits to hand over its result.
    let (results, to_finish) = mpsc::channel(config.limits.webhook_in_flight);
    let taker = Taker {
        pool: pool.clone(),
        clock: clock.clone(),
        keys: Arc::new(SealingKeys::from(config.secrets.secrets_keys())),
        client,
        lease: lease(config),
        loopback_allowed: config.targets.webhook_allow_loopback,
        in_flight: in_flight.clone(),
        wake: Arc::clone(&wake),
        results,
    };
    let finisher = Finisher {
        pool: pool.clone(),
        clock: clock.clone(),
        wake: Arc::clone(&wake),
    };
    tasks.spawn(place::run(pool.clone(), clock.clone(), wake, lifecycle.clone()));
    tasks.spawn(taker.run(lifecycle.clone()));
    tasks.spawn(finisher.run(to_finish, lifecycle.clone()));
    tasks.spawn(disable::run(pool.clone(), clock.clone(), lifecycle.clone()));
    tasks.spawn(bring_forward::run(pool.clone(), clock.clone(), lifecycle.clone()));
}

fn start_emails(
    config: &DeliveryConfig,
    pool: &PgPool,
    clock: &Clock,
    lifecycle: &Lifecycle,
) -> anyhow::Result<()> {
    let Some(sender) = config.smtp.sender() else {
        return Ok(());
    };
    let emails = Emails {
        pool: pool.clone(),
        clock: clock.clone(),
        sender: sender?,
        sealing_keys: SealingKeys::from(config.secrets.secrets_keys()),
    };
    let summaries = WeeklySummaries {
        pool: pool.clone(),
        clock: clock.clone(),
        hasher: EmailHasher::from(config.email_hash.email_hash_keys()),
        sealing_keys: SealingKeys::from(config.secrets.secrets_keys()),
        public: config.public.clone(),
    };
    let notices = ProgramNotices {
        pool: pool.clone(),
        clock: clock.clone(),
        hasher: summaries.hasher.clone(),
        public: config.public.clone(),
    };
    lifecycle.tasks().spawn(emails.run(lifecycle.clone()));
    lifecycle.tasks().spawn(notices.run(lifecycle.clone()));
    lifecycle.tasks().spawn(summaries.run(lifecycle.clone()));
    Ok(())
}

/// Covers the longest attempt, and the same time again to write its result.
fn lease(config: &DeliveryConfig) -> TimeDelta {
    let within = TimeDelta::from_std(config.limits.within()).unwrap_or(LONGEST_LEASE);
    (within * 2).clamp(TimeDelta::seconds(5), LONGEST_LEASE)
}
