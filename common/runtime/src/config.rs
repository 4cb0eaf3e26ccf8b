//! Configuration, one section a concern. A command's `Args` flattens the sections it needs, so no process asks for a
//! setting it does not use. Every field has an environment variable; durations are integer milliseconds.
//!
//! [`load`](load::load) reads them, secrets also from files; [`reference`] makes `docs/configuration.md` of them.

pub mod load;
pub mod reference;
mod secret;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{RangedU64ValueParser, ValueParser};
use clap::{Args, value_parser};

pub use self::secret::{SecretKey, SecretParser, SecretText, SecretUrl};
use super::telemetry::{LogFilter, LogFormat};
use super::trace::{CollectorUrl, Ratio};

/// What every service needs.
#[derive(Debug, Clone, Args)]
pub struct ServiceConfig {
    #[command(flatten)]
    pub http: HttpConfig,
    #[command(flatten)]
    pub postgres: PostgresConfig,
    #[command(flatten)]
    pub nats: NatsConfig,
    #[command(flatten)]
    pub telemetry: TelemetryConfig,
}

/// Logs, metrics, traces.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Telemetry")]
pub struct TelemetryConfig {
    /// What is logged: `info`, or by module, `warn,bus=debug`. Messages with what customers told never are.
    #[arg(long, env = "LOG", default_value = super::telemetry::DEFAULT_FILTER)]
    pub log: LogFilter,
    /// How: lines to read, or one JSON object a line.
    #[arg(long, env = "LOG_FORMAT", value_enum, default_value_t = LogFormat::Text)]
    pub log_format: LogFormat,
    /// Address and port of `/metrics`, apart from the service's own: whoever reaches it may look. Without one, metrics are
    /// not shown.
    #[arg(long, env = "METRICS_LISTEN")]
    pub metrics_listen: Option<SocketAddr>,
    /// Address of a collector of traces, as `http://host:4318`: OTLP over plain HTTP. Without one, nothing is traced.
    #[arg(long, env = "OTEL_EXPORTER_OTLP_ENDPOINT")]
    pub otel_exporter_otlp_endpoint: Option<CollectorUrl>,
    /// Share of all requests that are traced, from 0 to 1.
    #[arg(long, env = "TRACE_RATIO", default_value = "0.01")]
    pub trace_ratio: Ratio,
}

/// At least one of them: with none, nothing would ever be served.
fn count() -> ValueParser {
    RangedU64ValueParser::<usize>::new().range(1..).into()
}

/// The store.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "PostgreSQL")]
pub struct PostgresConfig {
    /// Address of the database, as a `postgres:` URL. Over a network with `?sslmode=verify-full&sslrootcert=FILE`.
    #[arg(long, env = "DATABASE_URL", hide_env_values = true, value_parser = SecretUrl::of(&["postgres", "postgresql"]))]
    pub database_url: SecretText,
    /// Connections this process may hold. More of them on one hot row make it slower.
    #[arg(
        id = "database_pool_size",
        long = "database-pool-size",
        env = "DATABASE_POOL_SIZE",
        default_value_t = 8,
        value_parser = value_parser!(u32).range(1..)
    )]
    pub pool_size: u32,
    /// Milliseconds a request may wait for a connection before it is shed.
    #[arg(
        id = "database_acquire_timeout_ms",
        long = "database-acquire-timeout-ms",
        env = "DATABASE_ACQUIRE_TIMEOUT_MS",
        default_value_t = 1_500,
        value_parser = value_parser!(u64).range(1..)
    )]
    pub acquire_timeout_ms: u64,
}

impl PostgresConfig {
    pub const fn acquire_timeout(&self) -> Duration {
        Duration::from_millis(self.acquire_timeout_ms)
    }
}

/// The bus.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "NATS")]
pub struct NatsConfig {
    /// Address of the server, as a `nats:` URL, or `tls:` over a network; several, separated by commas, for a cluster.
    #[arg(long, env = "NATS_URL", hide_env_values = true, value_parser = SecretUrl::several(&["nats", "tls"]))]
    pub nats_url: SecretText,
    /// File with the certificates (PEM) of the authorities that may vouch for the server; with one, nothing goes unencrypted.
    /// Without one, those of the system.
    #[arg(long, env = "NATS_CA_FILE")]
    pub nats_ca_file: Option<PathBuf>,
    /// Separates installations that share a server. Empty, or lower-case letters, digits, `_` and `-`.
    #[arg(long, env = "STREAM_PREFIX", default_value = "", value_parser = stream_prefix)]
    pub stream_prefix: String,
    /// Bytes each stream may hold. Eight streams: keep their sum well under the disk.
    #[arg(long, env = "STREAM_MAX_BYTES", default_value_t = 4 << 30, value_parser = value_parser!(i64).range(1..))]
    pub stream_max_bytes: i64,
    /// Copies of each message: 1 on a single server, 3 on a cluster.
    #[arg(long, env = "STREAM_REPLICAS", default_value_t = 1, value_parser = RangedU64ValueParser::<usize>::new().range(1..=5))]
    pub stream_replicas: usize,
    /// Milliseconds after which a message that a worker neither settled nor reported in progress goes to another one.
    #[arg(long, env = "ACK_WAIT_MS", default_value_t = 10_000, value_parser = value_parser!(u64).range(300..))]
    pub ack_wait_ms: u64,
}

/// The rate limiter's store.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Redis")]
pub struct RedisConfig {
    /// Address of the server, as a `redis:` URL, or `rediss:` over a network.
    #[arg(long, env = "REDIS_URL", hide_env_values = true, value_parser = SecretUrl::of(&["redis", "rediss"]))]
    pub redis_url: SecretText,
    /// File with the certificate (PEM) of the authority that vouches for the server at a `rediss:` address. Without one, those of
    /// the system do.
    #[arg(long, env = "REDIS_CA_FILE")]
    pub redis_ca_file: Option<PathBuf>,
}

/// An HTTP listener.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "HTTP")]
pub struct HttpConfig {
    /// Address and port to listen on.
    #[arg(long, env = "LISTEN", default_value = "127.0.0.1:8080")]
    pub listen: SocketAddr,
    /// Milliseconds a client has to send a complete request head, also the next one on an idle connection.
    #[arg(long, env = "HEADER_READ_TIMEOUT_MS", default_value_t = 5_000, value_parser = value_parser!(u64).range(1..))]
    pub header_read_timeout_ms: u64,
    /// Milliseconds a client may take nothing at all of an answer that waits for it.
    #[arg(long, env = "WRITE_TIMEOUT_MS", default_value_t = 30_000, value_parser = value_parser!(u64).range(1..))]
    pub write_timeout_ms: u64,
    /// Largest request body, in bytes.
    #[arg(long, env = "BODY_LIMIT_BYTES", default_value_t = 65_536, value_parser = count())]
    pub body_limit_bytes: usize,
    /// Open connections; further ones are answered 503 and closed.
    #[arg(long, env = "MAX_CONNECTIONS", default_value_t = 20_000, value_parser = count())]
    pub max_connections: usize,
    /// Browsers reach it over HTTPS: no setting of its own, it follows from the public URL where there is one.
    #[arg(skip)]
    pub behind_https: bool,
}

impl HttpConfig {
    pub const fn header_read_timeout(&self) -> Duration {
        Duration::from_millis(self.header_read_timeout_ms)
    }

    pub const fn write_timeout(&self) -> Duration {
        Duration::from_millis(self.write_timeout_ms)
    }
}

/// Keys that must be the same in all processes and must survive restarts.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Keys")]
pub struct KeysConfig {
    /// Keys of 64 hex digits, separated by commas. The first makes new click ids, the others still recognise old ones.
    #[arg(
        long,
        env = "CLICK_ID_KEYS",
        hide_env_values = true,
        value_delimiter = ',',
        required = true,
        value_parser = SecretParser::<SecretKey>::new()
    )]
    pub click_id_keys: Vec<SecretKey>,
    /// A key of 64 hex digits. Changing it makes stored email hashes incomparable.
    #[arg(long, env = "EMAIL_HASH_KEY", hide_env_values = true, value_parser = SecretParser::<SecretKey>::new())]
    pub email_hash_key: SecretKey,
}

impl KeysConfig {
    /// The key that makes click ids, and those that only read them.
    pub fn click_id_keys(&self) -> ([u8; 32], Vec<[u8; 32]>) {
        current_and_previous(&self.click_id_keys)
    }
}

/// What seals secrets of others that we must be able to read again.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Keys")]
pub struct SecretsConfig {
    /// Keys of 64 hex digits, separated by commas. The first seals, all of them open. Without the key it was sealed with, a
    /// secret is lost.
    #[arg(
        long,
        env = "SECRETS_KEYS",
        hide_env_values = true,
        value_delimiter = ',',
        required = true,
        value_parser = SecretParser::<SecretKey>::new()
    )]
    pub secrets_keys: Vec<SecretKey>,
}

impl SecretsConfig {
    /// The key that seals, and those that only open.
    pub fn secrets_keys(&self) -> ([u8; 32], Vec<[u8; 32]>) {
        current_and_previous(&self.secrets_keys)
    }
}

/// The parser demands at least one key.
fn current_and_previous(keys: &[SecretKey]) -> ([u8; 32], Vec<[u8; 32]>) {
    let mut keys = keys.iter().map(|key| *key.expose());
    (keys.next().unwrap_or_default(), keys.collect())
}

fn stream_prefix(text: &str) -> Result<String, &'static str> {
    let valid = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '-';
    if text.chars().all(valid) {
        Ok(text.to_owned())
    } else {
        // Upper-case and dots would let two prefixes share a stream name.
        Err("only lower-case letters, digits, `_` and `-`")
    }
}

#[cfg(test)]
mod tests;
