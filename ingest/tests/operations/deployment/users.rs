//! `deploy/nats/single.conf` with its users: the whole funnel works with each service as its own user, and no
//! user has further permissions.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use async_nats::{ConnectOptions, Event};
use runtime::clock::Clock;
use serde_json::json;
use testing::{Process, free_address, unique_name};
use tokio::sync::mpsc;

use super::read;
use test_harness::{
    Stack, ctl,
    hooks::{Hooks, accepted, connected, event, settled},
    succeeds,
};

pub const PASSWORD: &str = "p0123456789abcdef";
/// The names of the passwords in the settings.
pub const VARIABLES: [&str; 4] = [
    "NATS_INGEST_PASSWORD",
    "NATS_WEBHOOK_CONSUMER_PASSWORD",
    "NATS_WORKER_PASSWORD",
    "NATS_CTL_PASSWORD",
];

/// Killed and deleted when dropped.
struct Server {
    dir: PathBuf,
    port: u16,
    process: Child,
}

impl Server {
    fn start() -> Self {
        let dir = std::env::temp_dir().join(unique_name());
        fs::create_dir(&dir).unwrap();
        let port = free_address().port();
        let settings = read("nats/single.conf");
        let move_to = |settings: String, from: &str, to: &str| {
            assert!(settings.contains(from), "{from}");
            settings.replace(from, to)
        };
        let settings = move_to(settings, "127.0.0.1:4222", &format!("127.0.0.1:{port}"));
        let settings = move_to(settings, "127.0.0.1:8222", &free_address().to_string());
        let settings = move_to(settings, "\"/data\"", &format!("\"{}\"", dir.display()));
        fs::write(dir.join("single.conf"), settings).unwrap();
        fs::write(dir.join("users.conf"), read("nats/users.conf")).unwrap();
        let program = std::env::var("RT_NATS_SERVER").unwrap_or_else(|_| "nats-server".to_owned());
        let process = Command::new(program)
            .arg("--config")
            .arg(dir.join("single.conf"))
            .envs(VARIABLES.map(|name| (name, PASSWORD)))
            .stdin(Stdio::null())
            .stderr(File::create(dir.join("log")).unwrap())
            .spawn()
            .unwrap();
        Self { dir, port, process }
    }

    /// In the form in which `make-secrets.sh` writes it.
    fn url(&self, user: &str) -> String {
        format!("nats://{user}:{PASSWORD}@127.0.0.1:{}", self.port)
    }

    fn log(&self) -> String {
        fs::read_to_string(self.dir.join("log")).unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = fs::remove_dir_all(&self.dir);
    }
}

/// Uses no prefix, like the settings; each service is its own user.
async fn whole_service(server: &Server) -> (Stack, Hooks) {
    let mut stack = Stack::without_services(Clock::system()).await;
    stack.set("STREAM_PREFIX", "");
    stack.set("NATS_URL", &server.url("worker"));
    stack.start_worker();
    stack.set("NATS_URL", &server.url("ingest"));
    let address = stack.start_ingest();
    stack.use_ingest(address);
    stack.set("NATS_URL", &server.url("webhook-consumer"));
    let hooks = Hooks::start(&mut stack).await;
    stack.ready().await;
    stack.set("NATS_URL", &server.url("ctl"));
    (stack, hooks)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_whole_funnel_works_with_each_service_as_its_own_user() {
    let server = Server::start();
    let (stack, hooks) = whole_service(&server).await;
    let program = connected(&stack).await;
    stack.customer(&program, &program.ada.code, "user-1").await;
    let sale = json!({ "transaction_id": "t1", "amount_cents": 5000, "customer_key": "user-1" });
    stack.sold(&program, sale).await;
    stack.refunded(&program, json!({ "transaction_id": "t1" })).await;
    let name = "checkout.session.completed.with_invoice.acacia";
    let paid = event(&stack, name, &program, "user-1");
    accepted(&hooks.deliver(&stack, &program, &paid).await);
    settled(&stack, &["done"]).await;
    let test = json!({ "transaction_id": "t2", "amount_cents": 1, "customer_key": "user-1",
                       "additional_data": { "test_mode": true } });
    stack.sold(&program, test).await;
    stack
        .eventually("what happened is notified", async || {
            stack.count("notifications").await > 0
        })
        .await;
    sqlx::query("INSERT INTO dead_letters (subject, payload, reason, deliveries) VALUES ('tracking.leads', '{}', '', 1)")
        .execute(stack.pool())
        .await
        .unwrap();
    succeeds(&stack, &["dead-letters", "replay", "--all"]).await;
    succeeds(&stack, &["streams", "replay", "clicks", "sales", "--yes"]).await;
    stack
        .eventually("everything is settled again", async || {
            ctl(&stack, &["streams", "status"]).await.ok
        })
        .await;
    stack.verify().await;
    assert!(!server.log().contains("Violation"), "{}", server.log());
}

/// The server's error for a user that publishes or subscribes.
async fn answer_to(server: &Server, user: &str, act: &str, subject: &'static str) -> Option<String> {
    let (heard, mut said) = mpsc::channel(8);
    let client = ConnectOptions::with_user_and_password(user.to_owned(), PASSWORD.to_owned())
        .retry_on_initial_connect()
        .event_callback(move |event| {
            let heard = heard.clone();
            async move {
                if let Event::ServerError(error) = event {
                    heard.send(error.to_string()).await.unwrap();
                }
            }
        })
        .connect(format!("127.0.0.1:{}", server.port))
        .await
        .unwrap();
    let _subscribed = match act {
        "publish" => {
            client.publish(subject, "{}".into()).await.unwrap();
            None
        }
        _ => Some(client.subscribe(subject).await.unwrap()),
    };
    client.flush().await.unwrap();
    tokio::time::timeout(Duration::from_millis(500), said.recv())
        .await
        .ok()?
}

#[tokio::test(flavor = "multi_thread")]
async fn no_service_may_do_what_is_anothers() {
    let server = Server::start();
    for (user, act, subject) in [
        ("ingest", "publish", "tracking.payments"),
        ("ingest", "publish", "tracking.notifications"),
        ("ingest", "publish", "replies.0123"),
        ("ingest", "publish", "$JS.API.STREAM.DELETE.TRACKING_SALES"),
        ("ingest", "publish", "$JS.API.STREAM.PURGE.TRACKING_SALES"),
        ("ingest", "publish", "$JS.API.STREAM.UPDATE.TRACKING_SALES"),
        (
            "ingest",
            "publish",
            "$JS.API.CONSUMER.MSG.NEXT.TRACKING_SALES.worker_sales",
        ),
        (
            "ingest",
            "publish",
            "$JS.API.CONSUMER.CREATE.TRACKING_SALES.mine.tracking.sales",
        ),
        (
            "ingest",
            "publish",
            "$JS.ACK.TRACKING_SALES.worker_sales.1.1.1.1.1",
        ),
        ("ingest", "subscribe", "tracking.>"),
        ("ingest", "subscribe", "_INBOX.>"),
        ("ingest", "subscribe", "_INBOX_worker.>"),
        ("webhook-consumer", "publish", "tracking.clicks"),
        ("webhook-consumer", "publish", "tracking.refunds"),
        ("webhook-consumer", "publish", "replies.0123"),
        ("webhook-consumer", "subscribe", "replies.*"),
        ("webhook-consumer", "subscribe", "tracking.>"),
        ("worker", "publish", "tracking.clicks"),
        ("worker", "publish", "tracking.payments"),
        ("worker", "publish", "$JS.API.STREAM.DELETE.TRACKING_SALES"),
        ("worker", "subscribe", "replies.*"),
        ("ctl", "subscribe", "tracking.>"),
        ("ctl", "subscribe", "_INBOX.>"),
    ] {
        let said = answer_to(&server, user, act, subject).await;
        let refused = said
            .as_deref()
            .is_some_and(|said| said.contains("Permissions Violation"));
        assert!(refused, "{user} may {act} {subject}: {said:?}");
    }
    let said = answer_to(&server, "ingest", "publish", "tracking.clicks").await;
    assert_eq!(said, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_password_ends_a_start_at_once() {
    let server = Server::start();
    let mut stack = Stack::without_services(Clock::system()).await;
    let wrong = server.url("worker").replace(PASSWORD, "wrong");
    for url in [wrong, format!("nats://127.0.0.1:{}", server.port)] {
        stack.set("NATS_URL", &url);
        let error = stack.worker_that_ends().await;
        assert!(error.contains("authorization violation"), "{error}");
    }
    let settings = stack.environment(free_address());
    let mut process = Process::start("webhook-consumer", &settings);
    let ended = tokio::task::spawn_blocking(move || process.wait()).await;
    assert!(!ended.as_ref().is_ok_and(ExitStatus::success), "{ended:?}");
}

/// Starts a worker, and returns its log until it is ready.
async fn said_at_start(stack: &Stack) -> String {
    let log = std::env::temp_dir().join(unique_name());
    let settings = stack.environment(free_address());
    let mut process = Process::start_logging("worker", &settings, File::create(&log).unwrap().into());
    let said = || fs::read_to_string(&log).unwrap();
    stack
        .eventually("the worker is ready", async || said().contains("worker is ready"))
        .await;
    process.kill();
    let said = said();
    fs::remove_file(&log).unwrap();
    said
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_warns_of_a_server_that_lets_in_everybody() {
    const WARNING: &str = "NATS accepts clients without a password";
    let server = Server::start();
    let mut stack = Stack::without_services(Clock::system()).await;
    let said = said_at_start(&stack).await;
    assert!(said.contains(WARNING), "{said}");
    stack.set("STREAM_PREFIX", "");
    stack.set("NATS_URL", &server.url("worker"));
    let said = said_at_start(&stack).await;
    assert!(!said.contains(WARNING), "{said}");
}

/// Checks the listeners of both clients and monitoring.
#[test]
fn the_settings_for_one_machine_listen_on_loopback_only() {
    let settings = read("nats/single.conf");
    let listens: Vec<&str> = settings
        .lines()
        .filter_map(|line| {
            line.strip_prefix("listen:")
                .or_else(|| line.strip_prefix("http:"))
        })
        .collect();
    assert_eq!(listens.len(), 2);
    for address in listens {
        assert!(address.trim().starts_with("\"127.0.0.1:"), "{address}");
    }
}
