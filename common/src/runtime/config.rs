//! Configuration, one section a concern. A command's `Args` flattens the sections it needs, so no process asks for a
//! setting it does not use. Every field has an environment variable; durations are integer milliseconds.

use std::fmt;
use std::marker::PhantomData;
use std::net::SocketAddr;
use std::str::FromStr;
use std::time::Duration;

use clap::builder::TypedValueParser;
use clap::error::ErrorKind;
use clap::{Arg, Args, Command};

use crate::domain::click_id::{ClickIdCodec, ClickIdKey};
use crate::domain::sealed::SealingKeys;

/// The store.
#[derive(Debug, Clone, Args)]
pub struct PostgresConfig {
    /// Address of the database, as a `postgres:` URL.
    #[arg(long, env = "DATABASE_URL", hide_env_values = true)]
    pub database_url: SecretText,
    /// Connections this process may hold. More of them on one hot row make it slower.
    #[arg(
        id = "database_pool_size",
        long = "database-pool-size",
        env = "DATABASE_POOL_SIZE",
        default_value_t = 8
    )]
    pub pool_size: u32,
    /// How long a request may wait for a connection before it is shed.
    #[arg(
        id = "database_acquire_timeout_ms",
        long = "database-acquire-timeout-ms",
        env = "DATABASE_ACQUIRE_TIMEOUT_MS",
        default_value_t = 1_500
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
pub struct NatsConfig {
    /// Address of the server, as a `nats:` URL; several, separated by commas, for a cluster.
    #[arg(long, env = "NATS_URL", hide_env_values = true)]
    pub nats_url: SecretText,
    /// Separates installations that share a server. Empty, or lower-case letters, digits, `_` and `-`.
    #[arg(long, env = "STREAM_PREFIX", default_value = "", value_parser = stream_prefix)]
    pub stream_prefix: String,
    /// Bytes each stream may hold. Eight streams: keep their sum well under the disk.
    #[arg(long, env = "STREAM_MAX_BYTES", default_value_t = 4 << 30, value_parser = clap::value_parser!(i64).range(1..))]
    pub stream_max_bytes: i64,
    /// Copies of each message: 1 on a single server, 3 on a cluster.
    #[arg(long, env = "STREAM_REPLICAS", default_value_t = 1)]
    pub stream_replicas: usize,
    /// Milliseconds after which a message that a worker neither settled nor reported in progress goes to another one.
    #[arg(long, env = "ACK_WAIT_MS", default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(300..))]
    pub ack_wait_ms: u64,
}

/// The rate limiter's store.
#[derive(Debug, Clone, Args)]
pub struct RedisConfig {
    /// Address of the server, as a `redis:` URL.
    #[arg(long, env = "REDIS_URL", hide_env_values = true)]
    pub redis_url: SecretText,
}

/// An HTTP listener.
#[derive(Debug, Clone, Args)]
pub struct HttpConfig {
    /// Address and port to listen on.
    #[arg(long, env = "LISTEN", default_value = "127.0.0.1:8080")]
    pub listen: SocketAddr,
    /// Time a client has to send a complete request head, also the next one on an idle connection.
    #[arg(long, env = "HEADER_READ_TIMEOUT_MS", default_value_t = 5_000)]
    pub header_read_timeout_ms: u64,
    /// Time a client may take nothing at all of an answer that waits for it.
    #[arg(long, env = "WRITE_TIMEOUT_MS", default_value_t = 30_000)]
    pub write_timeout_ms: u64,
    /// Largest request body.
    #[arg(long, env = "BODY_LIMIT_BYTES", default_value_t = 65_536)]
    pub body_limit_bytes: usize,
    /// Open connections; further ones are answered 503 and closed.
    #[arg(long, env = "MAX_CONNECTIONS", default_value_t = 20_000)]
    pub max_connections: usize,
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
pub struct KeysConfig {
    /// 64 hex digits each, separated by commas. The first makes new click ids, the others still recognise old ones.
    #[arg(
        long,
        env = "CLICK_ID_KEYS",
        hide_env_values = true,
        value_delimiter = ',',
        required = true,
        value_parser = SecretParser::<SecretKey>::new()
    )]
    pub click_id_keys: Vec<SecretKey>,
    /// 64 hex digits. Changing it makes stored email hashes incomparable.
    #[arg(long, env = "EMAIL_HASH_KEY", hide_env_values = true, value_parser = SecretParser::<SecretKey>::new())]
    pub email_hash_key: SecretKey,
}

impl KeysConfig {
    pub fn click_id_codec(&self) -> ClickIdCodec {
        let mut keys = self
            .click_id_keys
            .iter()
            .map(|key| ClickIdKey::from_bytes(*key.expose()));
        // The parser demands at least one key.
        let current = keys.next().unwrap_or_else(|| ClickIdKey::from_bytes([0; 32]));
        ClickIdCodec::new(current, keys.collect())
    }
}

/// What seals secrets of others that we must be able to read again.
#[derive(Debug, Clone, Args)]
pub struct SecretsConfig {
    /// 64 hex digits each, separated by commas. The first seals, all of them open. Without the key it was sealed with, a
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
    pub fn sealing_keys(&self) -> SealingKeys {
        let mut keys = self.secrets_keys.iter().map(|key| *key.expose());
        // The parser demands at least one key.
        let current = keys.next().unwrap_or_default();
        SealingKeys::new(&current, &keys.collect::<Vec<_>>())
    }
}

/// Text that must not reach a log, such as an address with a password in it.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretText(String);

impl SecretText {
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl FromStr for SecretText {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self::new(text))
    }
}

impl fmt::Debug for SecretText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretText")
    }
}

/// A 256-bit key.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretKey([u8; 32]);

/// The text was not 64 hex digits. It says no more, because the text is a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a key must be 64 hex digits")]
pub struct SecretKeyError;

impl SecretKey {
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    pub const fn expose(&self) -> &[u8; 32] {
        &self.0
    }
}

impl FromStr for SecretKey {
    type Err = SecretKeyError;

    fn from_str(text: &str) -> Result<Self, SecretKeyError> {
        let digits = text.trim().as_bytes();
        let (pairs, rest) = digits.as_chunks::<2>();
        if pairs.len() != 32 || !rest.is_empty() {
            return Err(SecretKeyError);
        }
        let mut key = [0; 32];
        for (byte, [high, low]) in key.iter_mut().zip(pairs) {
            *byte = hex_digit(*high)? << 4 | hex_digit(*low)?;
        }
        Ok(Self(key))
    }
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretKey")
    }
}

fn hex_digit(digit: u8) -> Result<u8, SecretKeyError> {
    let value = char::from(digit).to_digit(16).ok_or(SecretKeyError)?;
    u8::try_from(value).map_err(|_| SecretKeyError)
}

/// Clap's own parsers quote the offending value in their message; a secret with a typo is still a secret.
#[derive(Debug, Clone)]
pub struct SecretParser<T>(PhantomData<fn() -> T>);

impl<T> SecretParser<T> {
    pub const fn new() -> Self {
        Self(PhantomData)
    }
}

impl<T> Default for SecretParser<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> TypedValueParser for SecretParser<T>
where
    T: FromStr<Err: fmt::Display> + Clone + Send + Sync + 'static,
{
    type Value = T;

    fn parse_ref(
        &self,
        command: &Command,
        arg: Option<&Arg>,
        value: &std::ffi::OsStr,
    ) -> Result<T, clap::Error> {
        // What is not UTF-8 becomes characters no secret may have.
        value.to_string_lossy().parse().map_err(|error: T::Err| {
            let name = arg.map_or("secret", |arg| arg.get_id().as_str());
            clap::Error::raw(ErrorKind::ValueValidation, format!("{name}: {error}\n")).with_cmd(command)
        })
    }
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
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Debug, Parser)]
    struct Everything {
        #[command(flatten)]
        postgres: PostgresConfig,
        #[command(flatten)]
        nats: NatsConfig,
        #[command(flatten)]
        redis: RedisConfig,
        #[command(flatten)]
        http: HttpConfig,
        #[command(flatten)]
        keys: KeysConfig,
        #[command(flatten)]
        secrets: SecretsConfig,
    }

    fn parse(click_id_keys: &str, more: &[&str]) -> Result<Everything, clap::Error> {
        let required = [
            "test",
            "--database-url=postgres://u:hunter2@h/d",
            "--nats-url=nats://u:hunter2@h",
            "--redis-url=redis://:hunter2@h",
            "--email-hash-key=0000000000000000000000000000000000000000000000000000000000000000",
            "--secrets-keys=0000000000000000000000000000000000000000000000000000000000000001",
            click_id_keys,
        ];
        Everything::try_parse_from(required.iter().chain(more))
    }

    #[test]
    fn sections_flatten_into_one_command() {
        let keys = format!("--click-id-keys={},{}", "0f".repeat(32), "A0".repeat(32));
        let config = parse(&keys, &["--stream-prefix=t_1"]).unwrap();
        assert_eq!(config.postgres.pool_size, 8);
        assert_eq!(config.postgres.acquire_timeout(), Duration::from_millis(1_500));
        assert_eq!(config.nats.stream_prefix, "t_1");
        assert_eq!(config.nats.stream_max_bytes, 4_294_967_296);
        assert_eq!(config.nats.ack_wait_ms, 10_000);
        assert_eq!(config.http.header_read_timeout(), Duration::from_secs(5));
        assert_eq!(config.redis.redis_url.expose(), "redis://:hunter2@h");
        assert_eq!(
            config.keys.click_id_keys,
            [SecretKey::new([0x0f; 32]), SecretKey::new([0xa0; 32])]
        );
    }

    #[test]
    fn secrets_show_only_their_names() {
        let keys = format!("--click-id-keys={}", "0f".repeat(32));
        let shown = format!("{:?}", parse(&keys, &[]).unwrap());
        assert!(!shown.contains("hunter2") && !shown.contains("15, 15"), "{shown}");
    }

    #[test]
    fn a_mistyped_key_is_refused_without_quoting_it() {
        for typo in ["0f0f0f", &"0g".repeat(32), &"+1".repeat(32), &"é".repeat(32)] {
            let error = parse(&format!("--click-id-keys={typo}"), &[])
                .unwrap_err()
                .to_string();
            assert!(error.contains("64 hex digits"), "{error}");
            assert!(!error.contains(typo), "{error}");
        }
    }

    #[test]
    fn a_prefix_maps_to_one_stream_name() {
        assert!(stream_prefix("").is_ok());
        for prefix in ["A", "a.b", "a b", "*"] {
            assert!(stream_prefix(prefix).is_err());
        }
    }
}
