//! Failures are retried by the schedule, and no longer than it says.

use chrono::{DateTime, TimeDelta, Utc};
use runtime::clock::Clock;
use test_harness::{Program, Receiver, Reply, Stack, noon, webhooks};

/// Starts a delivery role on a stopped clock, with one endpoint.
async fn delivering(reply: Reply) -> (Stack, Program, Receiver) {
    let (mut stack, program, receiver) = webhooks::receiving(Clock::manual(noon()), reply).await;
    stack.start_delivery();
    (stack, program, receiver)
}

async fn attempted(stack: &Stack, attempts: i64) {
    stack
        .reaches(&format!("webhook_queue WHERE attempts = {attempts}"), 1)
        .await;
}

/// The time until the only delivery in the queue is due.
async fn wait(stack: &Stack) -> TimeDelta {
    let due: DateTime<Utc> = stack.value("SELECT due_at FROM webhook_queue").await;
    due - stack.clock.now()
}

#[tokio::test]
async fn ten_attempts_are_made_over_three_days_and_the_last_failure_gives_up() {
    let (stack, program, receiver) = delivering(Reply::Status(500)).await;
    let ids = webhooks::leads(&stack, &program, [1]).await;
    let seconds = [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400];
    let mut timestamps = vec![stack.clock.now().timestamp()];
    for (made, seconds) in (1..).zip(seconds) {
        attempted(&stack, made).await;
        let wait = wait(&stack).await;
        let tenth = seconds * 100;
        assert!(
            (wait.num_milliseconds() - seconds * 1_000).abs() <= tenth,
            "{made}: {wait}"
        );
        // One millisecond earlier, the delivery is not attempted.
        stack.clock.advance(wait - TimeDelta::milliseconds(1));
        let before = webhooks::leads(&stack, &program, [1_000 + made]).await;
        stack
            .eventually("the other one was sent", async || {
                receiver.ids().contains(&before[0])
            })
            .await;
        assert_eq!(of(&receiver, &ids[0]).len(), usize::try_from(made).unwrap());
        let statement = "DELETE FROM webhook_queue WHERE customer_id > 1000";
        stack.execute(statement).await;
        stack.clock.advance(TimeDelta::milliseconds(1));
        timestamps.push(stack.clock.now().timestamp());
    }
    stack
        .reaches(
            "webhook_deliveries WHERE state = 'given_up' AND customer_id = 1",
            1,
        )
        .await;
    let last = "attempts = 10 AND status = 500 AND customer_id = 1";
    assert_eq!(webhooks::finished(&stack, last).await, 1);
    assert_eq!(of(&receiver, &ids[0]), timestamps);
}

/// The times of the attempts of one event.
fn of(receiver: &Receiver, id: &str) -> Vec<i64> {
    let arrived = receiver.received();
    let attempts = arrived.iter().filter(|webhook| webhook.id == id);
    attempts
        .map(|webhook| webhook.timestamp.parse().unwrap())
        .collect()
}

#[tokio::test]
async fn a_receiver_that_asks_for_time_gets_it() {
    let answer = |retry_after: &str| {
        Reply::Text(format!(
            "HTTP/1.1 429 Slow\r\nretry-after: {retry_after}\r\ncontent-length: 4\r\n\r\nwait"
        ))
    };
    let (stack, program, receiver) = delivering(answer("120")).await;
    webhooks::leads(&stack, &program, [1]).await;
    attempted(&stack, 1).await;
    assert_eq!(wait(&stack).await, TimeDelta::seconds(120));
    assert_eq!(
        stack.value::<String>("SELECT answer FROM webhook_queue").await,
        "wait"
    );
    receiver.reply(answer("Mon, 02 Mar 2026 11:00:00 GMT"));
    stack.clock.advance(TimeDelta::seconds(120));
    attempted(&stack, 2).await;
    let until = stack.clock.now() + wait(&stack).await;
    assert_eq!(until.to_rfc3339(), "2026-03-02T11:00:00+00:00");
}

/// Every reaction of a receiver except 2xx is a failure that is stored and retried.
#[tokio::test]
async fn every_other_answer_or_none_is_a_failure() {
    let redirect = "HTTP/1.1 302 Found\r\nlocation: https://example.com/\r\ncontent-length: 0\r\n\r\n";
    let huge = format!(
        "HTTP/1.1 500 No\r\ncontent-length: 1000000\r\n\r\n{}",
        "x".repeat(9_000)
    );
    let nonsense = "SSH-2.0-OpenSSH\r\n";
    for (reply, status, failure, answer) in [
        (Reply::Status(500), Some(500), None, Some("")),
        (Reply::Text(redirect.to_owned()), Some(302), None, Some("")),
        (Reply::Text(huge), Some(500), None, Some(&*"x".repeat(2_048))),
        (
            Reply::Close,
            None,
            Some("the connection ended before the answer"),
            None,
        ),
        (
            Reply::Text(nonsense.to_owned()),
            None,
            Some("the connection ended before the answer"),
            None,
        ),
    ] {
        let (stack, program, receiver) = delivering(reply.clone()).await;
        webhooks::leads(&stack, &program, [1]).await;
        attempted(&stack, 1).await;
        let stored: (Option<i16>, Option<String>, Option<String>) =
            sqlx::query_as("SELECT status, failure, answer FROM webhook_queue")
                .fetch_one(stack.pool())
                .await
                .unwrap();
        let expected = (status, failure.map(str::to_owned), answer.map(str::to_owned));
        assert_eq!(stored, expected, "{reply:?}");
        receiver.reply(Reply::Status(200));
        stack.clock.advance(TimeDelta::seconds(6));
        webhooks::drained(&stack).await;
        let second = "state = 'delivered' AND attempts = 2 AND status = 200";
        assert_eq!(webhooks::finished(&stack, second).await, 1);
    }
}

#[tokio::test]
async fn an_answer_after_its_time_is_a_failure() {
    let (mut stack, program, receiver) = webhooks::receiving(Clock::manual(noon()), Reply::Hang).await;
    stack.set("WEBHOOK_TIMEOUT_MS", "200");
    stack.start_delivery();
    let ids = webhooks::leads(&stack, &program, [1]).await;
    attempted(&stack, 1).await;
    let failure = stack.value::<String>("SELECT failure FROM webhook_queue").await;
    assert_eq!(failure, "no whole answer in time");
    receiver.release();
    stack.clock.advance(TimeDelta::seconds(6));
    webhooks::drained(&stack).await;
    assert_eq!(receiver.ids(), [ids[0].clone(), ids[0].clone()]);
}

/// A failure also postpones the customer's next delivery. A request that deletes both may lock them in
/// another order.
#[tokio::test]
async fn a_result_gives_way_to_a_request_that_wants_the_same_deliveries() {
    let (stack, program, receiver) = delivering(Reply::Status(500)).await;
    let ids = webhooks::leads(&stack, &program, [1, 1]).await;
    attempted(&stack, 1).await;
    let mut request = stack.pool().begin().await.unwrap();
    let mut delete = async |which: &'static str| {
        let one = format!(
            "DELETE FROM webhook_queue WHERE position = (SELECT {which}(position) FROM webhook_queue)"
        );
        let deleted = sqlx::query(sqlx::AssertSqlSafe(one)).execute(&mut *request).await;
        assert_eq!(deleted.unwrap().rows_affected(), 1);
    };
    delete("max").await;
    stack.clock.advance(TimeDelta::seconds(10));
    let waits = "wait_event_type = 'Lock'";
    stack
        .eventually("the second failure waits", async || {
            stack.sessions(waits).await == 1
        })
        .await;
    // Longer than `deadlock_timeout`: PostgreSQL would end the other side of a deadlock that forms later.
    let waits_on = format!("{waits} AND now() - query_start > interval '1200 ms'");
    stack
        .eventually("it has given way, or waits on", async || {
            stack.sessions(waits).await == 0 || stack.sessions(&waits_on).await == 1
        })
        .await;
    delete("min").await;
    request.commit().await.unwrap();
    stack.reaches("webhook_queue", 0).await;
    assert_eq!(receiver.ids(), [ids[0].as_str(), ids[0].as_str()]);
}
