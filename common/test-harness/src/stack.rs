//! A whole service for one test: a database and streams of its own, and an ingest, a worker and optionally a
//! webhook consumer in this process. Dropping it ends the services and deletes database and streams.

use std::net::SocketAddr;
use std::sync::LazyLock;
use std::time::Duration;
use std::{mem, thread};

use async_nats::{ConnectOptions, ServerAddr};
use clap::{CommandFactory, Parser};
use futures::future::join_all;
use messages::subject::Subject;
use reqwest::{Method, StatusCode};
use runtime::clock::Clock;
use runtime::lifecycle::Lifecycle;
use sqlx::{AssertSqlSafe, PgPool, Postgres, Transaction};
use storage::operations::verify::{Violation, divided::divided};
use storage::operations::{partitions, verify};
use testing::{Process, TestDatabase, block_on, free_address, from_environment, unique_name};
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;

use crate::edge::ended;
use crate::program::noon;
use crate::requests::Client;

/// The limit for waiting for something that must happen. It is long, because other tests keep the machine
/// busy.
const PATIENCE: Duration = Duration::from_mins(1);

#[derive(Debug)]
pub struct Stack {
    pub database: TestDatabase,
    pub settings: Vec<(&'static str, String)>,
    pub clock: Clock,
    pub(crate) client: Client,
    services: Vec<Service>,
    workers: Vec<Service>,
}

type Service = (Lifecycle, JoinHandle<anyhow::Result<()>>);

/// The runtime of the services. It lets them end while the test's own runtime blocks in `Drop`.
static SERVICES: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().unwrap());

impl Stack {
    /// One ingest and one worker, on the system's clock.
    pub async fn start() -> Self {
        Self::start_with(Clock::system()).await
    }

    /// As [`Self::start`], on a clock that the test moves.
    pub async fn at_noon() -> Self {
        Self::start_with(Clock::manual(noon())).await
    }

    pub async fn start_with(clock: Clock) -> Self {
        let mut stack = Self::without_services(clock).await;
        stack.start_services().await;
        stack
    }

    /// One ingest and one worker, with these settings instead of the usual ones.
    pub async fn start_set(settings: &[(&'static str, &str)]) -> Self {
        let mut stack = Self::without_services(Clock::system()).await;
        for (name, value) in settings {
            stack.set(name, value);
        }
        stack.start_services().await;
        stack
    }

    /// Changes a setting. Call it before the services start.
    pub fn set(&mut self, name: &'static str, value: &str) {
        self.settings.retain(|(setting, _)| *setting != name);
        self.settings.push((name, value.to_owned()));
    }

    /// The settings of `ctl`, which connects as the owner of the tables.
    pub fn operators_settings(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.settings.iter().map(|(name, value)| {
            let is_services = *name == "DATABASE_URL" && *value == self.database.service_url;
            let value = if is_services { &self.database.url } else { value };
            (*name, value.as_str())
        })
    }

    /// Starts one ingest and one worker with the current settings.
    pub async fn start_services(&mut self) {
        self.start_worker();
        let address = self.start_ingest();
        self.use_ingest(address);
        self.ready().await;
    }

    /// Only the database and the settings.
    pub async fn without_services(clock: Clock) -> Self {
        let stack = Self::on(TestDatabase::create().await, clock);
        // The partitions must exist: otherwise the first worker creates today's while a test inserts its own
        // rows.
        let today = stack.clock.now().date_naive();
        partitions::ensure(stack.pool(), today, 1).await.unwrap();
        partitions::ensure_outbound_days(stack.pool(), today, 1)
            .await
            .unwrap();
        stack
    }

    /// A stack without services, on the given database.
    pub fn on(database: TestDatabase, clock: Clock) -> Self {
        let settings = vec![
            ("DATABASE_URL", database.service_url.clone()),
            // Not a replica, but read with the role that reads a replica.
            ("REPLICA_DATABASE_URL", database.reads_url.clone()),
            ("NATS_URL", from_environment("NATS_URL")),
            ("REDIS_URL", from_environment("REDIS_URL")),
            ("STREAM_PREFIX", unique_name()),
            ("STREAM_MAX_BYTES", (8 << 20).to_string()),
            ("CLICK_ID_KEYS", "11".repeat(32)),
            ("EMAIL_HASH_KEY", "22".repeat(32)),
            ("SECRETS_KEYS", "33".repeat(32)),
            // Tests about limits set their own.
            ("CLICK_LIMIT", "1000000".to_owned()),
            ("LEAD_LIMIT", "1000000".to_owned()),
            ("BROWSER_LEAD_LIMIT", "1000000".to_owned()),
            ("KEYLESS_TEST_LIMIT", "1000000".to_owned()),
            ("MANY_LEADS_PER_LINK", "1000000".to_owned()),
            ("SALE_REFUND_LIMIT", "1000000".to_owned()),
            ("SIGN_IN_LIMIT", "1000000".to_owned()),
            ("MANAGEMENT_LIMIT", "1000000".to_owned()),
            ("UNKNOWN_TOKEN_LIMIT", "1000000".to_owned()),
            ("TRUSTED_PROXIES", "127.0.0.0/8".to_owned()),
            ("WEBHOOK_ALLOW_LOOPBACK", "true".to_owned()),
        ];
        Self {
            database,
            settings,
            clock,
            client: Client::default(),
            services: Vec::new(),
            workers: Vec::new(),
        }
    }

    /// Starts an ingest and returns its address. Requests go to the first ingest, or to the one set by
    /// [`Self::use_ingest`].
    pub fn start_ingest(&mut self) -> SocketAddr {
        let address = free_address();
        let config = ingest::config::Config::parse_from(self.flags::<ingest::config::Config>(address));
        let lifecycle = Lifecycle::new();
        let run = ingest::run(config, self.clock.clone(), lifecycle.clone());
        self.services.push((lifecycle, SERVICES.spawn(run)));
        address
    }

    /// Starts a worker and returns the address of its health endpoints.
    pub fn start_worker(&mut self) -> SocketAddr {
        let address = free_address();
        let config = worker::config::Config::parse_from(self.flags::<worker::config::Config>(address));
        let lifecycle = Lifecycle::new();
        let run = worker::run(config, self.clock.clone(), lifecycle.clone());
        self.workers.push((lifecycle, SERVICES.spawn(run)));
        address
    }

    /// Starts a worker in the delivery role and returns the address of its health endpoints. It may send to
    /// loopback.
    pub fn start_delivery(&mut self) -> SocketAddr {
        use worker::delivery::config::DeliveryConfig;
        let address = free_address();
        let config = DeliveryConfig::parse_from(self.flags::<DeliveryConfig>(address));
        let lifecycle = Lifecycle::new();
        let run = worker::delivery::run(config, self.clock.clone(), lifecycle.clone());
        self.workers.push((lifecycle, SERVICES.spawn(run)));
        address
    }

    /// Starts a webhook consumer and returns its address.
    pub fn start_webhook_consumer(&mut self) -> SocketAddr {
        let address = free_address();
        let flags = self.flags::<webhook_consumer::config::Config>(address);
        let config = webhook_consumer::config::Config::parse_from(flags);
        let lifecycle = Lifecycle::new();
        let run = webhook_consumer::run(config, self.clock.clone(), lifecycle.clone());
        self.services.push((lifecycle, SERVICES.spawn(run)));
        address
    }

    /// Starts a worker that must fail to start. Returns the error.
    pub async fn worker_that_ends(&self) -> String {
        let config = worker::config::Config::parse_from(self.flags::<worker::config::Config>(free_address()));
        error_of(Box::pin(worker::run(
            config,
            self.clock.clone(),
            Lifecycle::new(),
        )))
        .await
    }

    /// Starts a worker in the delivery role that must fail to start. Returns the error.
    pub async fn delivery_that_ends(&self) -> String {
        use worker::delivery::config::DeliveryConfig;
        let config = DeliveryConfig::parse_from(self.flags::<DeliveryConfig>(free_address()));
        error_of(worker::delivery::run(
            config,
            self.clock.clone(),
            Lifecycle::new(),
        ))
        .await
    }

    /// Starts a process of its own that crashes at this point.
    pub fn crashing(&self, binary: &str, address: SocketAddr, crash_point: &str) -> Process {
        let mut settings = self.environment(address);
        settings.push(("CRASH_AT", crash_point.to_owned()));
        Process::start(binary, &settings)
    }

    /// Runs a process of its own with these further settings, and asserts that it fails.
    pub async fn fails(&self, binary: &str, more: &[(&'static str, &str)]) {
        let mut settings = self.environment(free_address());
        settings.extend(more.iter().map(|(name, value)| (*name, (*value).to_owned())));
        let process = Process::start(binary, &settings);
        assert!(!ended(process).await.success());
    }

    /// Ends the workers in this process, as a signal would.
    pub async fn stop_workers(&mut self) {
        for worker in mem::take(&mut self.workers) {
            stop(worker).await.unwrap();
        }
    }

    pub fn use_ingest(&mut self, address: SocketAddr) {
        self.client.use_ingest(address);
    }

    /// The settings as the environment of a process that listens on `address`.
    pub fn environment(&self, address: SocketAddr) -> Vec<(&'static str, String)> {
        let mut settings = self.settings.clone();
        settings.push(("LISTEN", address.to_string()));
        settings
    }

    /// The settings of this service as flags, to run it in this process.
    fn flags<C: CommandFactory>(&self, address: SocketAddr) -> Vec<String> {
        let command = C::command();
        let flag = |setting: &str| setting.to_lowercase().replace('_', "-");
        let mut flags = vec![command.get_name().to_owned()];
        for (setting, value) in self.environment(address) {
            let name = flag(setting);
            let mut arguments = command.get_arguments();
            let Some(argument) = arguments.find(|argument| argument.get_long() == Some(&name)) else {
                continue;
            };
            // A switch has no value.
            if argument.get_action().takes_values() {
                flags.extend([format!("--{name}"), value]);
            } else if value == "true" {
                flags.push(format!("--{name}"));
            }
        }
        flags
    }

    /// Waits until `/readyz` of the ingest answers 200.
    pub async fn ready(&self) {
        self.eventually("ingest is ready", async || {
            let answer = self.request(Method::GET, "/readyz").send().await;
            answer.is_ok_and(|answer| answer.status() == StatusCode::OK)
        })
        .await;
    }

    /// Polls until the condition holds, for at most [`PATIENCE`]. Tests assert no other timing.
    pub async fn eventually(&self, what: &str, holds: impl AsyncFn() -> bool) {
        assert!(self.soon(holds).await, "in vain: {what}");
    }

    async fn soon(&self, holds: impl AsyncFn() -> bool) -> bool {
        let wait = async {
            while !holds().await {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(PATIENCE, wait).await.is_ok()
    }

    /// Blocks writes of clicks until the transaction ends.
    pub async fn hold_up_clicks(&self) -> Transaction<'static, Postgres> {
        self.holding("LOCK TABLE click_events IN SHARE MODE").await
    }

    /// A transaction that has run this statement, and holds its locks.
    pub async fn holding(&self, statement: &str) -> Transaction<'static, Postgres> {
        let mut transaction = self.pool().begin().await.unwrap();
        sqlx::raw_sql(AssertSqlSafe(statement.to_owned()))
            .execute(&mut *transaction)
            .await
            .unwrap();
        transaction
    }

    /// Commits once this many of the database's sessions wait for a lock.
    pub async fn release(&self, held: Transaction<'static, Postgres>, sessions: i64) {
        self.locked_out("requests wait for the lock", sessions).await;
        held.commit().await.unwrap();
    }

    pub fn pool(&self) -> &PgPool {
        &self.database.pool
    }

    /// The only value of a query's only row.
    pub async fn value<T>(&self, query: &str) -> T
    where
        T: for<'r> sqlx::Decode<'r, Postgres> + sqlx::Type<Postgres> + Send + Unpin,
    {
        let query = sqlx::query_scalar(AssertSqlSafe(query.to_owned()));
        query.fetch_one(self.pool()).await.unwrap()
    }

    /// The only value of each row of a query.
    pub async fn values<T>(&self, query: &str) -> Vec<T>
    where
        T: for<'r> sqlx::Decode<'r, Postgres> + sqlx::Type<Postgres> + Send + Unpin,
    {
        let query = sqlx::query_scalar(AssertSqlSafe(query.to_owned()));
        query.fetch_all(self.pool()).await.unwrap()
    }

    /// Number of rows in a table. A condition may follow the table's name.
    pub async fn count(&self, rows: &str) -> i64 {
        let query = AssertSqlSafe(format!("SELECT count(*) FROM {rows}"));
        sqlx::query_scalar(query).fetch_one(self.pool()).await.unwrap()
    }

    /// Number of the database's sessions that fit this condition on `pg_stat_activity`.
    pub async fn sessions(&self, condition: &str) -> i64 {
        let sessions = format!("pg_stat_activity WHERE datname = current_database() AND {condition}");
        self.count(&sessions).await
    }

    /// Waits until this many of the database's sessions wait for a lock.
    pub async fn locked_out(&self, what: &str, sessions: i64) {
        self.eventually(what, async || {
            self.sessions("wait_event_type = 'Lock'").await >= sessions
        })
        .await;
    }

    /// Waits until a table has this many rows. A condition may follow the table's name.
    pub async fn reaches(&self, rows: &str, count: i64) {
        let what = format!("{count} {rows}");
        let holds = async || self.count(rows).await == count;
        self.eventually(&what, holds).await;
    }

    /// Asserts that no invariant is violated. Clicks are written after the answer, so this waits for their
    /// counters.
    pub async fn verify(&self) {
        let violations = async || verify::violations(self.pool()).await.unwrap();
        let followed = self.soon(async || violations().await.is_empty()).await;
        assert!(followed, "counters do not follow: {:#?}", violations().await);
        let mut connection = self.pool().acquire().await.unwrap();
        let in_slices = divided(&mut connection, None, |_, _| {}).await.unwrap();
        assert_eq!(in_slices.violations, []);
    }

    /// The invariants that are violated now.
    pub async fn broken(&self) -> Vec<&'static str> {
        names(&verify::violations(self.pool()).await.unwrap())
    }

    /// The invariants that a damage breaks while it lasts.
    pub async fn broken_by(&self, damage: &str) -> Vec<&'static str> {
        // Bypasses foreign keys and triggers: they prevent most damages, but are not tested here.
        let statements = format!("SET LOCAL session_replication_role = replica; {damage}");
        let mut transaction = self.holding(&statements).await;
        let violations = names(&verify::violations_on(&mut transaction).await.unwrap());
        let in_slices = divided(&mut transaction, None, |_, _| {}).await.unwrap();
        transaction.rollback().await.unwrap();
        let in_slices = names(&in_slices.violations);
        assert_eq!(
            in_slices, violations,
            "{damage}: slice by slice the same is found"
        );
        violations
    }
}

fn names(violations: &[Violation]) -> Vec<&'static str> {
    violations.iter().map(|violation| violation.invariant).collect()
}

async fn error_of(run: impl Future<Output = anyhow::Result<()>>) -> String {
    let ended = tokio::time::timeout(PATIENCE, run).await;
    format!("{:#}", ended.unwrap().unwrap_err())
}

impl Drop for Stack {
    /// Ends the services concurrently, as a signal would. Each must end without an error, unless the test has
    /// already failed.
    fn drop(&mut self) {
        let services = mem::take(&mut self.services).into_iter();
        let services = services.chain(mem::take(&mut self.workers)).map(stop);
        let settings = &self.settings;
        let ended = block_on(async move {
            let ended: anyhow::Result<Vec<()>> = join_all(services).await.into_iter().collect();
            ended.and(drop_streams(settings).await)
        });
        if !thread::panicking() {
            ended.unwrap();
        }
    }
}

async fn stop((lifecycle, service): Service) -> anyhow::Result<()> {
    lifecycle.shut_down();
    service.await??;
    lifecycle.tasks().close();
    lifecycle.tasks().wait().await;
    Ok(())
}

/// Deletes the test's streams. A server reserves the maximum size of each stream, so the streams of many
/// tests would exceed any disk. A server of the test's own is deleted with its streams.
async fn drop_streams(settings: &[(&'static str, String)]) -> anyhow::Result<()> {
    let setting = |name: &str| settings.iter().find(|(setting, _)| *setting == name);
    let (Some((_, url)), Some((_, prefix))) = (setting("NATS_URL"), setting("STREAM_PREFIX")) else {
        return Ok(());
    };
    if *url != from_environment("NATS_URL") {
        return Ok(());
    }
    let server: ServerAddr = url.parse()?;
    // The client does not take the user from an address by itself.
    let options = match (server.username(), server.password()) {
        (Some(user), Some(password)) => {
            ConnectOptions::with_user_and_password(user.to_owned(), password.to_owned())
        }
        _ => ConnectOptions::new(),
    };
    let jetstream = async_nats::jetstream::new(options.connect(server).await?);
    for subject in Subject::ALL {
        // A test without services has no streams.
        let _ = jetstream.delete_stream(subject.stream_name(prefix)).await;
    }
    Ok(())
}
