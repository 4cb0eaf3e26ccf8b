//! The limiter's Redis as `deploy/kubernetes` starts it, with the secrets of `make-secrets.sh`: it requires
//! TLS and the password.

use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};
use testing::free_address;

use super::{Secrets, read};
use test_harness::Stack;

/// Killed when dropped.
struct Server {
    process: Child,
    port: u16,
}

impl Server {
    fn start(secrets: &Secrets) -> Self {
        let port = free_address().port();
        let mut process = Command::new("redis-server");
        for argument in arguments() {
            process.arg(match argument.as_str() {
                "6379" => port.to_string(),
                argument => argument.replace("/secrets", secrets.dir()),
            });
        }
        process.args(["--bind", "127.0.0.1"]).stdout(Stdio::null());
        Self {
            process: process.spawn().unwrap(),
            port,
        }
    }

    fn url(&self, credentials: &str, scheme: &str) -> String {
        format!("{scheme}://{credentials}127.0.0.1:{}/0", self.port)
    }

    async fn keys(&self, url: &str, secrets: &Secrets) -> Result<i64, redis::RedisError> {
        let certificates = redis::TlsCertificates {
            client_tls: None,
            root_cert: Some(secrets.read("servers-ca.crt").into_bytes()),
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

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
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
    let secrets = Secrets::make();
    let server = Server::start(&secrets);
    let password = format!(":{}@", secrets.read("redis-password"));
    let url = server.url(&password, "rediss");
    assert_eq!(
        secrets
            .read("redis-url")
            .replace("6379", &server.port.to_string()),
        url,
        "make-secrets.sh writes another address"
    );
    let stack = Stack::start_set(&[
        ("REDIS_URL", &url),
        ("REDIS_CA_FILE", &secrets.path("servers-ca.crt")),
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
