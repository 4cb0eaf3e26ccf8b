//! Order of deliveries: the events of one customer wait for each other, and no delivery waits for a receiver
//! that hangs.

use std::collections::BTreeMap;

use chrono::TimeDelta;
use domain::ids::WebhookEndpointId;
use domain::programs::outbound_event::OutboundEventType::LeadCreated;
use runtime::clock::Clock;
use sqlx::Connection;
use storage::outbound::outbound_events;
use storage::outbound::webhook_queue::{self, EndpointRoom, Room};
use test_harness::{Receiver, Reply, Stack, Webhook, noon, webhooks};

/// The ids that arrived, by customer, in order of arrival.
fn by_customer(arrived: &[Webhook]) -> BTreeMap<i64, Vec<String>> {
    let mut ids: BTreeMap<i64, Vec<String>> = BTreeMap::new();
    for webhook in arrived {
        let customer = webhook.json()["data"]["customer"].as_i64().unwrap();
        ids.entry(customer).or_default().push(webhook.id.clone());
    }
    ids
}

#[tokio::test]
async fn events_of_a_customer_come_in_their_order_and_wait_for_one_that_fails() {
    let (mut stack, program, receiver) = webhooks::receiving(Clock::manual(noon()), Reply::Status(200)).await;
    let customers = (0..30).map(|n| n % 3);
    let ids = webhooks::leads(&stack, &program, customers).await;
    let of = |customer: usize| -> Vec<String> { ids.iter().skip(customer).step_by(3).cloned().collect() };
    let second = of(1)[1].clone();
    receiver.reply_with({
        let second = second.clone();
        move |webhook| Reply::Status(if webhook.id == second { 500 } else { 200 })
    });
    stack.start_delivery();
    stack.reaches("webhook_deliveries", 21).await;
    stack.reaches("webhook_queue WHERE attempts = 1", 1).await;
    // Events placed later wait too.
    let late = webhooks::leads(&stack, &program, [1, 2]).await;
    stack.reaches("webhook_deliveries", 22).await;
    stack.clock.advance(TimeDelta::seconds(6));
    stack.reaches("webhook_queue WHERE attempts = 2", 1).await;
    let before = by_customer(&receiver.received());
    assert_eq!(before[&0], of(0));
    assert_eq!(before[&1], [of(1)[0].clone(), second.clone(), second.clone()]);
    // The failed delivery now waits for minutes. Those behind it are postponed too, so no take reads them.
    let not_due = "webhook_queue WHERE customer_id = 1 AND due_at > $now";
    let waiting = not_due.replace("$now", &format!("'{}'", stack.clock.now().to_rfc3339()));
    assert_eq!(stack.count(&waiting).await, 10);
    receiver.reply(Reply::Status(200));
    stack.clock.advance(TimeDelta::minutes(6));
    webhooks::drained(&stack).await;
    let after = by_customer(&receiver.received());
    let mut expected = vec![of(1)[0].clone(), second.clone(), second.clone()];
    expected.extend(of(1)[1..].iter().cloned());
    expected.push(late[0].clone());
    assert_eq!(after[&1], expected);
    assert_eq!(after[&2], [of(2), vec![late[1].clone()]].concat());
}

/// One customer has more events than a take looks at.
#[tokio::test]
async fn a_customer_with_many_events_holds_up_nobody_else() {
    let (mut stack, program, receiver) = webhooks::receiving(Clock::manual(noon()), Reply::Status(200)).await;
    let customers = std::iter::repeat_n(1, 1_200).chain([2, 3, 2]);
    let ids = webhooks::leads(&stack, &program, customers).await;
    let (first, second, third) = (ids[0].clone(), ids[1_200].clone(), ids[1_201].clone());
    receiver.reply_with({
        let first = first.clone();
        move |webhook| Reply::Status(if webhook.id == first { 500 } else { 200 })
    });
    stack.start_delivery();
    receiver.arrived(&stack, 4).await;
    let arrived = by_customer(&receiver.received());
    assert_eq!(arrived[&1], std::slice::from_ref(&first));
    assert_eq!(arrived[&2], [second, ids[1_202].clone()]);
    assert_eq!(arrived[&3], [third]);
    receiver.reply(Reply::Status(200));
    stack.clock.advance(TimeDelta::seconds(6));
    stack
        .eventually("the first customer's events arrive", async || {
            receiver.count() >= 104
        })
        .await;
    let arrived = by_customer(&receiver.received());
    assert_eq!(arrived[&1][1..101], ids[..100]);
}

#[tokio::test]
async fn an_endpoint_that_hangs_is_tried_one_at_a_time_and_delays_nobody() {
    let mut stack = Stack::without_services(Clock::system()).await;
    stack.set("WEBHOOK_IN_FLIGHT_PER_ENDPOINT", "4");
    stack.set("WEBHOOK_IN_FLIGHT", "8");
    let program = stack.program().await;
    let (dead, healthy) = (Receiver::replying(Reply::Hang).await, Receiver::start().await);
    webhooks::endpoint(&stack, &program, &dead.url(), &[LeadCreated]).await;
    webhooks::endpoint(&stack, &program, &healthy.url(), &[LeadCreated]).await;
    webhooks::leads(&stack, &program, 1..=100).await;
    stack.start_delivery();
    healthy.arrived(&stack, 100).await;
    dead.holds(&stack, 1).await;
    assert_eq!(dead.count(), 1);
    stack
        .reaches("webhook_deliveries WHERE state = 'delivered'", 100)
        .await;
    dead.release();
    webhooks::drained(&stack).await;
    assert_eq!(dead.count(), 100);
}

#[tokio::test]
async fn many_endpoints_that_hang_leave_room_for_the_others() {
    let mut stack = Stack::without_services(Clock::system()).await;
    // Fewer slots than the dead endpoints together could hold.
    stack.set("WEBHOOK_IN_FLIGHT", "32");
    let program = stack.program().await;
    let (dead, healthy) = (Receiver::start().await, Receiver::start().await);
    for _ in 0..20 {
        webhooks::endpoint(&stack, &program, &dead.url(), &[LeadCreated]).await;
    }
    webhooks::endpoint(&stack, &program, &healthy.url(), &[LeadCreated]).await;
    stack.start_delivery();
    // All endpoints answer at first, so each reaches the same limit of attempts in flight.
    webhooks::leads(&stack, &program, 1..=30).await;
    webhooks::drained(&stack).await;
    dead.reply(Reply::Hang);
    webhooks::leads(&stack, &program, 31..=60).await;
    stack
        .eventually("every dead one is tried", async || dead.hanging() >= 20)
        .await;
    webhooks::leads(&stack, &program, 61..=90).await;
    healthy.arrived(&stack, 90).await;
    assert!(dead.hanging() >= 20, "the others waited for a time-out");
    dead.release();
    webhooks::drained(&stack).await;
    assert_eq!(dead.count(), 20 * 90);
}

#[tokio::test]
async fn an_endpoint_that_has_failed_is_tried_one_at_a_time() {
    let mut stack = Stack::without_services(Clock::manual(noon())).await;
    let (program, receiver) = (
        stack.program().await,
        Receiver::replying(Reply::Status(500)).await,
    );
    let (endpoint_id, _) = webhooks::endpoint(&stack, &program, &receiver.url(), &[LeadCreated]).await;
    stack.start_delivery();
    webhooks::leads(&stack, &program, [1]).await;
    stack.reaches("webhook_queue WHERE attempts = 1", 1).await;
    receiver.reply(Reply::Hang);
    webhooks::leads(&stack, &program, 2..=20).await;
    receiver.holds(&stack, 1).await;
    stack
        .reaches("outbound_events WHERE position IS NOT NULL", 20)
        .await;
    assert_eq!((receiver.hanging(), receiver.count()), (1, 2));
    receiver.release();
    stack.clock.advance(TimeDelta::seconds(6));
    webhooks::drained(&stack).await;
    assert_eq!(
        webhooks::of_endpoint(&stack, endpoint_id, "failing_since").await,
        None
    );
}

#[tokio::test]
async fn two_processes_send_each_event_once() {
    let mut stack = Stack::without_services(Clock::system()).await;
    let (program, receiver) = (stack.program().await, Receiver::start().await);
    for _ in 0..3 {
        webhooks::endpoint(&stack, &program, &receiver.url(), &[LeadCreated]).await;
    }
    let ids = webhooks::leads(&stack, &program, (0..300).map(|n| n % 40)).await;
    stack.start_delivery();
    stack.start_delivery();
    webhooks::drained(&stack).await;
    let mut arrived = receiver.ids();
    arrived.sort();
    let mut thrice: Vec<String> = ids
        .iter()
        .flat_map(|id| [id.clone(), id.clone(), id.clone()])
        .collect();
    thrice.sort();
    assert_eq!(arrived, thrice);
    assert_eq!(
        webhooks::finished(&stack, "state = 'delivered' AND attempts = 1").await,
        900
    );
}

/// A plan made for an empty queue and kept would read the whole of a long queue for every row.
#[tokio::test]
async fn a_long_queue_is_read_by_its_indexes() {
    let mut stack = Stack::without_services(Clock::system()).await;
    let (program, receiver) = (stack.program().await, Receiver::start().await);
    for _ in 0..20 {
        webhooks::endpoint(&stack, &program, &receiver.url(), &[LeadCreated]).await;
    }
    stack.start_delivery();
    let arrived = async |leads: usize| {
        receiver.arrived(&stack, 20 * leads).await;
    };
    // PostgreSQL keeps a plan from the sixth execution on.
    for n in 1..=10 {
        webhooks::leads(&stack, &program, [n]).await;
        arrived(usize::try_from(n).unwrap()).await;
    }
    webhooks::leads(&stack, &program, 11..=150).await;
    arrived(150).await;
    webhooks::drained(&stack).await;
    let reads = "SELECT ARRAY[coalesce(idx_scan, 0), seq_tup_read] FROM pg_stat_user_tables WHERE relname = 'webhook_queue'";
    stack
        .eventually("the reads are counted", async || {
            stack.value::<Vec<i64>>(reads).await[0] >= 3_000
        })
        .await;
    let seen = stack.value::<Vec<i64>>(reads).await;
    // The metrics and this test also read the waiting rows, to count them.
    assert!(seen[1] < 20_000, "{seen:?}");
}

#[tokio::test]
async fn a_take_reads_little_more_than_it_takes_with_a_plan_made_for_an_empty_queue() {
    let stack = Stack::without_services(Clock::manual(noon())).await;
    let program = stack.program().await;
    for _ in 0..3 {
        webhooks::endpoint(&stack, &program, "http://127.0.0.1:9/", &[LeadCreated]).await;
    }
    let now = stack.clock.now();
    let ids: Vec<i64> = stack.value("SELECT array_agg(id) FROM webhook_endpoints").await;
    let endpoints: Vec<EndpointRoom> = ids
        .iter()
        .map(|id| EndpointRoom {
            endpoint_id: WebhookEndpointId::new(*id),
            in_flight: 0,
            most: 8,
            struggles: false,
        })
        .collect();
    let room = Room {
        now,
        leased_until: now + TimeDelta::seconds(30),
        deliveries: 64,
        struggling: 16,
        additional: 32,
        endpoints: &endpoints,
    };
    let mut connection = stack.pool().acquire().await.unwrap();
    let mut take = async || {
        let mut transaction = connection.begin().await.unwrap();
        let taken = webhook_queue::take_due(&mut transaction, &room).await.unwrap();
        let reads = "SELECT coalesce(sum(pg_stat_get_xact_tuples_returned(oid)), 0)::bigint FROM pg_class
                     WHERE relkind IN ('r', 'i') AND relname LIKE 'webhook_queue%'";
        let read: i64 = sqlx::query_scalar(reads)
            .fetch_one(&mut *transaction)
            .await
            .unwrap();
        transaction.rollback().await.unwrap();
        (taken.len(), read)
    };
    // PostgreSQL keeps a plan from the sixth execution on.
    for _ in 0..10 {
        assert_eq!(take().await.0, 0);
    }
    let statement = "INSERT INTO webhook_queue (endpoint_id, program_id, event_id, event_type, event_created_at, position, customer_id, created_at, due_at)
             SELECT w.id, w.program_id, gen_random_uuid(), 'lead.created', w.created_at, i, i % 500, w.created_at, w.created_at
             FROM webhook_endpoints w, generate_series(1, 5000) i";
    stack.execute(statement).await;
    let (taken, read) = take().await;
    assert_eq!(taken, 24);
    assert!(read < 1_000, "{read} rows were read");
}

#[tokio::test]
async fn events_are_placed_while_one_of_their_endpoints_is_deleted() {
    let stack = Stack::without_services(Clock::system()).await;
    let program = stack.program().await;
    let url = "https://hooks.acme.example/";
    let (going, _) = webhooks::endpoint(&stack, &program, url, &[LeadCreated]).await;
    let (staying, _) = webhooks::endpoint(&stack, &program, url, &[LeadCreated]).await;
    webhooks::leads(&stack, &program, [1]).await;
    let delete = format!("DELETE FROM webhook_endpoints WHERE id = {going}");
    let deletion = stack.holding(&delete).await;
    let place = async {
        let mut placing = stack.pool().begin().await.unwrap();
        let placed = outbound_events::place(&mut placing, stack.clock.now(), 10).await;
        placing.commit().await.unwrap();
        placed
    };
    let delete = async {
        stack.locked_out("the events wait for the deletion", 1).await;
        deletion.commit().await.unwrap();
    };
    let (placed, ()) = tokio::join!(place, delete);
    assert_eq!(placed.unwrap(), Some(1));
    let queued: i64 = stack.value("SELECT endpoint_id FROM webhook_queue").await;
    assert_eq!(queued, staying.get());
}
