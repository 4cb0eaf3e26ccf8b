//! Connections to Postgres, with the limits every session carries.

use std::io;
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use sqlx::PgConnection;
use sqlx::postgres::{PgConnectOptions, PgPool, PgPoolOptions};

use super::clock::Clock;
use super::config::PostgresConfig;
use super::retry::{RetryPolicy, retry};

/// For what a process does before it serves. Long enough for a database that is still recovering and a network that breaks,
/// short enough to notice a wrong address at deployment.
pub const STARTUP_RETRY: RetryPolicy = RetryPolicy {
    first_delay: Duration::from_millis(200),
    max_delay: Duration::from_secs(2),
    max_attempts: u32::MAX,
    max_elapsed: Some(Duration::from_secs(30)),
};

/// Beginnings of SQLSTATEs: too many clients for now; the server is starting up or shutting down.
const NOT_NOW: [&str; 2] = ["53", "57P0"];

/// A pool with at least one connection proven to work; waits up to 30 s for the server. `application_name` is what
/// `pg_stat_activity` shows.
pub async fn connect(config: &PostgresConfig, application_name: &str) -> Result<PgPool, sqlx::Error> {
    proven(config, connect_lazily(config, application_name)?).await
}

/// The same for what comes in batches, and finds its rows by key.
///
/// `PostgreSQL` would plan each statement anew for the arrays it is given, which for a record or two takes as long as running
/// it. The plan for any array is the right one for those of this session.
pub async fn connect_for_batches(
    config: &PostgresConfig,
    application_name: &str,
) -> Result<PgPool, sqlx::Error> {
    proven(config, lazy_pool(config, in_batches(config, application_name)?)).await
}

/// The same where batches hold records of many tenants: a row that somebody keeps locked must not hold up all of them. Far
/// longer than a batch holds its locks, and short enough for the others to be settled before their callers give up.
pub async fn connect_for_shared_batches(
    config: &PostgresConfig,
    application_name: &str,
) -> Result<PgPool, sqlx::Error> {
    let session = in_batches(config, application_name)?.options([("lock_timeout", "1s")]);
    proven(config, lazy_pool(config, session)).await
}

fn in_batches(config: &PostgresConfig, application_name: &str) -> Result<PgConnectOptions, sqlx::Error> {
    Ok(writing(config, application_name)?.options([("plan_cache_mode", "force_generic_plan")]))
}

/// A pool that connects on first use, for processes that must start and serve while Postgres is down. Fails only when
/// the address cannot be parsed.
pub fn connect_lazily(config: &PostgresConfig, application_name: &str) -> Result<PgPool, sqlx::Error> {
    Ok(lazy_pool(config, writing(config, application_name)?))
}

/// The same for looking only: nothing can be written, and no look takes long.
pub fn connect_for_reads(config: &PostgresConfig, application_name: &str) -> Result<PgPool, sqlx::Error> {
    let session = session(config, application_name)?.options([
        ("statement_timeout", "5s"),
        ("default_transaction_read_only", "on"),
        // A list of events over all its partitions takes four times as long to plan as to read; the plan is the same
        // for every program and range, because each read is driven by one index.
        ("plan_cache_mode", "force_generic_plan"),
    ]);
    Ok(lazy_pool(config, session))
}

async fn proven(config: &PostgresConfig, pool: PgPool) -> Result<PgPool, sqlx::Error> {
    if config.database_url.is_open_elsewhere() {
        tracing::warn!(
            "DATABASE_URL has no password, and PostgreSQL is on another machine: who reaches it may be let in"
        );
    }
    retry(&STARTUP_RETRY, || pool.acquire(), is_not_up_yet).await?;
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
        // A transaction whose owner vanished holds its row locks; five seconds of that is plenty.
        .options([
            ("idle_in_transaction_session_timeout", "5s"),
            // Compiling a plan takes longer than any of these statements may.
            ("jit", "off"),
        ]))
}

fn lazy_pool(config: &PostgresConfig, session: PgConnectOptions) -> PgPool {
    PgPoolOptions::new()
        .max_connections(config.pool_size)
        .acquire_timeout(config.acquire_timeout())
        // A ping before each use doubles the round trips; whoever meets a dead connection retries anyway.
        .test_before_acquire(false)
        .after_connect(|connection, _| Box::pin(agree_on_the_time(connection)))
        .connect_lazy_with(session)
}

/// `PostgreSQL`'s clock is the installation's: it is in everything that SQL says of now. Connections are made anew every half an
/// hour at least, so a clock that goes wrong later is noticed too.
async fn agree_on_the_time(connection: &mut PgConnection) -> Result<(), sqlx::Error> {
    let asked = Instant::now();
    let theirs: DateTime<Utc> = sqlx::query_scalar("SELECT clock_timestamp()")
        .fetch_one(connection)
        .await?;
    let took = asked.elapsed();
    // What a slow answer says is long past.
    if took < Duration::from_secs(1)
        && let Some(correction) = Clock::agree_with(theirs)
    {
        let seconds = correction.num_seconds();
        tracing::warn!(
            seconds,
            "this machine's clock is corrected to agree with PostgreSQL's"
        );
    }
    Ok(())
}

fn is_not_up_yet(error: &sqlx::Error) -> bool {
    match error {
        // A certificate that does not fit: no waiting mends it.
        sqlx::Error::Io(error) if error.kind() == io::ErrorKind::InvalidData => false,
        // A greeting that breaks off is against the protocol.
        sqlx::Error::Io(_) | sqlx::Error::Protocol(_) | sqlx::Error::PoolTimedOut => true,
        sqlx::Error::Database(error) => error
            .code()
            .is_some_and(|code| NOT_NOW.iter().any(|begin| code.starts_with(begin))),
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
