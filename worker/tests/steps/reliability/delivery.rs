//! Messages arrive more than once, late, and out of order; that changes nothing.

use std::time::Duration;

use messages::subject::Subject;
use runtime::clock::Clock;
use serde_json::{Value, json};
use test_harness::{
    Answer, Edge, Json, PATIENT, Program, Stack, Streams, answering_within, digests, refund_of, rows,
    sale_at_a_dying_ingest, sale_of,
};

/// Produces every kind of outcome at least once.
async fn traffic(stack: &Stack, program: &Program) {
    for n in 0..8 {
        let key = format!("user-{n}");
        let click_id = stack.customer(program, &program.ada.code, &key).await;
        stack.sale(program, sale_of(&format!("first-{n}"), &key)).await;
        let switch = json!({ "existing_click_id": click_id });
        stack.click_with(&program.bruno.code, switch).await;
        stack.lead(program, &click_id, &key).await;
        let renewal = json!({ "subscription_id": "subscription", "is_recurring": true });
        let renewal = sale_of(&format!("second-{n}"), &key).with(renewal);
        stack.sale(program, renewal).await;
    }
    stack.sale(program, sale_of("lost", "nobody")).await;
    stack.refund(program, refund_of("unknown", 0)).await;
    for (sale, cents) in [
        ("first-0", 2_000),
        ("first-0", 2_000),
        ("first-0", 1_000),
        ("first-1", 0),
        ("first-1", 0),
    ] {
        stack.refund(program, refund_of(sale, cents)).await;
    }
}

async fn replay_changes_nothing(stack: &Stack, streams: &Streams) {
    streams.drained(stack).await;
    let before = digests(stack).await;
    streams.replay(stack).await;
    assert_eq!(digests(stack).await, before);
}

#[tokio::test]
async fn every_message_delivered_three_times_leaves_every_row_as_it_was() {
    let (stack, program) = Stack::with_program().await;
    let streams = Streams::of(&stack).await;
    traffic(&stack, &program).await;
    replay_changes_nothing(&stack, &streams).await;
    stack.verify().await;
}

#[tokio::test]
async fn a_refused_sale_stays_refused_and_leaves_its_transaction_id_to_a_corrected_call() {
    let (stack, program) = Stack::with_program().await;
    let streams = Streams::of(&stack).await;
    let refused = stack.sale(&program, sale_of("t1", "user-1")).await;
    assert_eq!(
        refused.message(),
        "Customer not found. Provide customer_key or click_id."
    );
    stack.customer(&program, &program.ada.code, "user-1").await;
    // The refused sale would succeed now.
    streams.replay(&stack).await;
    assert_eq!(stack.count("sale_events").await, 0);
    let corrected = sale_of("t1", "user-1").with(json!({ "amount_cents": 700 }));
    stack.sold(&program, corrected).await;
    // The copies of the first call now meet another event's claim.
    streams.replay(&stack).await;
    assert_eq!(stack.count("sale_events WHERE amount_cents = 700").await, 1);
    assert_eq!(stack.balance(program.ada.membership).await, 140);
    // The copies were ignored, not tried.
    assert_eq!(stack.count("dead_letters").await, 0);
    stack.verify().await;
}

#[tokio::test]
async fn a_refused_lead_stays_refused_when_its_message_comes_again() {
    let (stack, program) = Stack::with_program().await;
    rows::set(&stack, &program, "lead_auth = 'server_required'").await;
    let streams = Streams::of(&stack).await;
    let by_key = json!({ "customer_key": "user-1" });
    stack
        .post("lead", Some(&program.token), by_key.clone())
        .await
        .is(400);
    let click_id = stack.click(&program.ada.code).await;
    let proposal = json!({ "click_id": click_id, "customer_key": "user-1" });
    let proposed = stack.post("lead", None, proposal).await;
    assert_eq!(proposed.body["provisional"], true, "{proposed:?}");
    // The proposal has given the refused lead a customer.
    streams.replay(&stack).await;
    assert_eq!(stack.count("customers WHERE status = 'click'").await, 1);
    assert_eq!(stack.count("lead_events").await, 1);
    stack.post("lead", Some(&program.token), by_key).await.ok();
    stack.verify().await;
}

#[tokio::test]
async fn a_refund_refused_for_want_of_a_sale_stays_refused_when_its_message_comes_again() {
    let (stack, program) = Stack::with_program().await;
    let streams = Streams::of(&stack).await;
    stack.refund(&program, refund_of("t1", 0)).await.is(404);
    stack.customer(&program, &program.ada.code, "user-1").await;
    stack.sold(&program, sale_of("t1", "user-1")).await;
    streams.replay(&stack).await;
    assert_eq!(stack.balance(program.ada.membership).await, 1_000);
    stack.verify().await;
}

#[tokio::test]
async fn a_refund_sent_while_its_sale_waits_for_a_worker_takes_its_commission_back() {
    let (mut stack, edge) = answering_within(PATIENT).await;
    let program = stack.program_with_customer().await;
    stack.stop_workers().await;
    let streams = Streams::of(&stack).await;
    let sale = edge.in_background(&program, "sale", sale_of("t1", "user-1"));
    stack.reaches("transaction_claims", 1).await;
    let refund = json!({ "transaction_id": "t1" });
    let refund = edge.in_background(&program, "refund", refund);
    stack
        .eventually("the refund is published", async || {
            !streams.messages(Subject::Refunds).await.is_empty()
        })
        .await;
    stack.start_worker();
    sale.await.unwrap().ok();
    let refund = refund.await.unwrap();
    assert_eq!(refund.body["status"], "reversed", "{refund:?}");
    assert_eq!(stack.balance(program.ada.membership).await, 0);
    stack.verify().await;
}

/// Sends a refund of `t1` while its sale is claimed but not delivered to the workers. Publishes the sale once
/// the refund is parked.
async fn parked_refund(stack: &mut Stack, program: &Program, sale: Value) -> Answer {
    stack.stop_workers().await;
    sale_at_a_dying_ingest(stack, program, &sale).await;
    due_in(stack, "1 hour").await;
    let worker = Edge::at(stack.start_worker());
    worker.ready(stack).await;
    let refund = stack.refund(program, json!({ "transaction_id": "t1" }));
    let release = async {
        stack.reaches("parked_refunds", 1).await;
        due_in(stack, "-1 second").await;
    };
    tokio::join!(refund, release).0
}

async fn due_in(stack: &Stack, interval: &str) {
    let due = format!("relay_after = now() + interval '{interval}'");
    let set = format!("UPDATE transaction_claims SET {due} WHERE state = 'open'");
    stack.execute(&set).await;
}

#[tokio::test]
async fn a_refund_parked_before_its_sale_is_settled_with_it() {
    let (mut stack, _) = answering_within(PATIENT).await;
    let program = stack.program_with_customer().await;
    let answer = parked_refund(&mut stack, &program, sale_of("t1", "user-1")).await;
    answer
        .body
        .has(json!({ "status": "reversed", "deductionAmount": 10.0 }));
    assert_eq!(stack.balance(program.ada.membership).await, 0);
    assert_eq!(stack.count("parked_refunds").await, 0);
    let streams = Streams::of(&stack).await;
    replay_changes_nothing(&stack, &streams).await;
    stack.verify().await;
}

#[tokio::test]
async fn a_refund_parked_for_a_sale_that_is_refused_finds_no_sale() {
    let (mut stack, _) = answering_within(PATIENT).await;
    let program = stack.program().await;
    parked_refund(&mut stack, &program, sale_of("t1", "nobody"))
        .await
        .is(404);
    assert_eq!(stack.count("parked_refunds").await, 0);
    assert_eq!(stack.count("transaction_claims").await, 0);
    stack.verify().await;
}

/// Waits until a worker has this many clicks.
async fn in_hand(stack: &Stack, streams: &Streams, clicks: usize) {
    stack
        .eventually("a worker has the clicks", async || {
            streams.in_hand(Subject::Clicks).await >= clicks
        })
        .await;
}

/// Copies of the last click, which wait like any click.
async fn copies(streams: &Streams, count: usize) {
    let click = streams.messages(Subject::Clicks).await.pop().unwrap();
    for _ in 0..count {
        streams.publish(Subject::Clicks, click.clone()).await;
    }
}

/// More messages than a worker requests at once, so that some wait in its connection.
const SENT: usize = 700;

#[tokio::test]
async fn a_worker_that_leaves_gives_back_whatever_it_was_sent() {
    let mut stack = Stack::without_services(Clock::system()).await;
    // No ack timeout may end during this test.
    stack.set("ACK_WAIT_MS", "600000");
    stack.start_services().await;
    let program = stack.program().await;
    let streams = Streams::of(&stack).await;
    let holding_up = stack.hold_up_clicks().await;
    stack.click(&program.ada.code).await;
    in_hand(&stack, &streams, 1).await;
    copies(&streams, SENT).await;
    in_hand(&stack, &streams, 1 + SENT).await;
    let ((), released) = tokio::join!(stack.stop_workers(), holding_up.rollback());
    released.unwrap();
    // The next worker need not wait for any of the messages.
    stack.start_worker();
    streams.drained(&stack).await;
}

/// More messages than two batches hold.
const FETCHED_AHEAD: usize = 1_200;

/// Inserting a click waits until `go_on` has a row.
const SLOW_CLICKS: &str = "CREATE TABLE go_on (n integer);
    CREATE FUNCTION wait_to_go_on() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        WHILE NOT EXISTS (SELECT FROM go_on) LOOP PERFORM pg_sleep(0.01); END LOOP;
        RETURN NULL;
    END $$;
    CREATE TRIGGER slow BEFORE INSERT ON click_events FOR EACH STATEMENT EXECUTE FUNCTION wait_to_go_on()";

#[tokio::test]
async fn whatever_waits_behind_a_slow_batch_is_not_delivered_again() {
    const ACK_WAIT_MS: u64 = 1_000;
    let mut stack = Stack::without_services(Clock::system()).await;
    stack.set("ACK_WAIT_MS", &ACK_WAIT_MS.to_string());
    stack.start_services().await;
    let program = stack.program().await;
    let streams = Streams::of(&stack).await;
    stack.execute(SLOW_CLICKS).await;
    stack.click(&program.ada.code).await;
    in_hand(&stack, &streams, 1).await;
    copies(&streams, FETCHED_AHEAD).await;
    in_hand(&stack, &streams, 1 + FETCHED_AHEAD).await;
    streams
        .outlast(Subject::Clicks, Duration::from_millis(ACK_WAIT_MS))
        .await;
    assert_eq!(streams.redelivered(Subject::Clicks).await, 0);
    stack.execute("INSERT INTO go_on VALUES (1)").await;
    streams.drained(&stack).await;
}
