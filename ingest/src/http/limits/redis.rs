//! Counts in Redis: one script adds to many keys.
//!
//! If an answer takes longer than [`ANSWER_WITHIN`], the connection is treated as lost. A task in the
//! background connects again. A connection is used once a counting script has succeeded on it, because a Redis
//! that is full or cannot write is of no use.

use std::fs;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use anyhow::Context;
use redis::aio::MultiplexedConnection;
use redis::{Client, Script, TlsCertificates};
use runtime::config::RedisConfig;
use runtime::lifecycle::Lifecycle;
use runtime::retry::{RetryPolicy, delays};
use tokio::sync::Notify;

use super::window::Window;

/// How long a request waits for an answer of Redis.
pub const ANSWER_WITHIN: Duration = Duration::from_millis(40);
const CONNECT_WITHIN: Duration = Duration::from_secs(1);
const RECONNECT: RetryPolicy = RetryPolicy::until_shutdown(Duration::from_millis(50), Duration::from_secs(1));

/// The most keys of one script: Redis does nothing else while the script runs.
pub const MAX_KEYS: usize = 256;

/// Adds to each key, and returns the sums. A key's first addition sets its expiry, two windows later.
const ADD: &str = r"
local sums = {}
for i = 1, #KEYS do
  local used = tonumber(ARGV[2 * i - 1])
  local sum = redis.call('INCRBY', KEYS[i], used)
  if sum == used then redis.call('EXPIRE', KEYS[i], ARGV[2 * i]) end
  sums[i] = sum
end
return sums
";

/// A caller's requests under one limit in one window.
#[derive(Debug)]
pub struct Addition {
    /// Names the rule and the caller.
    pub key: String,
    pub window: Window,
    pub number: i64,
    pub used: u64,
}

#[derive(Debug, Clone)]
pub struct RedisCounters(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    script: Script,
    /// The prefix of every key.
    namespace: String,
    connection: RwLock<Option<MultiplexedConnection>>,
    lost: Notify,
}

impl RedisCounters {
    /// Connects in the background: an ingest starts without Redis.
    pub fn start(config: &RedisConfig, installation: &str, lifecycle: &Lifecycle) -> anyhow::Result<Self> {
        let client = client(config)?;
        let shared = Arc::new(Shared {
            script: Script::new(ADD),
            namespace: format!("{installation}:limit"),
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

    pub fn is_connected(&self) -> bool {
        let connection = self.0.connection.read().unwrap_or_else(PoisonError::into_inner);
        connection.is_some()
    }

    /// The sums, in the order of the additions, which are at most [`MAX_KEYS`]. `None` if Redis does not
    /// answer in time: then it may or may not have counted.
    pub async fn add(&self, additions: &[Addition]) -> Option<Vec<u64>> {
        let Self(shared) = self;
        let mut connection = shared.connection()?;
        match shared.add_over(&mut connection, additions).await {
            Ok(sums) if sums.len() == additions.len() => Some(sums),
            _ => {
                shared.lose();
                None
            }
        }
    }
}

fn client(config: &RedisConfig) -> anyhow::Result<Client> {
    if config.redis_url.is_remote_without_password() {
        tracing::warn!(
            "REDIS_URL has no password, and Redis is on another machine: who reaches it may change every count"
        );
    }
    let address = config.redis_url.expose();
    let Some(file) = &config.redis_ca_file else {
        return Client::open(address).context("REDIS_URL");
    };
    let certificates = TlsCertificates {
        client_tls: None,
        root_cert: Some(fs::read(file).with_context(|| format!("REDIS_CA_FILE={}", file.display()))?),
    };
    Client::build_with_tls(address, certificates).context("REDIS_URL with REDIS_CA_FILE")
}

impl Shared {
    fn connection(&self) -> Option<MultiplexedConnection> {
        self.connection
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    async fn add_over(
        &self,
        connection: &mut MultiplexedConnection,
        additions: &[Addition],
    ) -> anyhow::Result<Vec<u64>> {
        let mut call = self.script.prepare_invoke();
        for addition in additions {
            let Addition {
                key,
                window,
                number,
                used,
            } = addition;
            call.key(format!("{}:{key}:{number}", self.namespace))
                .arg(*used)
                .arg(2 * window.seconds());
        }
        Ok(tokio::time::timeout(ANSWER_WITHIN, call.invoke_async(connection)).await??)
    }

    /// Marks the connection as lost: requests skip Redis until the background task has reconnected.
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
        let connection = connect(&client, &shared).await;
        *shared.connection.write().unwrap_or_else(PoisonError::into_inner) = Some(connection);
        shared.lost.notified().await;
    }
}

/// Returns once Redis has counted something over the connection.
async fn connect(client: &Client, shared: &Shared) -> MultiplexedConnection {
    let probe = [Addition {
        key: "probe".to_owned(),
        window: Window::Minute,
        number: 0,
        used: 1,
    }];
    let mut pauses = delays(&RECONNECT);
    // The first failure is logged, so that a wrong password or certificate is seen; an outage must not fill
    // the log.
    let mut is_first = true;
    loop {
        let attempt = async {
            let mut connection = client.get_multiplexed_async_connection().await?;
            shared.add_over(&mut connection, &probe).await?;
            anyhow::Ok(connection)
        };
        match tokio::time::timeout(CONNECT_WITHIN, attempt).await {
            Ok(Ok(connection)) => return connection,
            Ok(Err(error)) if is_first => {
                tracing::warn!(%error, "connecting to Redis failed: rate limits are not shared with other ingests");
            }
            Ok(Err(error)) => tracing::debug!(%error, "connecting to Redis failed"),
            Err(_) => tracing::debug!("connecting to Redis took too long"),
        }
        is_first = false;
        tokio::time::sleep(pauses.next().unwrap_or(CONNECT_WITHIN)).await;
    }
}
