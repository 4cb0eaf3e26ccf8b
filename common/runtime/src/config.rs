//! Configuration, one section per concern. A command's `Args` flattens the sections it needs, so that a
//! process requires only the settings it uses. Every field has an environment variable. Durations are integer
//! milliseconds.
//!
//! [`load`](load::load) reads settings, and secrets also from files. [`reference`] generates
//! `docs/configuration.md`.

pub mod load;
pub mod reference;
mod secret;
mod telemetry;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{RangedU64ValueParser, ValueParser};
use clap::{Args, value_parser};
use ipnet::IpNet;
use url::Url;

pub use self::secret::{SecretKey, SecretParser, SecretText, SecretUrl};
pub use self::telemetry::{CollectorUrl, LogFilter, LogFormat, Ratio, TelemetryConfig};

/// Minimum size of a stream in bytes: room for a full message.
const LEAST_STREAM: i64 = 1 << 17;

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

/// At least one: a limit of zero would reject everything.
fn count() -> ValueParser {
    RangedU64ValueParser::<usize>::new().range(1..).into()
}

/// The store.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "PostgreSQL")]
pub struct PostgresConfig {
    /// URL of the database, `postgres:`, with one host: an address that leads to the primary. Over a network, add
    /// `?sslmode=verify-full&sslrootcert=FILE`.
    #[arg(long, env = "DATABASE_URL", hide_env_values = true, value_parser = SecretUrl::of(&["postgres", "postgresql"]))]
    pub database_url: SecretText,
    /// Largest number of connections this process opens. More connections that contend for one hot row make it slower.
    #[arg(
        id = "database_pool_size",
        long = "database-pool-size",
        env = "DATABASE_POOL_SIZE",
        default_value_t = 8,
        value_parser = value_parser!(u32).range(1..)
    )]
    pub pool_size: u32,
    /// Milliseconds a request waits for a connection before it is rejected.
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
    /// URL of the server, `nats:`, or `tls:` over a network. For a cluster, several URLs separated by commas.
    #[arg(long, env = "NATS_URL", hide_env_values = true, value_parser = SecretUrl::several(&["nats", "tls"]))]
    pub nats_url: SecretText,
    /// File with the CA certificates (PEM) that verify the server; when set, TLS is required. When not set, the system's CA certificates
    /// are used.
    #[arg(long, env = "NATS_CA_FILE")]
    pub nats_ca_file: Option<PathBuf>,
    /// Prefix of stream and subject names, so that several installations can share a server. Empty, or lower-case letters, digits, `_`
    /// and `-`.
    #[arg(long, env = "STREAM_PREFIX", default_value = "", value_parser = stream_prefix)]
    pub stream_prefix: String,
    /// Maximum size of each stream, in bytes. There are eight streams: keep their sum well below the disk's size.
    #[arg(long, env = "STREAM_MAX_BYTES", default_value_t = 4 << 30, value_parser = value_parser!(i64).range(LEAST_STREAM..))]
    pub stream_max_bytes: i64,
    /// Maximum size of the stream of clicks, in bytes: most of what is stored while no worker runs. That of every stream when not set.
    #[arg(long, env = "STREAM_MAX_BYTES_CLICKS", value_parser = value_parser!(i64).range(LEAST_STREAM..))]
    pub stream_max_bytes_clicks: Option<i64>,
    /// Replicas of each stream: 1 on a single server, 3 on a cluster.
    #[arg(long, env = "STREAM_REPLICAS", default_value_t = 1, value_parser = RangedU64ValueParser::<usize>::new().range(1..=5))]
    pub stream_replicas: usize,
    /// Milliseconds after which a message that a worker neither acknowledged nor reported in progress is delivered to another worker.
    #[arg(long, env = "ACK_WAIT_MS", default_value_t = 10_000, value_parser = value_parser!(u64).range(300..))]
    pub ack_wait_ms: u64,
}

/// The rate limiter's store.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Redis")]
pub struct RedisConfig {
    /// URL of the server, `redis:`, or `rediss:` over a network.
    #[arg(long, env = "REDIS_URL", hide_env_values = true, value_parser = SecretUrl::of(&["redis", "rediss"]))]
    pub redis_url: SecretText,
    /// File with the CA certificate (PEM) that verifies the server of a `rediss:` URL. When not set, the system's CA certificates are
    /// used.
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
    /// Milliseconds a client has to send a complete request head. An idle connection is closed after the same time.
    #[arg(long, env = "HEADER_READ_TIMEOUT_MS", default_value_t = 5_000, value_parser = value_parser!(u64).range(1..))]
    pub header_read_timeout_ms: u64,
    /// Milliseconds after which a client that reads nothing of a pending response is disconnected.
    #[arg(long, env = "WRITE_TIMEOUT_MS", default_value_t = 30_000, value_parser = value_parser!(u64).range(1..))]
    pub write_timeout_ms: u64,
    /// Largest request body, in bytes.
    #[arg(long, env = "BODY_LIMIT_BYTES", default_value_t = 65_536, value_parser = count())]
    pub body_limit_bytes: usize,
    /// Maximum number of open connections; further ones are answered 503 and closed.
    #[arg(long, env = "MAX_CONNECTIONS", default_value_t = 20_000, value_parser = count())]
    pub max_connections: usize,
    /// Browsers reach it over HTTPS. Not a setting: derived from the public URL.
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
    /// Keys of 64 hex digits, separated by commas. The first key encodes new click ids; the others only decode old ones.
    #[arg(
        long,
        env = "CLICK_ID_KEYS",
        hide_env_values = true,
        value_delimiter = ',',
        required = true,
        value_parser = SecretParser::<SecretKey>::new()
    )]
    pub click_id_keys: Vec<SecretKey>,
    #[command(flatten)]
    pub email_hash: EmailHashConfig,
}

impl KeysConfig {
    /// Returns the key that encodes click ids, and the keys that only decode them.
    pub fn click_id_keys(&self) -> ([u8; 32], Vec<[u8; 32]>) {
        current_and_previous(&self.click_id_keys)
    }

    /// Returns the key that makes new email hashes, and the keys that only find stored ones.
    pub fn email_hash_keys(&self) -> ([u8; 32], Vec<[u8; 32]>) {
        self.email_hash.email_hash_keys()
    }
}

/// Keys that hash email addresses.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Keys")]
pub struct EmailHashConfig {
    /// Keys of 64 hex digits for email hashes, separated by commas. The first key makes new hashes; those of the others are still found. Without
    /// its key, a stored hash matches no email any more.
    #[arg(
        long,
        env = "EMAIL_HASH_KEY",
        hide_env_values = true,
        value_delimiter = ',',
        required = true,
        value_parser = SecretParser::<SecretKey>::new()
    )]
    pub email_hash_key: Vec<SecretKey>,
}

impl EmailHashConfig {
    /// Returns the key that makes new email hashes, and the keys that only find stored ones.
    pub fn email_hash_keys(&self) -> ([u8; 32], Vec<[u8; 32]>) {
        current_and_previous(&self.email_hash_key)
    }
}

/// Keys that encrypt third parties' secrets at rest.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Keys")]
pub struct SecretsConfig {
    /// Keys of 64 hex digits, separated by commas. The first key encrypts secrets; all of them decrypt. A secret whose key is missing is
    /// lost.
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
    /// Returns the key that encrypts, and the keys that only decrypt.
    pub fn secrets_keys(&self) -> ([u8; 32], Vec<[u8; 32]>) {
        current_and_previous(&self.secrets_keys)
    }
}

/// E-mail: what all services know of it.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "E-mail")]
pub struct EmailConfig {
    /// Sender of e-mails, an address or `Name <address>`. It turns e-mail on: invitations, links for
    /// forgotten passwords, notices of account changes. Without it, links of invitations are shown to the
    /// inviter; with it, only the invitee gets them.
    #[arg(long, env = "EMAIL_FROM", value_parser = email_sender)]
    pub email_from: Option<String>,
}

/// Where people reach the service.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Management and dashboard")]
pub struct PublicUrlConfig {
    /// The address people and browsers reach this service by; links in answers and e-mails begin with it.
    #[arg(long, env = "PUBLIC_URL", default_value = "http://127.0.0.1:8080", value_parser = web_address)]
    pub public_url: Url,
}

impl PublicUrlConfig {
    /// A link to a page of this service. `at` begins with a slash.
    pub fn link(&self, at: &str) -> String {
        format!("{}{at}", self.public_url.as_str().trim_end_matches('/'))
    }
}

/// Refuses `https://https://…`, the result of prefixing a scheme to a host that already has one.
fn web_address(text: &str) -> Result<Url, &'static str> {
    let url = Url::parse(text.trim()).ok();
    let is_ours = |url: &Url| {
        let has_host = url
            .host_str()
            .is_some_and(|host| !["http", "https"].contains(&host));
        has_host
            && ["http", "https"].contains(&url.scheme())
            && url.query().is_none()
            && url.fragment().is_none()
    };
    url.filter(is_ours)
        .ok_or("must be an address such as `https://track.example.com`")
}

/// Checks only the outline; the mail client parses the address.
fn email_sender(text: &str) -> Result<String, &'static str> {
    let text = text.trim();
    if text.contains('@') && !text.contains(char::is_control) {
        Ok(text.to_owned())
    } else {
        Err("must be an address, or a name and an address: `Acme <mail@acme.example>`")
    }
}

/// Where webhooks may be sent.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Webhooks")]
pub struct WebhookTargetsConfig {
    /// Allows endpoints on loopback, and there by plain http. For development only.
    #[arg(long, env = "WEBHOOK_ALLOW_LOOPBACK")]
    pub webhook_allow_loopback: bool,
    /// Networks that webhooks may be sent to although they are not public, as CIDR, separated by commas.
    #[arg(long, env = "WEBHOOK_ALLOWED_NETWORKS", value_delimiter = ',')]
    pub webhook_allowed_networks: Vec<IpNet>,
}

/// The first key, and the rest. The parser requires at least one key.
fn current_and_previous(keys: &[SecretKey]) -> ([u8; 32], Vec<[u8; 32]>) {
    let mut keys = keys.iter().map(|key| *key.expose());
    (keys.next().unwrap_or_default(), keys.collect())
}

fn stream_prefix(text: &str) -> Result<String, &'static str> {
    let valid = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '-';
    if text.chars().all(valid) {
        Ok(text.to_owned())
    } else {
        // Upper-case letters and dots would let two prefixes share a stream name.
        Err("only lower-case letters, digits, `_` and `-`")
    }
}

#[cfg(test)]
mod tests;
