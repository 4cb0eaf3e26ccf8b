//! Overload: slow connections, connections beyond the cap, and callers beyond the pipeline's capacity. The
//! tests assert answers, never durations.

use std::net::SocketAddr;

use chrono::TimeDelta;
use futures::future::join_all;
use futures::stream::FuturesUnordered;
use futures::{StreamExt, stream};
use reqwest::{Method, StatusCode};
use runtime::clock::Clock;
use serde_json::json;
use test_harness::{
    Answer, Edge, PATIENT, Program, Stack, allow_open_files, answering_within,
    hooks::{Hooks, connected, event},
    mark_for_rotation, noon, sale_of,
};
use testing::OwnNats;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

const SLOW: usize = 5_000;

/// How a slow client behaves.
#[derive(Debug, Clone, Copy)]
enum Pace {
    /// Begins a head and never ends it.
    Head,
    /// Sends a head, but only one byte of the announced body.
    Body,
    /// Sends one request, reads the answer, and stays connected.
    Idle,
}

impl Pace {
    const fn sends(self) -> &'static [u8] {
        match self {
            Self::Head => b"POST /api/v1/track/click HTTP/1.1\r\nHost: a\r\nX-Slow:",
            Self::Body => b"POST /api/v1/track/click HTTP/1.1\r\nHost: a\r\nContent-Length: 99\r\n\r\n{",
            Self::Idle => b"GET /livez HTTP/1.1\r\nHost: a\r\n\r\n",
        }
    }
}

/// Opens `count` connections with this pace. Each task ends when the service closes its connection.
async fn slow_connections(address: SocketAddr, count: usize) -> Vec<JoinHandle<()>> {
    let open = |n: usize| async move {
        let pace = [Pace::Head, Pace::Body, Pace::Idle][n % 3];
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(pace.sends()).await.unwrap();
        stream
    };
    let end = |mut stream: TcpStream| {
        tokio::spawn(async move {
            // The client ignores what the service sends before it closes.
            let _ = stream.read_to_end(&mut Vec::new()).await;
        })
    };
    stream::iter(0..count)
        .map(open)
        .buffer_unordered(200)
        .map(end)
        .collect()
        .await
}

/// The most connections that this process may have, since it holds both ends: 5,000 if the limit allows.
fn allowed_connections() -> usize {
    allow_open_files(16_384);
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap();
    let open_files = limits.lines().find(|line| line.starts_with("Max open files"));
    let soft = open_files.and_then(|line| line.split_whitespace().nth(3));
    let soft: usize = soft.unwrap().parse().unwrap_or(usize::MAX);
    let count = SLOW.min(soft.saturating_sub(1_000) / 2);
    assert!(count >= 500, "only {soft} open files are allowed");
    count
}

/// One customer's way through the funnel; every answer is the same as without load.
async fn funnel(stack: &Stack, program: &Program, name: &str) {
    stack.customer(program, &program.ada.code, name).await;
    stack.sold(program, sale_of(name, name)).await;
    stack.refunded(program, json!({ "transaction_id": name })).await;
    stack.send(stack.request(Method::GET, "/readyz")).await.ok();
}

#[tokio::test(flavor = "multi_thread")]
async fn five_thousand_slow_connections_stop_nobody_and_are_all_cut_off() {
    let count = allowed_connections();
    let (stack, edge) = answering_within(PATIENT).await;
    let program = stack.program().await;
    let slow = slow_connections(edge.address(), count).await;
    assert_eq!(slow.len(), count);
    let mut rounds = 0;
    while rounds < 10 || !slow.iter().all(JoinHandle::is_finished) {
        funnel(&stack, &program, &format!("user-{rounds}")).await;
        rounds += 1;
    }
    join_all(slow).await;
    stack.verify().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_webhook_consumer_closes_slow_connections_and_answers_503_beyond_its_cap() {
    let mut stack = Stack::start_set(&[("MAX_CONNECTIONS", "64")]).await;
    let hooks = Hooks::start(&mut stack).await;
    let program = connected(&stack).await;
    stack.customer(&program, &program.ada.code, "user-1").await;
    let slow = slow_connections(hooks.address(), 300).await;
    let event = event(&stack, "checkout.session.completed.basil", &program, "user-1");
    loop {
        let answer = hooks.deliver(&stack, &program, &event).await;
        if answer.status == StatusCode::OK {
            break;
        }
        shed(&answer);
    }
    join_all(slow).await;
    stack.reaches("sale_events", 1).await;
    stack.verify().await;
}

fn shed(answer: &Answer) {
    assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE, "{answer:?}");
    assert_eq!(answer.header("retry-after"), "1", "{answer:?}");
    assert_eq!(answer.message(), "The service is over capacity");
    assert_eq!(answer.body["error"]["name"], "ServiceUnavailableError");
}

const WAITING: usize = 8;

#[tokio::test(flavor = "multi_thread")]
async fn so_many_callers_wait_for_a_worker_and_the_next_is_shed_with_nothing_recorded() {
    let mut stack = Stack::without_services(Clock::system()).await;
    stack.set("MAX_WAITING", &WAITING.to_string());
    stack.set("ANSWER_WITHIN_MS", &PATIENT.to_string());
    stack.start_worker();
    let edge = Edge::at(stack.start_ingest());
    stack.use_ingest(edge.address());
    stack.ready().await;
    let program = stack.program_with_customer().await;
    mark_for_rotation(&stack, &program, noon() + TimeDelta::days(36_500)).await;
    stack
        .eventually("the mark is known", async || {
            !stack.sale(&program, json!({})).await.header("sunset").is_empty()
        })
        .await;
    let mut calls = Vec::new();
    for n in 0..2 * WAITING {
        let (old, new) = (format!("old-{n}"), format!("new-{n}"));
        stack.sold(&program, sale_of(&old, "user-1")).await;
        let click_id = stack.click(&program.ada.code).await;
        calls.extend([
            ("lead", json!({ "click_id": click_id, "customer_key": new })),
            ("sale", sale_of(&new, "user-1")),
            ("refund", json!({ "transaction_id": old })),
        ]);
    }
    stack.stop_workers().await;
    let mut answers: FuturesUnordered<_> = calls
        .iter()
        .map(|(path, body)| edge.post(path, Some(&program.token), body))
        .collect();
    // Half of the callers of each noun time out in the queue: nothing is processed, so no other caller is
    // answered.
    for _ in 0..calls.len() / 2 {
        shed(&answers.next().await.unwrap());
    }
    // Shed, but the rotation of its key is announced.
    let late = edge.sale(&program, &sale_of("late", "user-1")).await;
    shed(&late);
    assert!(!late.header("sunset").is_empty(), "{late:?}");
    assert_eq!(late.body["warnings"][0]["code"], "api_key_rotation_required");
    let claimed = "transaction_claims WHERE transaction_id LIKE 'new-%'";
    stack.reaches(claimed, i64::try_from(WAITING).unwrap()).await;
    stack.start_worker();
    let waited: Vec<Answer> = answers.collect().await;
    assert_eq!(waited.len(), calls.len() / 2);
    for answer in waited {
        answer.ok();
    }
    stack.verify().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_few_callers_too_many_queue_and_are_served() {
    let stack = Stack::start_set(&[("MAX_WAITING", "2")]).await;
    let program = stack.program_with_customer().await;
    let sales = (0..6).map(|n| stack.sale(&program, sale_of(&format!("t{n}"), "user-1")));
    for answer in join_all(sales).await {
        answer.ok();
    }
    stack.verify().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn while_nats_hangs_so_many_clicks_wait_for_it_and_the_next_is_shed() {
    let nats = OwnNats::start();
    let mut stack = Stack::without_services(Clock::system()).await;
    stack.set("NATS_URL", &nats.url());
    stack.set("MAX_WAITING", &WAITING.to_string());
    stack.start_services().await;
    let program = stack.program().await;
    stack.click(&program.ada.code).await;
    nats.pause();
    let mut answers: FuturesUnordered<_> = (0..2 * WAITING)
        .map(|_| stack.click_with(&program.ada.code, json!({})))
        .collect();
    for _ in 0..WAITING {
        shed(&answers.next().await.unwrap());
    }
    nats.go_on();
    let waited: Vec<Answer> = answers.collect().await;
    // Whether each was stored in time depends on the machine, but none was refused a permit.
    assert_eq!(waited.len(), WAITING);
    for answer in waited {
        let known = [StatusCode::OK, StatusCode::INTERNAL_SERVER_ERROR];
        assert!(known.contains(&answer.status), "{answer:?}");
    }
    stack.ready().await;
    stack.click(&program.ada.code).await;
    stack.verify().await;
}
