//! The limiter's Redis as `deploy/kubernetes` starts it, with the secrets of `make-secrets.sh`: it requires
//! TLS and the password.

use std::fs;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use testing::{Folder, Process, free_address};

use super::{make_secrets, read};
use test_harness::Stack;

struct Server {
    _process: Process,
    port: u16,
}

impl Server {
    fn start(secrets: &Folder) -> Self {
        let port = free_address().port();
        let mut process = Command::new("redis-server");
        for argument in arguments() {
            process.arg(match argument.as_str() {
                "6379" => port.to_string(),
                argument => argument.replace("/secrets", secrets.to_str().unwrap()),
            });
        }
        process.args(["--bind", "127.0.0.1"]).stdout(Stdio::null());
        Self {
            _process: Process::spawn(&mut process),
            port,
        }
    }

    fn url(&self, credentials: &str, scheme: &str) -> String {
        format!("{scheme}://{credentials}127.0.0.1:{}/0", self.port)
    }

    async fn keys(&self, url: &str, secrets: &Folder) -> Result<i64, redis::RedisError> {
        let certificates = redis::TlsCertificates {
            client_tls: None,
            root_cert: Some(fs::read(secrets.join("servers-ca.crt")).unwrap()),
        };
        let client = if url.starts_with("rediss:") {
            redis::Client::build_with_tls(url, certificates)?
        } else {
            redis::Client::open(url)?
        };
        let mut connection = client.get_multiplexed_async_connection().await?;
        redis::cmd("DBSIZE").query_async(&mut connection).await
    }
}

/// The arguments in the manifest.
fn arguments() -> Vec<String> {
    let text = read("kubernetes/base/redis.yaml");
    let deployment: Value = serde_saphyr::from_str(text.split("\n---\n").next().unwrap()).unwrap();
    let arguments = deployment["spec"]["template"]["spec"]["containers"][0]["args"].as_array();
    let arguments: Vec<String> = arguments
        .unwrap()
        .iter()
        .map(|argument| argument.as_str().unwrap().to_owned())
        .collect();
    assert!(arguments.len() > 10, "{arguments:?}");
    arguments
}

#[tokio::test(flavor = "multi_thread")]
async fn the_limiters_redis_counts_over_tls_for_who_has_the_password_and_for_nobody_else() {
    let secrets = make_secrets();
    let server = Server::start(&secrets);
    let secret = |name: &str| fs::read_to_string(secrets.join(name)).unwrap();
    let password = format!(":{}@", secret("redis-password"));
    let url = server.url(&password, "rediss");
    let written = secret("redis-url").replace("6379", &server.port.to_string());
    assert_eq!(written, url, "make-secrets.sh writes another address");
    let stack = Stack::start_set(&[
        ("REDIS_URL", &url),
        ("REDIS_CA_FILE", &secrets.file("servers-ca.crt")),
    ])
    .await;
    stack
        .eventually("Redis counts", async || {
            stack.click_with("nobody", json!({})).await;
            server.keys(&url, &secrets).await.is_ok_and(|keys| keys > 0)
        })
        .await;
    for (credentials, scheme) in [
        ("", "rediss"),
        (":guess@", "rediss"),
        (password.as_str(), "redis"),
    ] {
        let refused = server.keys(&server.url(credentials, scheme), &secrets).await;
        assert!(refused.is_err(), "{credentials:?} {scheme}: {refused:?}");
    }
}
