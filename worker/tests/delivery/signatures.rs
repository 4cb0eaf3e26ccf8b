//! What a receiver is sent, and how it verifies the sender.

use chrono::TimeDelta;
use domain::programs::outbound_event::OutboundEventType::LeadCreated;
use domain::programs::webhook::{SigningSecret, signatures};
use runtime::clock::Clock;
use test_harness::{Receiver, Reply, Stack, Webhook, noon, webhooks};

fn signed_with(webhook: &Webhook, secrets: &[SigningSecret]) -> bool {
    let timestamp = webhook.timestamp.parse().unwrap();
    webhook.signature == signatures(secrets, &webhook.id, timestamp, &webhook.body)
}

#[tokio::test]
async fn each_event_arrives_once_signed_and_as_it_was_written() {
    let mut stack = Stack::without_services(Clock::system()).await;
    let (program, receiver) = (stack.program().await, Receiver::start().await);
    let (_, secret) = webhooks::endpoint(&stack, &program, &receiver.url(), &[LeadCreated]).await;
    let ids = webhooks::leads(&stack, &program, 1..=40).await;
    stack.start_delivery();
    webhooks::drained(&stack).await;
    let mut arrived = receiver.ids();
    arrived.sort();
    assert_eq!(arrived, ids);
    for webhook in receiver.received() {
        assert!(
            signed_with(&webhook, std::slice::from_ref(&secret)),
            "{webhook:?}"
        );
        let json = webhook.json();
        assert_eq!(json["type"], "lead.created");
        assert_eq!(json["data"]["program_id"], program.program_id.get());
        let age = now(&stack) - webhook.timestamp.parse::<i64>().unwrap();
        assert!((0..60).contains(&age), "{age}");
    }
    let row =
        "state = 'delivered' AND status = 200 AND attempts = 1 AND failure IS NULL AND duration_ms >= 0";
    assert_eq!(webhooks::finished(&stack, row).await, 40);
    assert_eq!(
        stack.count("outbound_events WHERE position IS NOT NULL").await,
        40
    );
}

/// Seconds since 1970.
fn now(stack: &Stack) -> i64 {
    stack.clock.now().timestamp()
}

#[tokio::test]
async fn both_secrets_sign_while_one_is_replaced_and_then_the_new_one_alone() {
    let mut stack = Stack::without_services(Clock::manual(noon())).await;
    let (program, receiver) = (stack.program().await, Receiver::start().await);
    let (endpoint_id, old) = webhooks::endpoint(&stack, &program, &receiver.url(), &[LeadCreated]).await;
    let new = SigningSecret::generate(rand::random());
    webhooks::rotate(&stack, endpoint_id, &new, TimeDelta::hours(24)).await;
    stack.start_delivery();
    webhooks::leads(&stack, &program, [1]).await;
    webhooks::drained(&stack).await;
    stack.clock.advance(TimeDelta::hours(24));
    webhooks::leads(&stack, &program, [2]).await;
    webhooks::drained(&stack).await;
    let arrived = receiver.received();
    assert!(signed_with(&arrived[0], &[new.clone(), old]), "{arrived:?}");
    assert!(signed_with(&arrived[1], &[new]), "{arrived:?}");
}

#[tokio::test]
async fn endpoints_get_the_types_they_want_and_nothing_of_other_programs() {
    let mut stack = Stack::without_services(Clock::system()).await;
    let (one, other) = (stack.program().await, stack.program().await);
    let [wanting, indifferent, elsewhere] = [
        Receiver::start().await,
        Receiver::start().await,
        Receiver::start().await,
    ];
    webhooks::endpoint(&stack, &one, &wanting.url(), &[LeadCreated]).await;
    let sales = [domain::programs::outbound_event::OutboundEventType::SaleRecorded];
    webhooks::endpoint(&stack, &one, &indifferent.url(), &sales).await;
    webhooks::endpoint(&stack, &other, &elsewhere.url(), &[LeadCreated]).await;
    let of_one = webhooks::leads(&stack, &one, [1, 2]).await;
    let of_other = webhooks::leads(&stack, &other, [3]).await;
    stack.start_delivery();
    webhooks::drained(&stack).await;
    let mut at_wanting = wanting.ids();
    at_wanting.sort();
    assert_eq!(at_wanting, of_one);
    assert_eq!((indifferent.count(), elsewhere.ids()), (0, of_other));
}

/// An event that was erased before its delivery is not sent.
#[tokio::test]
async fn an_erased_event_is_cancelled() {
    let (mut stack, program, receiver) = webhooks::receiving(Clock::system(), Reply::Status(200)).await;
    let ids = webhooks::leads(&stack, &program, [1, 2]).await;
    let mut placing = stack.pool().begin().await.unwrap();
    let placed = storage::outbound::outbound_events::place(&mut placing, stack.clock.now(), 10).await;
    assert_eq!(placed.unwrap(), Some(2));
    placing.commit().await.unwrap();
    let statement = "DELETE FROM outbound_events WHERE customer_id = 1";
    stack.execute(statement).await;
    stack.start_delivery();
    webhooks::drained(&stack).await;
    assert_eq!(receiver.ids(), ids[1..]);
    assert_eq!(
        webhooks::finished(&stack, "state = 'cancelled' AND customer_id = 1").await,
        1
    );
}
