//! Events are delivered at least once and kept exactly once: duplicates, crashes and outages.

use std::sync::Arc;

use futures::future::join_all;
use reqwest::StatusCode;
use runtime::clock::Clock;
use serde_json::json;
use test_harness::{
    Edge, Json, Stack, ended,
    hooks::{Hooks, SECRET, accepted, connected, event, header, inbox, nothing_stored, path, settled},
};
use testing::{OwnNats, OwnPostgres, TestDatabase, free_address};

const EVENTS_OF_AN_OUTAGE: i64 = 24;

async fn recorded_once(stack: &Stack) {
    stack.reaches("sale_events", 1).await;
    settled(stack, &["done"]).await;
    assert_eq!(stack.count("sale_events").await, 1);
    let earned: Vec<i64> = stack.values("SELECT amount_cents::bigint FROM commissions").await;
    assert_eq!(earned, [980]);
}

#[tokio::test]
async fn copies_of_an_event_answer_200_and_change_nothing() {
    let (stack, hooks, program) = Hooks::with_customer().await;
    let event = event(&stack, "checkout.session.completed.basil", &program, "user-1");
    let copies = (0..20).map(|_| hooks.deliver(&stack, &program, &event));
    for answer in join_all(copies).await {
        accepted(&answer);
    }
    recorded_once(&stack).await;
    let before = inbox(&stack).await;
    assert_eq!(before.len(), 1);
    // A duplicate with other content is still a duplicate.
    let mut changed = event.clone();
    changed["data"]["object"]["payment_intent"] = json!("pi_3Other");
    accepted(&hooks.deliver(&stack, &program, &changed).await);
    accepted(&hooks.deliver(&stack, &program, &event).await);
    assert_eq!(inbox(&stack).await, before);
    assert_eq!(stack.count("transaction_claims").await, 1);
    let payload: Option<String> = stack.value("SELECT payload FROM processor_events").await;
    assert_eq!(payload, None, "personal data goes when the event is done");
    stack.verify().await;
}

#[tokio::test]
async fn what_is_of_no_use_is_answered_200_with_the_reason_and_leaves_no_row() {
    let (stack, hooks, program) = Hooks::with_program().await;
    let event = event(&stack, "checkout.session.completed.basil", &program, "user-1");
    let unused = "Events of this type are not used";
    let test_mode = "Events of the test mode are not recorded";
    for (of_no_use, reason) in [
        (json!({ "livemode": false }), test_mode),
        (json!({ "type": "payment_intent.created" }), unused),
        (json!({ "type": "nonsense \u{0} of a type" }), unused),
    ] {
        let of_no_use = event.clone().with(of_no_use);
        let answer = hooks.deliver(&stack, &program, &of_no_use).await.ok();
        assert_eq!(answer.body, json!({ "received": true, "ignored": reason }));
    }
    nothing_stored(&stack).await;
}

/// The consumer dies at `crash_point`; the sender delivers again to the next consumer.
async fn event_survives_its_consumer(crash_point: &str) {
    let mut stack = Stack::start().await;
    let program = connected(&stack).await;
    stack.customer(&program, &program.ada.code, "user-1").await;
    let address = free_address();
    let process = stack.crashing("webhook-consumer", address, crash_point);
    Edge::at(address).ready(&stack).await;
    let event = event(&stack, "checkout.session.completed.acacia", &program, "user-1");
    let body = event.to_string();
    let header = header(SECRET, stack.clock.now().timestamp(), body.as_bytes());
    let answer = Hooks::at(address)
        .try_send(&path(&program), &[&header], body)
        .await;
    assert!(answer.is_err(), "{answer:?}");
    assert!(!ended(process).await.success());
    assert_eq!(inbox(&stack).await.len(), 1);
    let hooks = Hooks::start(&mut stack).await;
    accepted(&hooks.deliver(&stack, &program, &event).await);
    assert_eq!(inbox(&stack).await.len(), 1);
    recorded_once(&stack).await;
    stack.verify().await;
}

#[tokio::test]
async fn an_event_is_processed_once_when_its_consumer_dies_at_its_commit() {
    event_survives_its_consumer("webhook-consumer.after_commit").await;
}

#[tokio::test]
async fn an_event_is_processed_once_when_its_consumer_dies_between_commit_and_answer() {
    event_survives_its_consumer("webhook-consumer.before_answer").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn while_postgres_is_down_events_are_refused_with_503_and_accepted_afterwards() {
    let postgres = Arc::new(OwnPostgres::start());
    let mut stack = Stack::on(TestDatabase::create_on(postgres.url()).await, Clock::system());
    stack.start_services().await;
    let hooks = Hooks::start(&mut stack).await;
    let program = connected(&stack).await;
    stack.customer(&program, &program.ada.code, "user-1").await;
    let event = event(&stack, "invoice.paid.acacia", &program, "user-1");
    postgres.off_thread(OwnPostgres::stop_at_once).await;
    let answer = hooks.deliver(&stack, &program, &event).await.is(503);
    assert_eq!(answer.message(), "The event could not be stored. Send it again.");
    // A forged event is rejected without the database.
    hooks
        .send(&path(&program), &[], event.to_string())
        .await
        .refused(400, "Stripe-Signature header is required");
    postgres.off_thread(OwnPostgres::start_again).await;
    Edge::at(hooks.address).ready(&stack).await;
    stack.ready().await;
    accepted(&hooks.deliver(&stack, &program, &event).await);
    stack.reaches("sale_events", 1).await;
    stack.verify().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn while_nats_is_down_events_are_kept_and_processed_afterwards() {
    let mut nats = OwnNats::start();
    let mut stack = Stack::without_services(Clock::system()).await;
    stack.set("NATS_URL", &nats.url());
    stack.start_services().await;
    let hooks = Hooks::start(&mut stack).await;
    let program = connected(&stack).await;
    stack.customer(&program, &program.ada.code, "user-1").await;
    nats.kill();
    let edge = Edge::at(hooks.address);
    assert_eq!(edge.health("readyz").await, Some(StatusCode::SERVICE_UNAVAILABLE));
    assert_eq!(edge.health("livez").await, Some(StatusCode::OK));
    // One after the other, so that each is a batch: more batches than are published at once.
    for number in 0..EVENTS_OF_AN_OUTAGE {
        let mut event = event(&stack, "checkout.session.completed.basil", &program, "user-1");
        event["id"] = json!(format!("evt_outage{number}"));
        event["data"]["object"]["id"] = json!(format!("cs_outage{number}"));
        event["data"]["object"]["payment_intent"] = json!(format!("pi_outage{number}"));
        accepted(&hooks.deliver(&stack, &program, &event).await);
    }
    nats.start_again();
    stack.reaches("sale_events", EVENTS_OF_AN_OUTAGE).await;
    settled(&stack, &["done"]).await;
    stack.verify().await;
}
