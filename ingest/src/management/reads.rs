//! Database connections for the dashboard's lists and reports of events: to a replica if one is configured.
//!
//! Rights are never read here: they must be current, and a replica lags.

use std::time::Duration;

use domain::ids::WorkspaceId;
use runtime::config::PostgresConfig;
use runtime::metrics::serve::Sources;
use runtime::postgres;
use sqlx::pool::PoolConnection;
use sqlx::{Connection, PgPool, Postgres};

use crate::config::Config;
use crate::management::prelude::*;
use crate::management::workspace_limit::{WorkspaceLimit, WorkspacePermit};

/// A replica that gives no connection within this time counts as down; the primary is read instead.
const REPLICA_PATIENCE: Duration = Duration::from_millis(500);
/// The most live streams and exports at once, in all and for one workspace; further ones are shed.
const LIVE_STREAMS: (usize, usize) = (32, 8);
const EXPORTS: (usize, usize) = (4, 2);

#[derive(Debug, Clone)]
pub struct Reads {
    pool: PgPool,
    /// Read while the replica cannot be reached; `None` if `pool` already connects to the primary.
    primary: Option<PgPool>,
    live_streams: WorkspaceLimit,
    exports: WorkspaceLimit,
}

impl Reads {
    pub fn connect(config: &Config, primary: PgPool) -> Result<Self, sqlx::Error> {
        let database_url = config.dashboard.replica_database_url.clone();
        let has_replica = database_url.is_some();
        let settings = PostgresConfig {
            database_url: database_url.unwrap_or_else(|| config.service.postgres.database_url.clone()),
            pool_size: config.dashboard.reads_pool_size,
            ..config.service.postgres.clone()
        };
        Ok(Self {
            pool: postgres::connect_for_reads(&settings, "ingest reads")?,
            primary: has_replica.then_some(primary),
            live_streams: WorkspaceLimit::new(LIVE_STREAMS.0, LIVE_STREAMS.1),
            exports: WorkspaceLimit::new(EXPORTS.0, EXPORTS.1),
        })
    }

    pub fn show(&self, sources: Sources) -> Sources {
        sources.pool("reads", &self.pool)
    }

    pub async fn acquire(&self) -> Result<PoolConnection<Postgres>, sqlx::Error> {
        let Some(primary) = &self.primary else {
            return self.pool.acquire().await;
        };
        match tokio::time::timeout(REPLICA_PATIENCE, answering(&self.pool)).await {
            Ok(Ok(connection)) => return Ok(connection),
            Ok(Err(error)) => tracing::warn!(%error, "replica read failed, reading the primary"),
            Err(_) => tracing::warn!("replica timed out, reading the primary"),
        }
        primary.acquire().await
    }

    pub fn live_stream(&self, workspace_id: WorkspaceId) -> Result<WorkspacePermit, ApiError> {
        self.live_streams.take(workspace_id)
    }

    pub fn export(&self, workspace_id: WorkspaceId) -> Result<WorkspacePermit, ApiError> {
        self.exports.take(workspace_id)
    }
}

async fn answering(pool: &PgPool) -> Result<PoolConnection<Postgres>, sqlx::Error> {
    let mut connection = pool.acquire().await?;
    match connection.ping().await {
        Ok(()) => Ok(connection),
        Err(error) => {
            // The pool would hand out the dead connection again.
            drop(connection.detach());
            Err(error)
        }
    }
}
