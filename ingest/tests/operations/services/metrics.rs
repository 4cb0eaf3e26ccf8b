//! The metrics of services, from processes of this test alone.

use std::collections::BTreeSet;
use std::net::SocketAddr;

use reqwest::{Method, StatusCode};
use runtime::clock::Clock;
use runtime::metrics;
use serde_json::json;
use test_harness::{Edge, Stack, sale_of};
use testing::{OwnPostgres, Process, TestDatabase, free_address};

/// A process of the service, and the address of its metrics.
struct Watched {
    name: &'static str,
    edge: Edge,
    metrics: SocketAddr,
    _process: Process,
}

impl Watched {
    async fn start(stack: &Stack, name: &'static str) -> Self {
        let (address, metrics) = (free_address(), free_address());
        let mut settings = stack.environment(address);
        settings.push(("METRICS_LISTEN", metrics.to_string()));
        let watched = Self {
            name,
            edge: Edge::at(address),
            metrics,
            _process: Process::start(name, &settings),
        };
        watched.edge.ready(stack).await;
        watched
    }

    async fn shown(&self) -> String {
        let metrics = Edge::at(self.metrics);
        let answer = metrics.send(metrics.request(Method::GET, "/metrics")).await.ok();
        let kind = answer.header("content-type");
        assert!(kind.starts_with("application/openmetrics-text"), "{kind}");
        answer.text().to_owned()
    }

    /// Waits until the metrics contain all of these lines.
    async fn shows(&self, stack: &Stack, lines: &[&str]) {
        let what = format!("{} shows {lines:?}", self.name);
        stack
            .eventually(&what, async || {
                let shown = self.shown().await;
                lines.iter().all(|line| shown.lines().any(|shown| shown == *line))
            })
            .await;
    }

    /// Each metric is declared for this service.
    async fn shows_only_what_is_declared(&self) -> BTreeSet<String> {
        let shown = self.shown().await;
        let declared = |name: &str| {
            metrics::ALL.iter().any(|metric| {
                let parts = ["", "_bucket", "_sum", "_count"].map(|part| format!("{}{part}", metric.name()));
                metric.services().contains(&self.name) && parts.iter().any(|part| part == name)
            })
        };
        let names: BTreeSet<String> = shown
            .lines()
            .filter(|line| !line.starts_with('#'))
            .map(|line| line.split(['{', ' ']).next().unwrap().to_owned())
            .collect();
        let undeclared: Vec<_> = names.iter().filter(|name| !declared(name)).collect();
        assert!(undeclared.is_empty(), "{}: {undeclared:?}", self.name);
        names
    }
}

#[tokio::test]
async fn services_show_what_they_did() {
    let stack = Stack::without_services(Clock::system()).await;
    let (program, other) = (stack.program().await, stack.program().await);
    let ingest = Watched::start(&stack, "ingest").await;
    let worker = Watched::start(&stack, "worker").await;
    let webhooks = Watched::start(&stack, "webhook-consumer").await;
    let click_id = ingest.edge.click(&program.ada.code, None).await;
    ingest.edge.lead(&program, &click_id, "user-1").await.ok();
    for status in [200, 409] {
        let sale = ingest.edge.sale(&program, &sale_of("t1", "user-1")).await;
        sale.is(status);
    }
    let held_elsewhere = |count: u32| format!("referral_claims_held_elsewhere_total {count}");
    let none = held_elsewhere(0);
    for service in [&ingest, &webhooks] {
        service.shows(&stack, &[&none]).await;
    }
    ingest.edge.sale(&other, &sale_of("t1", "user-2")).await.is(409);
    ingest
        .edge
        .refund(&program, &json!({ "transaction_id": "t1" }))
        .await
        .ok();
    assert_eq!(ingest.edge.health("metrics").await, Some(StatusCode::NOT_FOUND));
    let unsigned = webhooks.edge.request(Method::POST, "/webhooks/stripe/1");
    webhooks.edge.send(unsigned.json(&json!({}))).await.is(400);

    ingest
        .shows(
            &stack,
            &[
                "referral_requests_total{route=\"POST /api/v1/track/click\",status=\"200\"} 1",
                "referral_requests_total{route=\"POST /api/v1/track/sale\",status=\"200\"} 1",
                "referral_requests_total{route=\"POST /api/v1/track/sale\",status=\"409\"} 2",
                "referral_request_seconds_count{route=\"POST /api/v1/track/sale\"} 3",
                "referral_claims_total{result=\"won\"} 1",
                "referral_claims_total{result=\"taken\"} 2",
                &held_elsewhere(1),
                "referral_waiting{noun=\"sales\"} 0.0",
                "referral_waiting_max{noun=\"sales\"} 2048.0",
                "referral_directory_live 1.0",
                "referral_batch_records_sum{batcher=\"claims\"} 3.0",
            ],
        )
        .await;
    worker
        .shows(
            &stack,
            &[
                "referral_records_total{subject=\"clicks\",outcome=\"done\"} 1",
                "referral_records_total{subject=\"sales\",outcome=\"done\"} 1",
                "referral_step_records_sum{subject=\"refunds\"} 1.0",
                "referral_source_up{source=\"postgres\"} 1.0",
                "referral_source_up{source=\"jetstream\"} 1.0",
                "referral_claims_open 0.0",
                "referral_claims_open_oldest_seconds 0.0",
                "referral_consumer_pending{subject=\"sales\"} 0.0",
                "referral_consumer_oldest_seconds{subject=\"sales\"} 0.0",
                "referral_consumer_unacknowledged{subject=\"sales\"} 0.0",
                "referral_stream_bytes_max{subject=\"sales\"} 8388608.0",
                "referral_dead_letters{subject=\"sales\"} 0.0",
                "referral_dead_letters_total{subject=\"sales\"} 0",
                "referral_processor_events{state=\"parked\"} 0.0",
            ],
        )
        .await;
    let unsigned = "referral_requests_total{route=\"POST /webhooks/stripe/{program_id}\",status=\"400\"} 1";
    webhooks.shows(&stack, &[unsigned]).await;
    let everywhere = [
        "referral_build_info",
        "referral_started_seconds",
        "referral_pool_connections",
    ];
    for service in [&ingest, &worker, &webhooks] {
        let names = service.shows_only_what_is_declared().await;
        for name in everywhere {
            assert!(names.contains(name), "{name} is not in {names:?}");
        }
    }
}

#[tokio::test]
async fn while_postgres_is_down_what_it_would_tell_is_missing_and_the_rest_is_shown() {
    let postgres = OwnPostgres::start();
    let stack = Stack::on(TestDatabase::create_on(postgres.url()).await, Clock::system());
    let worker = Watched::start(&stack, "worker").await;
    // There is no archiving and no replica here.
    let healthy = [
        "referral_claims_open 0.0",
        "referral_postgres_unarchived_seconds 0.0",
    ];
    worker.shows(&stack, &healthy).await;
    let ids = "referral_postgres_transaction_id_age";
    // Needs a replication slot, and the right to see transactions of other roles.
    let later = [
        "referral_postgres_slot_bytes",
        "referral_postgres_oldest_transaction_seconds",
    ];
    let names = worker.shows_only_what_is_declared().await;
    assert!(names.contains(ids), "{names:?}");
    assert!(!later.iter().any(|name| names.contains(*name)), "{names:?}");
    for change in [
        "SELECT pg_create_physical_replication_slot('unread', true)",
        "GRANT pg_read_all_stats TO referral_tracker_service",
    ] {
        stack.execute(change).await;
    }
    let names = worker.shows_only_what_is_declared().await;
    assert!(later.iter().all(|name| names.contains(*name)), "{names:?}");
    postgres.stop_at_once();
    let up = [
        "referral_source_up{source=\"postgres\"} 0.0",
        "referral_source_up{source=\"jetstream\"} 1.0",
    ];
    worker.shows(&stack, &up).await;
    let names = worker.shows_only_what_is_declared().await;
    assert!(!names.contains("referral_claims_open"), "{names:?}");
    assert!(!names.contains(ids), "{names:?}");
    assert!(names.contains("referral_consumer_pending"), "{names:?}");
    postgres.start_again();
    worker.shows(&stack, &["referral_claims_open 0.0"]).await;
}
