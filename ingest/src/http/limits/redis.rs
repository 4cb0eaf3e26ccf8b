//! Counting in Redis: one script for all requests that arrived together.
//!
//! Requests that wait while a script is on its way go together in the next one ([`Batcher`]); the answer of a script is
//! waited for [`ANSWER_WITHIN`], and all of its requests are counted elsewhere when it is late. The connection is made and
//! made again in the background. A request never waits for it.

use std::fs;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use anyhow::Context;
use redis::aio::MultiplexedConnection;
use redis::{Client, Script, TlsCertificates};
use runtime::batch::{Batcher, Bounds};
use runtime::config::RedisConfig;
use runtime::lifecycle::Lifecycle;
use runtime::retry::{RetryPolicy, delays};
use tokio::sync::Notify;

use super::window::{Count, Window};

/// How long an answer is waited for before the request is counted in the process.
pub const ANSWER_WITHIN: Duration = Duration::from_millis(40);
const CONNECT_WITHIN: Duration = Duration::from_secs(1);
const RECONNECT: RetryPolicy = RetryPolicy::until_shutdown(Duration::from_millis(50), Duration::from_secs(1));

/// Keys counted by one script: Redis does nothing else meanwhile.
const MAX_KEYS: usize = 256;
const QUEUE: usize = 16_384;
/// One script is counted while the next is written.
const IN_FLIGHT: usize = 2;
/// As short as a timer can be.
const PACE: Duration = Duration::from_millis(1);

/// Counts each key in windows of as many seconds as its argument says, by Redis' own clock, so that ingests need not agree
/// on the time. Count and expiry are set together: a counter cannot outlive its window by more than one.
const COUNT: &str = r"
local now = tonumber(redis.call('TIME')[1])
local answer = {now}
for i = 1, #KEYS do
  local key = KEYS[i] .. ':' .. math.floor(now / ARGV[i])
  local used = redis.call('INCR', key)
  if used == 1 then redis.call('EXPIRE', key, 2 * ARGV[i]) end
  answer[i + 1] = used
end
return answer
";

#[derive(Debug, Clone)]
pub struct RedisCounters {
    shared: Arc<Shared>,
    scripts: Batcher<(String, Window), Option<Count>>,
}

#[derive(Debug)]
struct Shared {
    script: Script,
    /// Begins every key.
    namespace: String,
    connection: RwLock<Option<MultiplexedConnection>>,
    lost: Notify,
}

impl RedisCounters {
    /// Connects in the background: an ingest starts without Redis.
    pub fn start(config: &RedisConfig, installation: &str, lifecycle: &Lifecycle) -> anyhow::Result<Self> {
        let client = client(config)?;
        let shared = Arc::new(Shared {
            script: Script::new(COUNT),
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
        let bounds = Bounds {
            name: "limits",
            queue: QUEUE,
            max_records: MAX_KEYS,
            max_weight: usize::MAX,
            in_flight: IN_FLIGHT,
            pace: PACE,
        };
        let counting = Arc::clone(&shared);
        let scripts = Batcher::spawn(
            lifecycle.tasks(),
            bounds,
            |_| 1,
            move |requests| count_together(Arc::clone(&counting), requests),
        );
        Ok(Self { shared, scripts })
    }

    /// `None` when Redis cannot be asked in time.
    pub async fn count(&self, key: &str, window: Window) -> Option<Count> {
        // No request queues for a Redis that is down.
        if !self.shared.is_connected() {
            return None;
        }
        let key = format!("{}:{key}", self.shared.namespace);
        self.scripts.submit((key, window)).await.ok().flatten()
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

async fn count_together(shared: Arc<Shared>, requests: Vec<(String, Window)>) -> Vec<Option<Count>> {
    let nothing = vec![None; requests.len()];
    let Some(mut connection) = shared.connection() else {
        return nothing;
    };
    let mut call = shared.script.prepare_invoke();
    for (key, window) in &requests {
        call.key(key).arg(window.seconds());
    }
    let counting = call.invoke_async::<Vec<i64>>(&mut connection);
    let Ok(Ok(answer)) = tokio::time::timeout(ANSWER_WITHIN, counting).await else {
        shared.lose();
        return nothing;
    };
    let Some((now, used)) = answer.split_first() else {
        return nothing;
    };
    let counts = used.iter().zip(&requests).map(|(used, (_, window))| {
        Some(Count {
            window: *window,
            used: u64::try_from(*used).ok()?,
            now: *now,
        })
    });
    counts.collect()
}

impl Shared {
    fn is_connected(&self) -> bool {
        let connection = self.connection.read().unwrap_or_else(PoisonError::into_inner);
        connection.is_some()
    }

    fn connection(&self) -> Option<MultiplexedConnection> {
        self.connection
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

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
    // A wrong password or certificate must be seen, and an outage must not fill the log.
    let mut is_first = true;
    loop {
        let attempt = async {
            let mut connection = client.get_multiplexed_async_connection().await?;
            script.prepare_invoke().load_async(&mut connection).await?;
            Ok::<_, redis::RedisError>(connection)
        };
        match tokio::time::timeout(CONNECT_WITHIN, attempt).await {
            Ok(Ok(connection)) => return connection,
            Ok(Err(error)) if is_first => {
                tracing::warn!(%error, "connecting to Redis failed: requests are counted in this process");
            }
            Ok(Err(error)) => tracing::debug!(%error, "connecting to Redis failed"),
            Err(_) => tracing::debug!("connecting to Redis took too long"),
        }
        is_first = false;
        tokio::time::sleep(pauses.next().unwrap_or(CONNECT_WITHIN)).await;
    }
}
