//! Connections to Postgres, with the limits of every session.

use std::io;
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use sqlx::postgres::{PgConnectOptions, PgPool, PgPoolOptions};
use sqlx::{Connection, PgConnection};

use super::clock::Clock;
use super::config::PostgresConfig;
use super::retry::{RetryPolicy, retry};

/// For the first queries of a process. Long enough for a database in recovery, and short enough to reveal a
/// wrong address during a deployment.
pub const STARTUP_RETRY: RetryPolicy = RetryPolicy {
    first_delay: Duration::from_millis(200),
    max_delay: Duration::from_secs(2),
    max_attempts: u32::MAX,
    max_elapsed: Some(Duration::from_secs(30)),
};

/// SQLSTATE classes of a server that may accept a connection later; `storage` classifies likewise.
const TRANSIENT_SQLSTATES: [&str; 4] = ["08", "53", "57", "58"];

/// When the address moves to another server, an open connection stays with the old one, which may no longer
/// be the primary. The lifetime is short, since opening a connection costs only a few round trips.
const MAX_LIFETIME: Duration = Duration::from_mins(5);

/// A connection that was idle for longer is pinged before its next use. Shorter than a restart takes.
const ASKED_AFTER_IDLE: Duration = Duration::from_millis(100);

/// Far longer than a batch holds its locks. Less than `deadlock_timeout` (one second), after which
/// `PostgreSQL` ends an arbitrary transaction of a deadlock.
const GIVES_WAY_AFTER: &str = "500ms";

/// Opens a pool with one connection, and waits up to 30 s for the server. `pg_stat_activity` shows
/// `application_name`.
pub async fn connect(config: &PostgresConfig, application_name: &str) -> Result<PgPool, sqlx::Error> {
    verify(config, connect_lazily(config, application_name)?).await
}

/// Opens a pool for batches that find their rows by key.
///
/// By default `PostgreSQL` plans each statement again for its arrays. For few records, planning takes as long
/// as running. The generic plan is right for these sessions.
pub async fn connect_for_batches(
    config: &PostgresConfig,
    application_name: &str,
) -> Result<PgPool, sqlx::Error> {
    let session = in_batches(config, application_name)?;
    verify(config, lazy_pool(session, options(config))).await
}

/// Opens a pool for batches with records of many tenants, which are retried when they fail. A batch that
/// waits for a row longer than [`GIVES_WAY_AFTER`] fails. So one locked row does not block the records of
/// other tenants. And when a request and a batch deadlock, the batch fails and the request continues.
pub async fn connect_for_shared_batches(
    config: &PostgresConfig,
    application_name: &str,
) -> Result<PgPool, sqlx::Error> {
    let session = in_batches(config, application_name)?.options([("lock_timeout", GIVES_WAY_AFTER)]);
    verify(config, lazy_pool(session, options(config))).await
}

/// A batch reads a few rows of each table by key. The default costs are made for spinning disks: with them,
/// the generic plan scans a whole table of some thousand rows, even for a batch of one record.
fn in_batches(config: &PostgresConfig, application_name: &str) -> Result<PgConnectOptions, sqlx::Error> {
    Ok(writing(config, application_name)?.options([
        ("plan_cache_mode", "force_generic_plan"),
        ("random_page_cost", "1.1"),
    ]))
}

/// Opens a pool that connects on first use: Postgres may be down at the start. Fails on an invalid URL.
pub fn connect_lazily(config: &PostgresConfig, application_name: &str) -> Result<PgPool, sqlx::Error> {
    let session = writing(config, application_name)?;
    Ok(lazy_pool(session, asking_idle_connections(options(config))))
}

/// Opens a read-only pool with short statements. Its server may be a standby.
pub fn connect_for_reads(config: &PostgresConfig, application_name: &str) -> Result<PgPool, sqlx::Error> {
    let session = session(config, application_name)?.options([
        ("statement_timeout", "5s"),
        ("default_transaction_read_only", "on"),
        // Planning a query over all event partitions takes four times as long as running it. One generic plan
        // fits, because each read uses one index.
        ("plan_cache_mode", "force_generic_plan"),
    ]);
    Ok(asking_idle_connections(options(config))
        .after_connect(|connection, _| Box::pin(async { synchronize_clock(connection).await.map(drop) }))
        .connect_lazy_with(session))
}

async fn verify(config: &PostgresConfig, pool: PgPool) -> Result<PgPool, sqlx::Error> {
    if config.database_url.is_remote_without_password() {
        tracing::warn!(
            "DATABASE_URL has no password, and PostgreSQL is on another machine: it may accept anyone"
        );
    }
    retry(&STARTUP_RETRY, || pool.acquire(), is_transient).await?;
    Ok(pool)
}

fn writing(config: &PostgresConfig, application_name: &str) -> Result<PgConnectOptions, sqlx::Error> {
    Ok(session(config, application_name)?.options([("statement_timeout", "30s")]))
}

fn session(config: &PostgresConfig, application_name: &str) -> Result<PgConnectOptions, sqlx::Error> {
    Ok(config
        .database_url
        .expose()
        .parse::<PgConnectOptions>()?
        .application_name(application_name)
        // The transaction of a disconnected client keeps its row locks; five seconds are enough.
        .options([
            ("idle_in_transaction_session_timeout", "5s"),
            // Compiling a plan takes longer than any of these statements should.
            ("jit", "off"),
        ]))
}

fn lazy_pool(session: PgConnectOptions, options: PgPoolOptions) -> PgPool {
    options
        .after_connect(|connection, _| Box::pin(refuse_standby(connection)))
        .connect_lazy_with(session)
}

fn options(config: &PostgresConfig) -> PgPoolOptions {
    PgPoolOptions::new()
        .max_connections(config.pool_size)
        .acquire_timeout(config.acquire_timeout())
        .max_lifetime(MAX_LIFETIME)
        // A ping before each use would double the round trips. Batches are retried after a dead connection.
        .test_before_acquire(false)
}

/// Pings idle connections before use, for requests, which are not retried: a restart of the server breaks
/// every idle connection, and a request on a broken one fails. Busy connections are rarely pinged.
fn asking_idle_connections(options: PgPoolOptions) -> PgPoolOptions {
    options.before_acquire(|connection, metadata| {
        Box::pin(async move {
            if metadata.idle_for >= ASKED_AFTER_IDLE {
                connection.ping().await?;
            }
            Ok(true)
        })
    })
}

/// During a failover an address may lead to a standby. The pool logs the error and tries again until the
/// caller's timeout. A kept connection would fail each write even after the address leads to the primary.
async fn refuse_standby(connection: &mut PgConnection) -> Result<(), sqlx::Error> {
    let is_read_only = synchronize_clock(connection).await?;
    if is_read_only {
        return Err(io::Error::other("the server is a standby or read-only").into());
    }
    Ok(())
}

/// Corrects the clock to that of `PostgreSQL`, which is authoritative because SQL's `now()` uses it.
/// Connections are replaced every few minutes, so later drift is noticed too. The same round trip returns
/// whether the server is read-only.
async fn synchronize_clock(connection: &mut PgConnection) -> Result<bool, sqlx::Error> {
    let asked = Instant::now();
    let (server_time, is_read_only): (DateTime<Utc>, bool) =
        sqlx::query_as("SELECT clock_timestamp(), current_setting('transaction_read_only')::bool")
            .fetch_one(connection)
            .await?;
    let took = asked.elapsed();
    // The time in a slow answer is outdated.
    if took < Duration::from_secs(1)
        && let Some(correction) = Clock::synchronize(server_time)
    {
        let seconds = correction.num_seconds();
        tracing::warn!(seconds, "clock corrected to PostgreSQL's time");
    }
    Ok(is_read_only)
}

fn is_transient(error: &sqlx::Error) -> bool {
    match error {
        // The certificate is invalid: a retry does not help.
        sqlx::Error::Io(error) if error.kind() == io::ErrorKind::InvalidData => false,
        // A broken-off handshake is a protocol error.
        sqlx::Error::Io(_) | sqlx::Error::Protocol(_) | sqlx::Error::PoolTimedOut => true,
        sqlx::Error::Database(error) => error
            .code()
            .is_some_and(|code| TRANSIENT_SQLSTATES.iter().any(|prefix| code.starts_with(prefix))),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::SecretText;

    fn config(url: &str) -> PostgresConfig {
        PostgresConfig {
            database_url: SecretText::new(url),
            pool_size: 2,
            acquire_timeout_ms: 100,
        }
    }

    #[tokio::test]
    async fn a_lazy_pool_needs_no_server() {
        let pool = connect_lazily(&config("postgres://u@127.0.0.1:1/d"), "test").unwrap();
        assert_eq!(pool.options().get_max_connections(), 2);
        assert_eq!(pool.connect_options().get_application_name(), Some("test"));
    }

    #[test]
    fn an_address_that_is_none_is_an_error() {
        assert!(connect_lazily(&config("nowhere"), "test").is_err());
    }
}
