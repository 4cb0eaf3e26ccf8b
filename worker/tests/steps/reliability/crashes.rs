//! Processes die, callers disconnect, no worker runs: what was accepted is recorded once.

use std::io::Write;
use std::net::TcpStream;

use reqwest::StatusCode;
use test_harness::{
    PATIENT, Program, Stack, Streams, answering_within, ended, sale_at_a_dying_ingest, sale_of,
};
use testing::free_address;

/// Too short for an answer while no worker runs.
const IMPATIENT: u32 = 300;

/// A customer whose messages are all consumed. No worker runs any more.
async fn customer_without_worker(stack: &mut Stack) -> (Program, Streams) {
    let program = stack.program().await;
    // `customer` would not do: its lead may take longer than this stack's callers wait.
    let click_id = stack.click(&program.ada.code).await;
    stack.lead(&program, &click_id, "user-1").await;
    let streams = Streams::of(stack).await;
    streams.drained(stack).await;
    stack.stop_workers().await;
    (program, streams)
}

async fn recorded_once(stack: &Stack, program: &Program) {
    stack
        .reaches("transaction_claims WHERE state = 'recorded'", 1)
        .await;
    assert_eq!(stack.count("sale_events").await, 1);
    assert_eq!(stack.count("commissions").await, 1);
    assert_eq!(stack.balance(program.ada.membership).await, 1_000);
}

async fn retry_conflicts(stack: &Stack, program: &Program) {
    stack.sale(program, sale_of("t1", "user-1")).await.is(409);
}

/// The sale reaches a worker that dies at `crash_point`. Another worker gets the unacknowledged message.
async fn sale_survives_its_worker(crash_point: &str) {
    let (mut stack, edge) = answering_within(IMPATIENT).await;
    let (program, streams) = customer_without_worker(&mut stack).await;
    let worker = stack.crashing("worker", free_address(), crash_point);
    let caller = edge.sale(&program, &sale_of("t1", "user-1")).await;
    // The outcome may have been sent before the crash or not. No caller may get the answer "not recorded".
    let known = [StatusCode::OK, StatusCode::INTERNAL_SERVER_ERROR];
    assert!(known.contains(&caller.status), "{caller:?}");
    assert!(!ended(worker).await.success());
    recorded_once(&stack, &program).await;
    stack.start_worker();
    streams.drained(&stack).await;
    recorded_once(&stack, &program).await;
    retry_conflicts(&stack, &program).await;
    stack.verify().await;
}

#[tokio::test]
async fn a_sale_exists_once_when_its_worker_dies_between_commit_and_answer() {
    sale_survives_its_worker("worker.after_commit").await;
}

#[tokio::test]
async fn a_sale_exists_once_when_its_worker_dies_between_answer_and_acknowledgement() {
    sale_survives_its_worker("worker.before_ack").await;
}

#[tokio::test]
async fn the_relay_records_a_sale_whose_ingest_died_between_claiming_and_publishing_it() {
    let (stack, _) = answering_within(PATIENT).await;
    let program = stack.program_with_customer().await;
    sale_at_a_dying_ingest(&stack, &program, &sale_of("t1", "user-1")).await;
    retry_conflicts(&stack, &program).await;
    recorded_once(&stack, &program).await;
    stack.verify().await;
}

#[tokio::test]
async fn without_a_worker_a_sale_is_unknown_to_its_caller_and_recorded_by_the_next_worker() {
    let (mut stack, _) = answering_within(IMPATIENT).await;
    let (program, _) = customer_without_worker(&mut stack).await;
    let unknown = stack.sale(&program, sale_of("t1", "user-1")).await.is(500);
    assert_eq!(unknown.message(), "Sale tracking failed");
    assert_eq!(stack.count("transaction_claims WHERE state = 'open'").await, 1);
    retry_conflicts(&stack, &program).await;
    stack.start_worker();
    recorded_once(&stack, &program).await;
    stack.verify().await;
}

#[tokio::test]
async fn a_caller_who_hangs_up_while_waiting_loses_nothing() {
    let (mut stack, edge) = answering_within(PATIENT).await;
    let (program, _) = customer_without_worker(&mut stack).await;
    let caller = edge.in_background(&program, "sale", sale_of("t1", "user-1"));
    stack.reaches("transaction_claims", 1).await;
    caller.abort();
    assert!(caller.await.unwrap_err().is_cancelled());
    stack.start_worker();
    recorded_once(&stack, &program).await;
    retry_conflicts(&stack, &program).await;
    stack.verify().await;
}

#[tokio::test]
async fn callers_who_hang_up_at_once_leave_whole_sales_or_none() {
    let (stack, edge) = answering_within(PATIENT).await;
    let program = stack.program_with_customer().await;
    for n in 0..20 {
        let body = sale_of(&format!("t{n}"), "user-1").to_string();
        let head = format!(
            "POST /api/v1/track/sale HTTP/1.1\r\nHost: edge\r\nAuthorization: Bearer {}\r\nContent-Length: {}\r\n\r\n",
            program.token,
            body.len()
        );
        // Every second caller disconnects in the middle of its body.
        let sent = if n % 2 == 0 {
            &body[..]
        } else {
            &body[..body.len() / 2]
        };
        let mut connection = TcpStream::connect(edge.address()).unwrap();
        connection.write_all(format!("{head}{sent}").as_bytes()).unwrap();
        drop(connection);
    }
    // Each call can be repeated: the answer is that the sale was already recorded, or is recorded now.
    for n in 0..20 {
        let repeat = stack.sale(&program, sale_of(&format!("t{n}"), "user-1")).await;
        let known = [StatusCode::OK, StatusCode::CONFLICT];
        assert!(known.contains(&repeat.status), "{repeat:?}");
    }
    stack.reaches("sale_events", 20).await;
    assert_eq!(stack.balance(program.ada.membership).await, 20_000);
    stack.verify().await;
}
