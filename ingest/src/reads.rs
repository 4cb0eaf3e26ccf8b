//! Connections for what the dashboard shows of events and their sums: a replica's where there is one.
//!
//! Rights are never read here: they must be what they are now, and a replica lags.

use std::sync::Arc;
use std::time::Duration;

use common::runtime::config::PostgresConfig;
use common::runtime::postgres;
use sqlx::pool::PoolConnection;
use sqlx::{Connection, PgPool, Postgres};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::config::Config;
use crate::error::ApiError;

/// A replica that does not give a connection in this time counts as gone: those who wait still get their answer.
const REPLICA_PATIENCE: Duration = Duration::from_millis(500);
/// Live streams and exports that may run at once; further ones are shed.
const LIVE_STREAMS: usize = 32;
const EXPORTS: usize = 4;

#[derive(Debug, Clone)]
pub struct Reads {
    pool: PgPool,
    /// Where to read while the replica cannot be reached; `None` when `pool` is the database's own.
    primary: Option<PgPool>,
    live_streams: Arc<Semaphore>,
    exports: Arc<Semaphore>,
}

impl Reads {
    pub fn connect(config: &Config, primary: PgPool) -> Result<Self, sqlx::Error> {
        let database_url = config.replica_database_url.clone();
        let has_replica = database_url.is_some();
        let settings = PostgresConfig {
            database_url: database_url.unwrap_or_else(|| config.postgres.database_url.clone()),
            pool_size: config.reads_pool_size,
            ..config.postgres.clone()
        };
        Ok(Self {
            pool: postgres::connect_for_reads(&settings, "ingest reads")?,
            primary: has_replica.then_some(primary),
            live_streams: Arc::new(Semaphore::new(LIVE_STREAMS)),
            exports: Arc::new(Semaphore::new(EXPORTS)),
        })
    }

    pub async fn acquire(&self) -> Result<PoolConnection<Postgres>, sqlx::Error> {
        let Some(primary) = &self.primary else {
            return self.pool.acquire().await;
        };
        match tokio::time::timeout(REPLICA_PATIENCE, answering(&self.pool)).await {
            Ok(Ok(connection)) => return Ok(connection),
            Ok(Err(error)) => tracing::warn!(%error, "the replica cannot be read"),
            Err(_) => tracing::warn!("the replica gives no connection in time"),
        }
        primary.acquire().await
    }

    /// The place of a stream without end, for as long as it is held.
    pub fn live_stream(&self) -> Result<OwnedSemaphorePermit, ApiError> {
        place(&self.live_streams)
    }

    pub fn export(&self) -> Result<OwnedSemaphorePermit, ApiError> {
        place(&self.exports)
    }
}

fn place(places: &Arc<Semaphore>) -> Result<OwnedSemaphorePermit, ApiError> {
    Arc::clone(places)
        .try_acquire_owned()
        .map_err(|_| ApiError::Overloaded)
}

/// A connection that is more than a memory of one.
async fn answering(pool: &PgPool) -> Result<PoolConnection<Postgres>, sqlx::Error> {
    let mut connection = pool.acquire().await?;
    match connection.ping().await {
        Ok(()) => Ok(connection),
        Err(error) => {
            // Back in the pool it would be handed out again.
            drop(connection.detach());
            Err(error)
        }
    }
}
