//! Counting in Redis: one script a request, pipelined over one connection.
//!
//! The connection is made and made again in the background. A request never waits for it: without one, or when an
//! answer is late, the caller counts elsewhere.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use anyhow::Context;
use common::runtime::config::RedisConfig;
use common::runtime::lifecycle::Lifecycle;
use common::runtime::retry::{RetryPolicy, delays};
use redis::aio::MultiplexedConnection;
use redis::{Client, Script};
use tokio::sync::Notify;

use super::Count;

/// How long an answer is waited for before the request is counted in the process.
pub const ANSWER_WITHIN: Duration = Duration::from_millis(40);
const CONNECT_WITHIN: Duration = Duration::from_secs(1);
const RECONNECT: RetryPolicy = RetryPolicy::until_shutdown(Duration::from_millis(50), Duration::from_secs(1));

/// Counts by the minute of Redis' own clock, so that ingests need not agree on the time. Count and expiry are set
/// together: a counter cannot outlive its minute by more than one.
const COUNT: &str = r"
local now = tonumber(redis.call('TIME')[1])
local key = KEYS[1] .. ':' .. math.floor(now / 60)
local used = redis.call('INCR', key)
if used == 1 then redis.call('EXPIRE', key, 120) end
return {used, now}
";

#[derive(Debug, Clone)]
pub struct RedisCounters(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    script: Script,
    connection: RwLock<Option<MultiplexedConnection>>,
    lost: Notify,
}

impl RedisCounters {
    /// Connects in the background: an ingest starts without Redis.
    pub fn start(config: &RedisConfig, lifecycle: &Lifecycle) -> anyhow::Result<Self> {
        let client = Client::open(config.redis_url.expose()).context("REDIS_URL")?;
        let shared = Arc::new(Shared {
            script: Script::new(COUNT),
            connection: RwLock::new(None),
            lost: Notify::new(),
        });
        let (stop, keep) = (
            lifecycle.soft().clone(),
            keep_connected(client, Arc::clone(&shared)),
        );
        lifecycle
            .tasks()
            .spawn(async move { stop.run_until_cancelled(keep).await });
        Ok(Self(shared))
    }

    /// `None` when Redis cannot be asked in time.
    pub async fn count(&self, key: &str) -> Option<Count> {
        let mut connection = self
            .0
            .connection
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()?;
        let call = self.0.script.key(format!("limit:{key}"));
        let counting = call.invoke_async::<(u64, i64)>(&mut connection);
        let answer = tokio::time::timeout(ANSWER_WITHIN, counting).await;
        if let Ok(Ok((used, now))) = answer {
            return Some(Count { used, now });
        }
        self.0.lose();
        None
    }
}

impl Shared {
    /// The next requests do not try; the background does.
    fn lose(&self) {
        if self
            .connection
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
            .is_some()
        {
            self.lost.notify_one();
        }
    }
}

async fn keep_connected(client: Client, shared: Arc<Shared>) {
    loop {
        let connection = connect(&client, &shared.script).await;
        *shared.connection.write().unwrap_or_else(PoisonError::into_inner) = Some(connection);
        shared.lost.notified().await;
    }
}

/// Until it works; a connection counts once the script has been loaded over it.
async fn connect(client: &Client, script: &Script) -> MultiplexedConnection {
    let mut pauses = delays(&RECONNECT);
    loop {
        let attempt = async {
            let mut connection = client.get_multiplexed_async_connection().await?;
            script.prepare_invoke().load_async(&mut connection).await?;
            Ok::<_, redis::RedisError>(connection)
        };
        match tokio::time::timeout(CONNECT_WITHIN, attempt).await {
            Ok(Ok(connection)) => return connection,
            Ok(Err(error)) => tracing::debug!(%error, "connecting to Redis failed"),
            Err(_) => tracing::debug!("connecting to Redis took too long"),
        }
        tokio::time::sleep(pauses.next().unwrap_or(CONNECT_WITHIN)).await;
    }
}
