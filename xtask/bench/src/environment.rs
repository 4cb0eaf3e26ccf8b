//! The environment of a benchmark: running servers, a migrated database with a market, services of the
//! release build.
//!
//! The servers are as durable as in production: Postgres with `fsync` and `synchronous_commit` on, JetStream
//! with `sync_interval: always`. Checkpoints run between measurements, never during one.

use std::fs::File;
use std::net::{Ipv4Addr, SocketAddr};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use async_nats::jetstream;
use harness::area::{Area, Checkout};
use harness::env_file::EnvFile;
use harness::environment::Environment;
use harness::interrupt::Interrupt;
use harness::keys;
use harness::ports::Ports;
use harness::process::{self, Running, in_own_session};
use harness::progress::{Step, note};
use harness::servers::Servers;
use harness::services::{Service, ctl, start_as, wait_until_ready};
use sqlx::postgres::PgPoolOptions;
use sqlx::{AssertSqlSafe, PgPool};
use tokio::runtime::Runtime;

use super::load::{Load, Requests};
use super::market::{Market, Size};
use super::outcome::Outcome;
use super::requests::{Clicks, Target};
use super::streams;
use super::usage::{Memory, Usage};

/// Size of a stream, which NATS reserves on the disk: enough for the clicks of one measurement.
const STREAM_MAX_BYTES: u64 = 3 << 29;
const DRAIN_LIMIT: Duration = Duration::from_mins(5);
/// So that no checkpoint starts during a measurement.
const POSTGRES_SETTINGS: [&str; 2] = ["max_wal_size = '8GB'", "checkpoint_timeout = '30min'"];

pub(super) struct BenchEnvironment<'a> {
    pub(super) checkout: Checkout,
    pub(super) area: Area,
    pub(super) running: Running,
    pub(super) servers: Servers,
    pub(super) env: EnvFile,
    pub(super) runtime: Runtime,
    pub(super) interrupt: &'a Interrupt,
    pub(super) pool: PgPool,
    pub(super) market: Arc<Market>,
    ports: Ports,
    /// The first client that no earlier load used.
    fresh_clients: u64,
    _lock: File,
}

/// Concurrent loads with their requests.
pub(super) type Group = Vec<(Load, Box<dyn Requests + Send>)>;

/// The most clients of a load.
const CLIENTS_A_LOAD: u64 = 300_000;

impl<'a> BenchEnvironment<'a> {
    /// `checkout`: with the release binaries.
    pub(super) fn open(checkout: &Checkout, size: &Size, interrupt: &'a Interrupt) -> Result<Self> {
        let Environment {
            running,
            servers,
            area,
            lock,
            ..
        } = Environment::start(checkout, checkout.bench_area(), interrupt)?;
        let checkout = checkout.released();
        let env = service_env(&area, &servers)?;
        let runtime = Runtime::new()?;
        let step = Step::start("Migrating, and setting up the market");
        process::output(ctl(&checkout, &env).arg("migrate"))?;
        let (pool, market) = runtime.block_on(async {
            let pool = connect(&servers.database_url).await?;
            tune(&pool).await?;
            let market = Market::create(&pool, size).await?;
            anyhow::Ok((pool, market))
        })?;
        step.done("set up");
        Ok(Self {
            ports: Ports::of(&area)?,
            checkout,
            area,
            running,
            servers,
            env,
            runtime,
            interrupt,
            pool,
            market: Arc::new(market),
            fresh_clients: 0,
            _lock: lock,
        })
    }

    /// Runs `ctl`.
    pub(super) fn ctl(&self, args: &[&str]) -> Result<String> {
        process::output(ctl(&self.checkout, &self.env).args(args))
    }

    /// Starts a program of the service under a name, and returns once it is ready.
    pub(super) fn start(&mut self, name: &'static str, program: &str) -> Result<SocketAddr> {
        self.start_by(name, in_own_session(self.checkout.bin_dir.join(program)))
    }

    /// [`Self::start`] by another command, such as a profiler's.
    pub(super) fn start_by(&mut self, name: &'static str, command: Command) -> Result<SocketAddr> {
        let service = start_as(
            name,
            command,
            &self.checkout,
            &self.area,
            &self.env,
            &mut self.ports,
            &mut self.running,
        )?;
        self.wait_for(service)
    }

    /// Starts a baseline, as [`crate::serve`] names them, with its own database if it needs one.
    pub(super) fn start_other(
        &mut self,
        name: &'static str,
        what: &str,
        env: &[(&str, &str)],
    ) -> Result<SocketAddr> {
        let port = self.ports.choose(name, None)?;
        let mut command = in_own_session(std::env::current_exe()?);
        command.args(["serve", what]).envs(env.iter().copied());
        command.env("LISTEN", format!("127.0.0.1:{port}"));
        self.running.start(name, command, self.area.log(name))?;
        self.wait_for(Service { name, port })
    }

    fn wait_for(&mut self, service: Service) -> Result<SocketAddr> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, service.port));
        wait_until_ready(&[service], &self.area, &mut self.running, self.interrupt)?;
        Ok(address)
    }

    /// Creates another database on the same server, migrated, with a market of the same size.
    pub(super) fn other_database(&self, name: &str) -> Result<(String, PgPool)> {
        let (server, _) = self
            .servers
            .database_url
            .rsplit_once('/')
            .context("the database has no name")?;
        let url = format!("{server}/{name}");
        self.runtime
            .block_on(sqlx::raw_sql(AssertSqlSafe(format!("CREATE DATABASE {name}"))).execute(&self.pool))?;
        let mut env = self.env.clone();
        env.set("DATABASE_URL", &url);
        process::output(ctl(&self.checkout, &env).arg("migrate"))?;
        let pool = self.runtime.block_on(async {
            let pool = connect(&url).await?;
            Market::create(&pool, &self.market.size).await?;
            anyhow::Ok(pool)
        })?;
        Ok((url, pool))
    }

    pub(super) fn stop(&mut self, name: &str) -> Result<()> {
        self.running.stop(name)
    }

    /// Runs a load, and measures its cost.
    pub(super) fn run(&mut self, load: &Load, requests: &mut dyn Requests) -> Result<Measured> {
        self.running.check()?;
        let batches_before = self.batches()?;
        let before = Usage::now(&self.running);
        let outcome = load.run(requests, self.interrupt)?;
        let after = Usage::now(&self.running);
        self.running.check()?;
        let batches = self.batches()?;
        Ok(Measured {
            costs: after.per_request(&before, outcome.ok(), outcome.driver_cpu),
            records_a_message: self.packing(&batches_before, &batches)?,
            commits: batches.commits - batches_before.commits,
            outcome,
        })
    }

    /// Of ingest and worker.
    pub(super) fn memory(&self) -> Vec<(&'static str, Memory)> {
        ["ingest", "worker"]
            .into_iter()
            .filter_map(|name| Some((name, Memory::of(&self.running.process(name)?))))
            .collect()
    }

    /// Records in a message, of the stream with the most messages.
    fn packing(&self, before: &Batches, after: &Batches) -> Result<Vec<usize>> {
        let grown = streams::FUNNEL
            .into_iter()
            .zip(before.last_messages.into_iter().zip(after.last_messages));
        match grown.max_by_key(|(_, (before, after))| after - before) {
            Some((subject, (before, after))) if after > before => {
                let context = self.jetstream()?;
                self.runtime
                    .block_on(streams::records_a_message(&context, subject, before, after))
            }
            _ => Ok(Vec::new()),
        }
    }

    fn batches(&self) -> Result<Batches> {
        let context = self.jetstream()?;
        Ok(Batches {
            last_messages: self.runtime.block_on(streams::last_messages(&context))?,
            commits: self
                .count("SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()")?,
        })
    }

    /// Runs all loads concurrently, each on its own thread.
    pub(super) fn together(&mut self, group: Group) -> Result<Vec<Outcome>> {
        self.running.check()?;
        let interrupt = self.interrupt;
        let outcomes: Result<Vec<_>> = std::thread::scope(|scope| {
            let threads: Vec<_> = group
                .into_iter()
                .map(|(load, mut requests)| scope.spawn(move || load.run(&mut *requests, interrupt)))
                .collect();
            let outcomes = threads.into_iter().map(|thread| match thread.join() {
                Ok(outcome) => outcome,
                Err(panic) => std::panic::resume_unwind(panic),
            });
            outcomes.collect()
        });
        self.running.check()?;
        outcomes
    }

    /// Clicks of new clients.
    pub(super) fn clicks(&mut self, target: Target) -> Clicks {
        self.fresh_clients += CLIENTS_A_LOAD;
        Clicks {
            target,
            from: self.fresh_clients,
        }
    }

    /// Waits until everything is settled, empties the streams, and flushes to the disk.
    pub(super) fn settle(&mut self) -> Result<()> {
        self.drain()?;
        self.checkpoint()
    }

    pub(super) fn checkpoint(&self) -> Result<()> {
        self.execute("CHECKPOINT")
    }

    pub(super) fn execute(&self, sql: &'static str) -> Result<()> {
        self.runtime.block_on(sqlx::raw_sql(sql).execute(&self.pool))?;
        Ok(())
    }

    fn drain(&mut self) -> Result<()> {
        let context = self.jetstream()?;
        let mut left = 0;
        let empty = self.interrupt.wait_until(DRAIN_LIMIT, || {
            self.running.check()?;
            // An unpublished claim is in no stream.
            let unsettled = self.runtime.block_on(trials::unsettled(&context))?;
            left = unsettled.into_iter().map(|(_, messages)| messages).sum::<u64>()
                + self.count("SELECT count(*) FROM transaction_claims WHERE state = 'open'")?;
            Ok(left == 0)
        })?;
        ensure!(
            empty,
            "the workers still have {left} messages or claims to settle"
        );
        self.runtime.block_on(streams::purge(&context))
    }

    pub(super) fn jetstream(&self) -> Result<jetstream::Context> {
        self.runtime.block_on(trials::jetstream(&self.servers))
    }

    /// The sum of all link counters.
    pub(super) fn stored_clicks(&self) -> Result<u64> {
        self.count("SELECT coalesce(sum(clicks), 0)::bigint FROM referral_links")
    }

    pub(super) fn count(&self, sql: &'static str) -> Result<u64> {
        let count: i64 = self
            .runtime
            .block_on(sqlx::query_scalar(sql).fetch_one(&self.pool))?;
        Ok(u64::try_from(count)?)
    }
}

/// A load and its costs.
pub(super) struct Measured {
    pub(super) outcome: Outcome,
    /// CPU µs a request, of each process.
    pub(super) costs: Vec<(String, f64)>,
    /// A sample of the stream's messages, ascending; empty if none were published.
    pub(super) records_a_message: Vec<usize>,
    /// Of the service's database, as far as its statistics are current.
    pub(super) commits: u64,
}

/// Counted since the servers started.
struct Batches {
    last_messages: [u64; streams::FUNNEL.len()],
    commits: u64,
}

async fn connect(url: &str) -> Result<PgPool> {
    Ok(PgPoolOptions::new().max_connections(4).connect(url).await?)
}

async fn tune(pool: &PgPool) -> Result<()> {
    for setting in POSTGRES_SETTINGS {
        sqlx::raw_sql(AssertSqlSafe(format!("ALTER SYSTEM SET {setting}")))
            .execute(pool)
            .await?;
    }
    sqlx::raw_sql("SELECT pg_reload_conf()").execute(pool).await?;
    for durable in ["fsync", "synchronous_commit", "full_page_writes"] {
        let setting: String = sqlx::query_scalar("SELECT current_setting($1)")
            .bind(durable)
            .fetch_one(pool)
            .await?;
        ensure!(
            setting == "on",
            "Postgres has {durable} = {setting}: figures would mean nothing"
        );
    }
    Ok(())
}

fn service_env(area: &Area, servers: &Servers) -> Result<EnvFile> {
    let mut env = keys::read_or_create(area)?;
    env.set_all(servers.urls());
    env.set("STREAM_MAX_BYTES", STREAM_MAX_BYTES.to_string());
    // A few dozen keys send all sales, and one session all reads. The limiter counts them, and never refuses.
    env.set("SALE_REFUND_LIMIT", u32::MAX.to_string());
    env.set("MANAGEMENT_LIMIT", u32::MAX.to_string());
    // All connections are opened before the first one is used.
    env.set("HEADER_READ_TIMEOUT_MS", "60000");
    if servers.nats.is_none() {
        note("NATS is external: whether it syncs every message is unknown");
    }
    Ok(env)
}
