use domain::programs::outbound_event::OutboundEventType;
use serde_json::json;
use test_harness::{Streams, rows, test_mode};

use super::{Reader, ids, next, place};

/// The events of stored clicks, in the order of their times.
async fn stored(reader: &Reader) -> Vec<String> {
    let program = reader.program.program_id;
    let stored = format!(
        "click_events WHERE program_id = {program} AND NOT is_test ORDER BY click_timestamp, event_id"
    );
    reader
        .stack
        .values(&format!("SELECT 'evt_' || event_id FROM {stored}"))
        .await
}

#[tokio::test]
async fn clicks_are_told_once_however_often_they_are_delivered() {
    let reader = Reader::begun().await;
    let click = reader
        .stack
        .click_with(
            &reader.program.ada.code,
            json!({ "session_id": "s-1", "page_url": "https://shop.example/landing", "user_agent": "Mozilla/5.0 (Jane)" }),
        )
        .await;
    for _ in 0..5 {
        reader.stack.click(&reader.program.ada.code).await;
    }
    rows::counted(&reader.stack, reader.program.ada.link, 6).await;
    reader.place().await;
    let page = reader.after(&reader.start).await;
    assert_eq!(ids(&page), stored(&reader).await);
    let first = &page.body["data"][0];
    assert_eq!(first["type"], "click.recorded");
    let query = "SELECT to_char(min(click_timestamp) AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"') FROM click_events";
    let clicked_at: String = reader.stack.value(query).await;
    assert_eq!(first["timestamp"], json!(clicked_at));
    assert_eq!(
        first["data"],
        json!({
            "program_id": reader.program.program_id, "click_id": click.body["click_id"],
            "partner_id": reader.program.ada.partner_id, "referral_link_code": reader.program.ada.code, "session_id": "s-1",
            "page_url": "https://shop.example/landing", "referrer_url": null, "geo_country": null, "geo_region": null,
            "geo_city": null, "device_type": first["data"]["device_type"], "device_os": first["data"]["device_os"],
            "browser_name": first["data"]["browser_name"], "is_bot": false, "counted": true,
        })
    );

    let streams = Streams::of(&reader.stack).await;
    streams.replay(&reader.stack).await;
    reader.place().await;
    let again = reader.after(&next(&page)).await;
    assert_eq!(again.body["data"], json!([]));
    assert_eq!(ids(&reader.after(&reader.start).await).len(), 6);
}

#[tokio::test]
async fn a_click_precedes_its_lead_and_its_sale_and_tests_are_in_no_stream() {
    let reader = Reader::begun().await;
    reader
        .stack
        .click_with(&reader.program.ada.code, test_mode())
        .await
        .ok();
    reader
        .stack
        .customer(&reader.program, &reader.program.ada.code, "user-1")
        .await;
    reader.stack.reaches("click_events", 2).await;
    // The step of the sale will write the same event.
    let sold = reader.happens(OutboundEventType::SaleRecorded).await;
    reader.place().await;
    let (all, _) = reader
        .all(&reader.start, 10, "&types=click.recorded,sale.recorded")
        .await;
    assert_eq!(all, [stored(&reader).await, vec![sold]].concat());
}

#[tokio::test]
async fn the_clicks_of_a_batch_are_read_over_several_pages() {
    let reader = Reader::begun().await;
    let mut happened = reader.clicks(5).await;
    happened.push(reader.happens(OutboundEventType::SaleRecorded).await);
    happened.extend(reader.clicks(3).await);
    happened.extend(reader.clicks(1).await);
    reader.place().await;
    for limit in [1, 2, 3, 4, 5, 6, 10, 100] {
        let (read, end) = reader.all(&reader.start, limit, "").await;
        assert_eq!(read, happened, "{limit} a page");
        assert_eq!(reader.after(&end).await.body["data"], json!([]));
    }
}

/// More events than are read at once.
#[tokio::test]
async fn one_answer_has_ten_thousand_events() {
    let reader = Reader::begun().await;
    let statement = format!(
        "WITH stored AS (
             INSERT INTO click_events (event_id, program_id, referral_link_id, customer_id, click_timestamp, click_id)
             SELECT gen_random_uuid(), {}, 1, n, now() + n * interval '1 microsecond', 'c' || n
             FROM generate_series(1, 10500) n
             RETURNING *
         )
         INSERT INTO outbound_events (event_id, program_id, event_type, occurred_at, body, clicks, click_event_ids,
                                      first_clicked_at, last_clicked_at)
         SELECT gen_random_uuid(), program_id, 'clicks', now(), '', count(*), array_agg(event_id ORDER BY click_timestamp),
                min(click_timestamp), max(click_timestamp)
         FROM stored GROUP BY program_id, customer_id / 1500 ORDER BY min(click_timestamp)",
        reader.program.program_id
    );
    reader.stack.execute(&statement).await;
    reader.place().await;
    let page = reader.read(&format!("after={}&limit=10000", reader.start)).await;
    let rest = reader.after(&next(&page)).await;
    let read = [ids(&page), ids(&rest)];
    assert_eq!(read.each_ref().map(Vec::len), [10_000, 500]);
    assert_eq!(read.concat(), stored(&reader).await);
}

#[tokio::test]
async fn clicks_that_are_gone_or_erased_are_left_out() {
    let reader = Reader::begun().await;
    let before = reader.clicks(3).await;
    let click_id = reader
        .stack
        .customer(&reader.program, &reader.program.ada.code, "jane")
        .await;
    reader.stack.reaches("click_events", 4).await;
    let after = reader.clicks(2).await;
    reader.place().await;
    let clicks = "&types=click.recorded";
    assert_eq!(reader.all(&reader.start, 100, clicks).await.0.len(), 6);
    let erase = reader.program.path("customers/erase");
    let jane = json!({ "customer_key": "jane" });
    reader.owner.submit(&erase, jane).await.ok();
    let left: Vec<String> = before.iter().chain(&after).cloned().collect();
    for limit in [2, 100] {
        assert_eq!(reader.all(&reader.start, limit, clicks).await.0, left);
    }
    let text = reader.after(&reader.start).await.body.to_string();
    assert!(!text.contains(&click_id) && !text.contains("erased_"), "{text}");
    // The same happens when the clicks' month is dropped.
    let gone = before[1].strip_prefix("evt_").unwrap();
    let statement = format!("DELETE FROM click_events WHERE event_id = '{gone}'");
    reader.stack.execute(&statement).await;
    let left: Vec<String> = [&before[..1], &before[2..], &after].concat();
    assert_eq!(reader.all(&reader.start, 2, clicks).await.0, left);
}

#[tokio::test]
async fn only_programs_that_are_read_have_their_clicks_marked() {
    let reader = Reader::begun().await;
    let other = reader.stack.program().await;
    for _ in 0..3 {
        reader.stack.click(&other.ada.code).await;
    }
    reader.stack.click(&reader.program.ada.code).await;
    rows::counted(&reader.stack, other.ada.link, 3).await;
    rows::counted(&reader.stack, reader.program.ada.link, 1).await;
    place(&reader.stack).await;
    let marks = format!("outbound_events WHERE program_id = {}", other.program_id);
    assert_eq!(reader.stack.count(&marks).await, 0);
    assert_eq!(ids(&reader.after(&reader.start).await), stored(&reader).await);
}
