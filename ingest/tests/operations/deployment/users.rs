//! `deploy/nats/single.conf` with its users: the whole funnel works with each service as its own user, and no
//! user has further permissions.

use std::fs::{self, File};
use std::time::Duration;

use async_nats::{ConnectOptions, Event};
use runtime::clock::Clock;
use serde_json::json;
use testing::{Folder, Process, free_address};
use tokio::sync::mpsc;

use super::{changed, nats_server, read};
use test_harness::{
    Json, Stack, ctl,
    hooks::{Hooks, connected, event},
    sale_of, succeeds, test_mode,
};

pub const PASSWORD: &str = "p0123456789abcdef";
/// The names of the passwords in the settings.
pub const VARIABLES: [&str; 4] = [
    "NATS_INGEST_PASSWORD",
    "NATS_WEBHOOK_CONSUMER_PASSWORD",
    "NATS_WORKER_PASSWORD",
    "NATS_CTL_PASSWORD",
];

struct Server {
    _process: Process,
    port: u16,
    folder: Folder,
}

impl Server {
    fn start() -> Self {
        let folder = Folder::create();
        let port = free_address().port();
        let changes = [
            ("127.0.0.1:4222".to_owned(), format!("127.0.0.1:{port}")),
            ("127.0.0.1:8222".to_owned(), free_address().to_string()),
            ("\"/data\"".to_owned(), format!("\"{}\"", folder.display())),
        ];
        let settings = changed(&read("nats/single.conf"), &changes);
        fs::write(folder.join("single.conf"), settings).unwrap();
        fs::write(folder.join("users.conf"), read("nats/users.conf")).unwrap();
        Self {
            _process: Process::spawn(&mut nats_server(&folder, "single.conf")),
            port,
            folder,
        }
    }

    /// In the form in which `make-secrets.sh` writes it.
    fn url(&self, user: &str) -> String {
        format!("nats://{user}:{PASSWORD}@127.0.0.1:{}", self.port)
    }

    fn log(&self) -> String {
        fs::read_to_string(self.folder.join("log")).unwrap()
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
    let sale = sale_of("t1", "user-1");
    stack.sold(&program, sale).await;
    stack.refunded(&program, json!({ "transaction_id": "t1" })).await;
    let name = "checkout.session.completed.with_invoice.acacia";
    let paid = event(&stack, name, &program, "user-1");
    hooks.process(&stack, &program, &paid).await;
    let test = sale_of("t2", "user-1").with(test_mode());
    stack.sold(&program, test).await;
    stack
        .eventually("what happened is notified", async || {
            stack.count("notifications").await > 0
        })
        .await;
    stack
        .execute(
            "INSERT INTO dead_letters (subject, payload, reason, deliveries)
             VALUES ('tracking.leads', '{}', '', 1)",
        )
        .await;
    succeeds(&stack, "dead-letters replay --all").await;
    succeeds(&stack, "streams replay clicks sales --yes").await;
    stack
        .eventually("everything is settled again", async || {
            ctl(&stack, "streams status").await.ok
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

const NEXT_SALE: &str = "$JS.API.CONSUMER.MSG.NEXT.TRACKING_SALES.worker_sales";
const OWN_CONSUMER: &str = "$JS.API.CONSUMER.CREATE.TRACKING_SALES.mine.tracking.sales";

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
        ("ingest", "publish", NEXT_SALE),
        ("ingest", "publish", OWN_CONSUMER),
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
    stack.fails("webhook-consumer", &[]).await;
}

/// Starts a worker, and returns its log until it is ready.
async fn said_at_start(stack: &Stack) -> String {
    let folder = Folder::create();
    let log = File::create(folder.join("log")).unwrap();
    let _process = Process::start_logging("worker", &stack.environment(free_address()), log.into());
    let said = || fs::read_to_string(folder.join("log")).unwrap();
    stack
        .eventually("the worker is ready", async || said().contains("worker is ready"))
        .await;
    said()
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
