//! Processes die between any two steps: each event arrives at least once, with the same id.

use std::collections::BTreeSet;

use domain::programs::outbound_event::OutboundEventType::LeadCreated;
use reqwest::StatusCode;
use runtime::clock::Clock;
use test_harness::{Receiver, Reply, Stack, webhooks};
use testing::{Process, free_address};

/// Short, so that a dead process's leases end while the test waits.
const TIMEOUT: &str = "500";

async fn survives(crash_point: &str, most: usize) {
    let (mut stack, program, receiver) = webhooks::receiving(Clock::system(), Reply::Status(200)).await;
    stack.set("WEBHOOK_TIMEOUT_MS", TIMEOUT);
    let ids = webhooks::leads(&stack, &program, (0..12).map(|n| n % 4)).await;
    let crash = [("WORKER_ROLE", "delivery"), ("CRASH_AT", crash_point)];
    stack.fails("worker", &crash).await;
    stack.start_delivery();
    webhooks::drained(&stack).await;
    let arrived = receiver.ids();
    let distinct: BTreeSet<&String> = arrived.iter().collect();
    assert_eq!(distinct, ids.iter().collect(), "{crash_point}");
    assert!(arrived.len() <= ids.len() + most, "{crash_point}: {arrived:?}");
    // For each customer, the first arrival of each event.
    for customer in 0..4 {
        let expected: Vec<&String> = ids.iter().skip(customer).step_by(4).collect();
        let mut came: Vec<&String> = Vec::new();
        for id in arrived.iter().filter(|id| expected.contains(id)) {
            if !came.contains(&id) {
                came.push(id);
            }
        }
        assert_eq!(came, expected, "{crash_point}");
    }
    assert_eq!(webhooks::finished(&stack, "state = 'delivered'").await, 12);
}

#[tokio::test]
async fn a_process_that_dies_after_placing_loses_nothing() {
    survives("delivery.after_place", 0).await;
}

#[tokio::test]
async fn a_process_that_dies_after_taking_leaves_leases_that_end() {
    survives("delivery.after_take", 0).await;
}

#[tokio::test]
async fn a_process_that_dies_after_sending_sends_again() {
    survives("delivery.after_send", 4).await;
}

#[tokio::test]
async fn a_process_that_dies_before_it_writes_results_sends_again() {
    survives("delivery.before_finish", 4).await;
}

#[tokio::test]
async fn a_process_that_dies_after_it_wrote_results_sends_the_rest() {
    survives("delivery.after_finish", 4).await;
}

#[tokio::test]
async fn a_shutdown_finishes_what_is_in_flight_and_takes_nothing_more() {
    let mut stack = Stack::without_services(Clock::system()).await;
    stack.set("WEBHOOK_IN_FLIGHT", "3");
    let program = stack.program().await;
    let receiver = Receiver::replying(Reply::Hang).await;
    for _ in 0..3 {
        webhooks::endpoint(&stack, &program, &receiver.url(), &[LeadCreated]).await;
    }
    webhooks::leads(&stack, &program, 1..=10).await;
    stack.start_delivery();
    receiver.holds(&stack, 3).await;
    let stopping = stack.stop_workers();
    tokio::join!(stopping, async { receiver.release() });
    assert_eq!(receiver.count(), 3);
    assert_eq!(webhooks::finished(&stack, "state = 'delivered'").await, 3);
    assert_eq!(stack.count("webhook_queue").await, 27);
}

#[tokio::test]
async fn the_role_is_ready_without_nats_and_without_keys_of_the_pipeline() {
    let stack = Stack::without_services(Clock::system()).await;
    let address = free_address();
    let mut settings = stack.environment(address);
    settings.retain(|(name, _)| ["DATABASE_URL", "SECRETS_KEYS", "EMAIL_HASH_KEY", "LISTEN"].contains(name));
    settings.push(("WORKER_ROLE", "delivery".to_owned()));
    let unset = ["NATS_URL", "REDIS_URL"];
    let _process = Process::start_without("worker", &settings, &unset);
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    stack
        .eventually("it is ready", async || {
            let answer = http.get(format!("http://{address}/readyz")).send().await;
            let Ok(answer) = answer else { return false };
            let status = answer.status();
            let body: serde_json::Value = answer.json().await.unwrap();
            status == StatusCode::OK && body == serde_json::json!({ "ready": true, "postgres": true })
        })
        .await;
}
