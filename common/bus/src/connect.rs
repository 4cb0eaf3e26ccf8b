//! Connects to NATS, once per process, and checks the server's version.

use std::error::Error;
use std::io;
use std::time::Duration;

use async_nats::jetstream::Context;
use async_nats::jetstream::context::ContextBuilder;
use async_nats::{Client, ConnectErrorKind, ConnectOptions, Event, ServerAddr};
use percent_encoding::percent_decode_str;

use runtime::config::NatsConfig;
use runtime::retry::{RetryPolicy, retry};

/// A server below 2.12 has no reliable `sync_interval` setting, drops unknown settings without an error, and
/// lets publishers hang on a full disk while its health check succeeds.
const OLDEST: (i64, i64, i64) = (2, 12, 0);

/// The client notices a dead connection within two intervals.
const PING_INTERVAL: Duration = Duration::from_secs(3);

/// Limit of JetStream API requests. Publishing has its own, shorter limit for each attempt.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(2);

/// Longest delay between two reconnection attempts, before jitter.
const RECONNECT: Duration = Duration::from_millis(500);

const FIRST_CONNECTION: RetryPolicy = RetryPolicy {
    first_delay: Duration::from_millis(20),
    max_delay: Duration::from_secs(1),
    max_attempts: u32::MAX,
    max_elapsed: Some(Duration::from_secs(30)),
};

/// A connection, and JetStream on it. Clones share it.
#[derive(Debug, Clone)]
pub struct Bus {
    pub client: Client,
    pub jetstream: Context,
}

/// Why connecting failed.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    #[error("NATS_URL: {0}")]
    Address(#[source] io::Error),
    #[error("cannot connect to NATS: {0}")]
    Connect(#[from] async_nats::ConnectError),
    #[error("NATS server {found} is too old: 2.12 or newer is required")]
    TooOld { found: String },
    #[error("this NATS server runs without JetStream")]
    WithoutJetStream,
}

/// Connects, and waits up to 30 s for a server to start. Later the connection restores itself, without a
/// limit. A server that refuses the password or has no valid certificate is an error at once. `name`
/// identifies the client in the server's connection list.
pub async fn connect(config: &NatsConfig, name: &str) -> Result<Bus, ConnectError> {
    let servers = config
        .nats_url
        .expose()
        .split(',')
        .map(|address| address.trim().parse::<ServerAddr>())
        .collect::<Result<Vec<_>, _>>()
        .map_err(ConnectError::Address)?;
    let attempt = || {
        over(config, &servers, identified_by(&servers))
            .name(name)
            // Each user has its own prefix: a client that may subscribe to a shared prefix could read every
            // reply.
            .custom_inbox_prefix(format!("_INBOX_{name}"))
            .ping_interval(PING_INTERVAL)
            .reconnect_delay_callback(reconnect_delay)
            .event_callback(log_event)
            .connect(&servers)
    };
    let client = retry(&FIRST_CONNECTION, attempt, is_not_up_yet).await?;
    verify_server(&client)?;
    let jetstream = ContextBuilder::new()
        .timeout(REQUEST_TIMEOUT)
        .build(client.clone());
    Ok(Bus { client, jetstream })
}

/// Requires TLS if an address or a CA file asks for it. This also holds for servers discovered later, whose
/// addresses do not mention TLS.
fn over(config: &NatsConfig, servers: &[ServerAddr], options: ConnectOptions) -> ConnectOptions {
    let is_required = config.nats_ca_file.is_some() || servers.iter().any(ServerAddr::tls_required);
    let options = options.require_tls(is_required);
    match &config.nats_ca_file {
        Some(file) => options.add_root_certificates(file.clone()),
        None => options,
    }
}

/// A failed TLS handshake and an invalid certificate are reported as invalid data. Retries do not help.
fn is_not_up_yet(error: &async_nats::ConnectError) -> bool {
    let is_away = matches!(
        error.kind(),
        ConnectErrorKind::Io | ConnectErrorKind::TimedOut | ConnectErrorKind::Dns
    );
    let cause = error.source().and_then(|cause| cause.downcast_ref::<io::Error>());
    is_away && cause.is_none_or(|cause| cause.kind() != io::ErrorKind::InvalidData)
}

/// The client ignores a user in an address. The first user found applies to the whole cluster, because the
/// addresses of servers discovered later have none.
fn identified_by(servers: &[ServerAddr]) -> ConnectOptions {
    let decoded = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
    let user = servers
        .iter()
        .find_map(|server| Some((server.username()?, server.password()?)));
    match user {
        Some((user, password)) => ConnectOptions::with_user_and_password(decoded(user), decoded(password)),
        None => ConnectOptions::new(),
    }
}

fn verify_server(client: &Client) -> Result<(), ConnectError> {
    let info = client.server_info();
    let (major, minor, patch) = OLDEST;
    if !client.is_server_compatible(major, minor, patch) {
        return Err(ConnectError::TooOld { found: info.version });
    }
    if !info.jetstream {
        return Err(ConnectError::WithoutJetStream);
    }
    tracing::info!(
        server = info.server_name,
        version = info.version,
        "connected to NATS"
    );
    if !info.auth_required {
        tracing::warn!(
            "NATS accepts clients without a password: anyone who can connect may read and write everything"
        );
    }
    Ok(())
}

/// Doubles from one millisecond, with 50% jitter in both directions: clients that a server lost together must
/// not reconnect together.
fn reconnect_delay(attempts: usize) -> Duration {
    let doubled = 1_u64 << attempts.min(10);
    Duration::from_millis(doubled)
        .min(RECONNECT)
        .mul_f64(rand::random_range(0.5..1.5))
}

async fn log_event(event: Event) {
    match event {
        Event::Connected => tracing::info!("NATS connection is up"),
        // Dropping the last client also causes this event.
        Event::Closed => tracing::debug!("NATS connection is closed"),
        Event::Disconnected => tracing::warn!("NATS connection is down"),
        Event::SlowConsumer(subscription) => {
            tracing::error!(subscription, "NATS subscription dropped messages");
        }
        other => tracing::warn!(event = %other, "NATS connection event"),
    }
}
