use std::ffi::{OsStr, OsString};

use clap::{CommandFactory, Parser};

use super::load::read;
use super::*;

/// All settings that a service may have.
#[derive(Debug, Parser)]
#[command(name = "service", version)]
struct Everything {
    #[command(flatten)]
    service: ServiceConfig,
    #[command(flatten)]
    redis: RedisConfig,
    #[command(flatten)]
    keys: KeysConfig,
    #[command(flatten)]
    secrets: SecretsConfig,
}

const KEY: &str = "0000000000000000000000000000000000000000000000000000000000000001";

/// Parses all required settings except those in `left_out`, plus the flags in `more` and the variables in
/// `files`.
///
/// Only keys can be left out: the environment of a test run has variables for the servers.
fn settings(left_out: &[&str], more: &[&str], files: &[(&str, &str)]) -> Result<Everything, String> {
    let keys = format!("--click-id-keys={},{}", "0f".repeat(32), "A0".repeat(32));
    let email_hash = format!("--email-hash-key={KEY}");
    let sealing = format!("--secrets-keys={KEY}");
    let required = [
        "--database-url=postgres://u:hunter2@h/d",
        "--nats-url=nats://u:hunter2@h",
        "--redis-url=redis://:hunter2@h",
        &email_hash,
        &sealing,
        &keys,
    ];
    let given = required
        .into_iter()
        .filter(|flag| !left_out.iter().any(|name| flag.starts_with(name)));
    let arguments = std::iter::once("service")
        .chain(given)
        .chain(more.iter().copied());
    let environment = |name: &OsStr| {
        let file = files.iter().find(|(variable, _)| name == *variable);
        file.map(|(_, path)| OsString::from(path))
    };
    let arguments: Vec<OsString> = arguments.map(OsString::from).collect();
    read(Everything::command(), &arguments, &environment).map_err(|error| error.to_string())
}

/// A file that is removed when this is dropped.
struct Written(PathBuf);

impl Written {
    fn new(name: &str, content: &str) -> Self {
        let path = std::env::temp_dir().join(format!("{}-{name}", std::process::id()));
        std::fs::write(&path, content).unwrap();
        Self(path)
    }

    fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for Written {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn sections_flatten_into_one_command() {
    let config = settings(&[], &["--stream-prefix=t_1"], &[]).unwrap();
    let ServiceConfig {
        http, postgres, nats, ..
    } = &config.service;
    assert_eq!(postgres.pool_size, 8);
    assert_eq!(postgres.acquire_timeout(), Duration::from_millis(1_500));
    assert_eq!(nats.stream_prefix, "t_1");
    assert_eq!(nats.stream_max_bytes, 4_294_967_296);
    assert_eq!(nats.ack_wait_ms, 10_000);
    assert_eq!(http.header_read_timeout(), Duration::from_secs(5));
    assert_eq!(config.redis.redis_url.expose(), "redis://:hunter2@h");
    assert_eq!(
        config.keys.click_id_keys,
        [SecretKey::new([0x0f; 32]), SecretKey::new([0xa0; 32])]
    );
}

#[test]
fn secrets_show_only_their_names() {
    let shown = format!("{:?}", settings(&[], &[], &[]).unwrap());
    assert!(!shown.contains("hunter2") && !shown.contains("15, 15"), "{shown}");
}

#[test]
fn a_mistyped_secret_is_refused_without_quoting_it() {
    for typo in ["0f0f0f", &"0g".repeat(32), &"+1".repeat(32), &"é".repeat(32)] {
        let flag = format!("--click-id-keys={typo}");
        let error = settings(&["--click-id-keys"], &[&flag], &[]).unwrap_err();
        assert!(error.contains("64 hex digits"), "{error}");
        assert!(!error.contains(typo), "{error}");
    }
    let error = settings(&["--database-url"], &["--database-url=mysql://u:hunter3@h"], &[]).unwrap_err();
    assert!(
        error.contains("`postgres:`") && !error.contains("hunter3"),
        "{error}"
    );
}

#[test]
fn everything_that_is_wrong_is_told_at_once() {
    let wrong = [
        "--database-pool-size=0",
        "--listen=nowhere",
        "--log-format=xml",
        "--stream-prefix=A",
    ];
    let keys = ["--email-hash-key", "--click-id-keys", "--secrets-keys"];
    let error = settings(&keys, &wrong, &[]).unwrap_err();
    for line in [
        "7 settings are wrong",
        "DATABASE_POOL_SIZE=0: 0 is not in 1..",
        "LISTEN=nowhere: invalid socket address syntax",
        "LOG_FORMAT=xml: ",
        "STREAM_PREFIX=A: only lower-case letters",
        "EMAIL_HASH_KEY is not set",
        "CLICK_ID_KEYS is not set",
        "SECRETS_KEYS is not set",
    ] {
        assert!(error.contains(line), "{line} is not in {error}");
    }
    assert!(!error.contains("hunter2"), "{error}");
}

#[test]
fn a_number_that_is_none_is_told_what_it_must_be() {
    let wrong = [
        "--ack-wait-ms=10s",
        "--stream-max-bytes-clicks=4g",
        "--header-read-timeout-ms=-1",
        "--stream-replicas=",
        "--body-limit-bytes=99999999999999999999",
    ];
    let error = settings(&[], &wrong, &[]).unwrap_err();
    for line in [
        "ACK_WAIT_MS=10s: must be a whole number of milliseconds, in digits only",
        "STREAM_MAX_BYTES_CLICKS=4g: must be a whole number of bytes, in digits only",
        "HEADER_READ_TIMEOUT_MS=-1: must be a whole number of milliseconds, in digits only",
        "STREAM_REPLICAS=: must be a whole number, in digits only",
        "BODY_LIMIT_BYTES=99999999999999999999: too large for a whole number of bytes",
    ] {
        assert!(error.contains(line), "{line} is not in {error}");
    }
}

#[test]
fn what_nobody_knows_is_told_as_ever() {
    let error = settings(&[], &["--no-such-setting=1"], &[]).unwrap_err();
    assert!(
        error.contains("unexpected argument '--no-such-setting'"),
        "{error}"
    );
    assert!(
        settings(&[], &["--help"], &[])
            .unwrap_err()
            .contains("DATABASE_POOL_SIZE")
    );
}

#[test]
fn a_secret_comes_from_the_file_its_variable_names() {
    let key = Written::new("key", &format!("{}\r\n", "0c".repeat(32)));
    let keys = Written::new("keys", &format!("{}\n{}\n", "0f".repeat(32), "a0".repeat(32)));
    let files = [
        ("EMAIL_HASH_KEY_FILE", key.path()),
        ("CLICK_ID_KEYS_FILE", keys.path()),
    ];
    let config = settings(&["--email-hash-key", "--click-id-keys"], &[], &files).unwrap();
    assert_eq!(
        config.keys.email_hash.email_hash_key,
        [SecretKey::new([0x0c; 32])]
    );
    assert_eq!(
        config.keys.click_id_keys,
        [SecretKey::new([0x0f; 32]), SecretKey::new([0xa0; 32])]
    );
    let help = settings(&["--email-hash-key"], &["--help"], &files).unwrap_err();
    assert!(!help.contains("0c0c"), "{help}");
}

#[test]
fn a_file_that_cannot_be_used_is_told_with_the_rest() {
    let empty = Written::new("empty", "not a key\n");
    let files = [
        ("SECRETS_KEYS_FILE", "/nowhere/at/all"),
        ("EMAIL_HASH_KEY_FILE", empty.path()),
    ];
    let left_out = ["--secrets-keys", "--email-hash-key", "--click-id-keys"];
    let error = settings(&left_out, &[], &files).unwrap_err();
    for line in [
        "3 settings are wrong",
        "SECRETS_KEYS_FILE=/nowhere/at/all: No such file or directory",
        "EMAIL_HASH_KEY: a key must be 64 hex digits",
        "CLICK_ID_KEYS is not set",
    ] {
        assert!(error.contains(line), "{line} is not in {error}");
    }
}

#[test]
fn a_secret_has_one_source() {
    let files = [("SECRETS_KEYS", KEY), ("SECRETS_KEYS_FILE", "/run/secrets/keys")];
    let error = settings(&[], &[], &files).unwrap_err();
    assert!(
        error.contains("SECRETS_KEYS and SECRETS_KEYS_FILE are both set"),
        "{error}"
    );
}

#[test]
fn a_prefix_maps_to_one_stream_name() {
    assert!(stream_prefix("").is_ok());
    for prefix in ["A", "a.b", "a b", "*"] {
        assert!(stream_prefix(prefix).is_err());
    }
}

#[derive(Debug, Parser)]
struct OneOfTwo {
    #[arg(long)]
    months: Option<u32>,
    #[arg(long, conflicts_with = "months")]
    days: Option<u32>,
}

#[test]
fn a_setting_that_excludes_another_is_judged_by_itself() {
    let arguments = ["service", "--days=many"].map(OsString::from);
    let error = read::<OneOfTwo>(OneOfTwo::command(), &arguments, &|_| None).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("--days=many: must be a whole number, in digits only"),
        "{error}"
    );
    let arguments = ["service", "--days=8", "--months=1"].map(OsString::from);
    let error = read::<OneOfTwo>(OneOfTwo::command(), &arguments, &|_| None).unwrap_err();
    assert!(error.to_string().contains("cannot be used with"), "{error}");
}
