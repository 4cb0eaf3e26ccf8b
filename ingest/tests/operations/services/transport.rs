//! Connections to the servers use TLS and verify the server's identity, or fail.

use runtime::clock::Clock;
use serde_json::json;
use test_harness::{Stack, sale_of, succeeds};
use testing::{Authority, OwnNats, OwnPostgres, OwnRedis, TestDatabase};

fn verified(url: &str, authority: &Authority) -> String {
    format!("{url}?sslmode=verify-full&sslrootcert={}", authority.file())
}

fn tls(url: &str) -> String {
    url.replace("nats://", "tls://").replace("redis://", "rediss://")
}

/// The certificates of these tests are for `127.0.0.1`.
fn by_another_name(url: &str) -> String {
    url.replace("127.0.0.1", "localhost")
}

async fn counts_of_redis(stack: &Stack, redis: &OwnRedis, authority: &Authority) -> bool {
    stack.click_with("nobody", json!({})).await;
    let certificates = redis::TlsCertificates {
        client_tls: None,
        root_cert: Some(std::fs::read(authority.file()).unwrap()),
    };
    let client = redis::Client::build_with_tls(tls(&redis.url()), certificates).unwrap();
    let mut connection = client.get_multiplexed_async_connection().await.unwrap();
    let mut keys = redis::cmd("KEYS");
    let keys: Vec<String> = keys.arg("*:click:*").query_async(&mut connection).await.unwrap();
    !keys.is_empty()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_whole_service_runs_over_tls_alone() {
    let authority = Authority::new();
    let certificate = authority.certificate();
    let postgres = OwnPostgres::start_with(&certificate);
    let (nats, redis) = (
        OwnNats::start_with(&certificate),
        OwnRedis::start_with(&certificate),
    );
    let database = TestDatabase::create_on(verified(&postgres.url(), &authority)).await;
    let mut stack = Stack::on(database, Clock::system());
    stack.set("NATS_URL", &tls(&nats.url()));
    stack.set("NATS_CA_FILE", &authority.file());
    stack.set("REDIS_URL", &tls(&redis.url()));
    stack.set("REDIS_CA_FILE", &authority.file());
    stack.start_services().await;
    stack.start_webhook_consumer();
    // The ingest learns of the new program over a connection that listens.
    let program = stack.program_with_customer().await;
    let sale = sale_of("t1", "user-1");
    stack.sold(&program, sale).await;
    stack
        .eventually("Redis counts", async || {
            counts_of_redis(&stack, &redis, &authority).await
        })
        .await;
    let open: Vec<String> = stack
        .values(
            "SELECT application_name FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
         WHERE NOT ssl AND backend_type = 'client backend'",
        )
        .await;
    assert!(open.is_empty(), "{open:?}");
    succeeds(&stack, "verify").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_cannot_prove_who_it_is_is_refused() {
    let (authority, stranger) = (Authority::new(), Authority::new());
    let server = OwnPostgres::start_with(&authority.certificate());
    let plain = OwnPostgres::start();
    let mut stack = Stack::without_services(Clock::system()).await;
    for (url, why) in [
        (verified(&server.url(), &stranger), "UnknownIssuer"),
        (
            verified(&by_another_name(&server.url()), &authority),
            "not valid for name",
        ),
        (verified(&plain.url(), &authority), "does not support TLS"),
    ] {
        stack.set("DATABASE_URL", &url);
        let error = stack.worker_that_ends().await;
        assert!(error.contains(why), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bus_that_cannot_prove_who_it_is_is_refused() {
    let (authority, stranger) = (Authority::new(), Authority::new());
    let server = OwnNats::start_with(&authority.certificate());
    let plain = OwnNats::start();
    let mut stack = Stack::without_services(Clock::system()).await;
    for (url, authority, why) in [
        (tls(&server.url()), &stranger, "UnknownIssuer"),
        (
            by_another_name(&tls(&server.url())),
            &authority,
            "not valid for name",
        ),
        (tls(&plain.url()), &authority, "InvalidContentType"),
        // With a certificate authority given, TLS is required.
        (plain.url(), &authority, "InvalidContentType"),
    ] {
        stack.set("NATS_URL", &url);
        stack.set("NATS_CA_FILE", &authority.file());
        let error = stack.worker_that_ends().await;
        assert!(error.contains(why), "{error}");
    }
}

/// The limiter continues to count in the process: see `limits.rs`.
#[tokio::test(flavor = "multi_thread")]
async fn a_redis_that_cannot_prove_who_it_is_counts_nothing() {
    let (authority, stranger) = (Authority::new(), Authority::new());
    let server = OwnRedis::start_with(&authority.certificate());
    for (url, trusted) in [
        (tls(&server.url()), &stranger),
        (by_another_name(&tls(&server.url())), &authority),
    ] {
        let mut stack = Stack::without_services(Clock::system()).await;
        stack.set("REDIS_URL", &url);
        stack.set("REDIS_CA_FILE", &trusted.file());
        stack.start_services().await;
        for _ in 0..20 {
            assert!(!counts_of_redis(&stack, &server, &authority).await, "{url}");
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    }
}
