use chrono::TimeDelta;
use domain::programs::outbound_event::{OutboundEventType, WantedEvents};
use reqwest::StatusCode;
use runtime::clock::Clock;
use serde_json::json;
use storage::outbound::event_streams;

use super::{Reader, ids, next, path};

const TYPE: OutboundEventType = OutboundEventType::SaleRecorded;

#[tokio::test]
async fn a_cursor_is_of_one_program_and_whole() {
    let reader = Reader::begun().await;
    let other = reader.stack.program().await;
    let session = reader.stack.owner_of(&other).await;
    let query = format!("after={}", reader.start);
    let answer = reader.stack.get(&path(&other, &query), &session.token).await;
    answer.refused(
        400,
        "after must be the next of an answer: it is of another program",
    );
    let cut = &reader.start[..reader.start.len() - 1];
    let answer = reader.get(&format!("after={cut}")).await;
    answer.refused(400, "after must be the next of an answer: it is not whole");
}

#[tokio::test]
async fn a_cursor_that_is_too_old_is_told_so() {
    let reader = Reader::begun().await;
    let now = Clock::system().now();
    // The stream was turned on long ago.
    let statement = "UPDATE event_streams SET since = now() - interval '60 days'";
    reader.stack.execute(statement).await;
    let good = reader.cursor(0, now - TimeDelta::days(28));
    reader.after(&good).await;
    let old = reader.cursor(0, now - TimeDelta::days(30));
    let answer = reader.get(&format!("after={old}")).await;
    assert_eq!(answer.status, StatusCode::GONE, "{answer:?}");
    assert!(answer.message().contains("older than 29 days"), "{answer:?}");
}

#[tokio::test]
async fn a_stream_that_nobody_reads_is_turned_off_and_who_comes_back_is_told_of_the_gap() {
    let reader = Reader::begun().await;
    let program_id = reader.program.program_id;
    let statement = format!(
        "UPDATE event_streams SET since = now() - interval '60 days', last_read_at = now() - interval '29 days';
         INSERT INTO webhook_endpoints (program_id, url, event_types, secret_sealed, created_at, disabled_at, disabled_reason)
         VALUES ({program_id}, 'https://a.example', '{{sale.recorded}}', '', now(), NULL, NULL),
                ({program_id}, 'https://b.example', '{{payout.created}}', '', now(), now(), 'gone')"
    );
    reader.stack.execute(&statement).await;
    let turn_off = async || {
        event_streams::turn_off_unread(
            reader.stack.pool(),
            Clock::system().now() - TimeDelta::days(30),
            10,
        )
        .await
        .unwrap()
    };
    assert_eq!(turn_off().await, 0);
    let statement = "UPDATE event_streams SET last_read_at = now() - interval '31 days'";
    reader.stack.execute(statement).await;
    // The worker's upkeep may have run first.
    turn_off().await;
    assert_eq!(reader.stack.count("event_streams").await, 0);
    let query = "SELECT wanted_events FROM programs LIMIT 1";
    let wanted: i32 = reader.stack.value(query).await;
    assert_eq!(
        WantedEvents::from_bits(wanted),
        WantedEvents::NONE
            .with(TYPE)
            .with(OutboundEventType::PayoutCreated)
    );
    reader.stack.click(&reader.program.ada.code).await;
    test_harness::rows::counted(&reader.stack, reader.program.ada.link, 1).await;
    assert_eq!(reader.stack.count("outbound_events").await, 0);

    let before = reader.cursor(0, Clock::system().now() - TimeDelta::days(28));
    let answer = reader.get(&format!("after={before}")).await;
    assert_eq!(answer.status, StatusCode::GONE, "{answer:?}");
    assert!(answer.message().contains("turned off"), "{answer:?}");
    // The stream is on from now on, for other readers too.
    assert_eq!(reader.read("").await.body["meta"]["started"], false);
}

#[tokio::test]
async fn a_read_is_noted_to_the_hour() {
    let reader = Reader::begun().await;
    let noted = "SELECT last_read_at > now() - interval '1 minute' FROM event_streams";
    for (ago, is_noted) in [("50 minutes", false), ("70 minutes", true)] {
        let statement = format!("UPDATE event_streams SET last_read_at = now() - interval '{ago}'");
        reader.stack.execute(&statement).await;
        reader.read("").await;
        assert_eq!(reader.stack.value::<bool>(noted).await, is_noted, "{ago}");
    }
}

/// A replica is promoted that lacks the last commits: its sequence and its rows are older.
#[tokio::test]
async fn on_a_new_timeline_nothing_is_placed_before_what_was_read() {
    let reader = Reader::begun().await;
    reader.happens(TYPE).await;
    reader.place().await;
    let kept = "SELECT last_value FROM outbound_event_positions";
    let last: i64 = reader.stack.value(kept).await;
    for _ in 0..3 {
        reader.happens(TYPE).await;
    }
    reader.place().await;
    let page = reader.after(&reader.start).await;
    assert_eq!(ids(&page).len(), 4);
    let end = next(&page);
    let statement = format!(
        "DELETE FROM outbound_events WHERE position > {last};
             SELECT setval('outbound_event_positions', {last});
             UPDATE outbound_position_timelines SET timeline = 'the one before'"
    );
    reader.stack.execute(&statement).await;
    let since = reader.happens(TYPE).await;
    reader.place().await;
    let page = reader.after(&end).await;
    assert_eq!(ids(&page), [since]);
    // The position advances only once.
    let position: i64 = reader.stack.value(kept).await;
    let later = reader.happens(TYPE).await;
    reader.place().await;
    assert_eq!(reader.stack.value::<i64>(kept).await, position + 1);
    assert_eq!(ids(&reader.after(&next(&page)).await), [later]);
    assert_eq!(reader.after(&end).await.body["data"].as_array().unwrap().len(), 2);
    assert_eq!(reader.after(&end).await.body["meta"]["has_more"], json!(false));
}
