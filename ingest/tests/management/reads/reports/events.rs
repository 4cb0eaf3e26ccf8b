use chrono::{TimeDelta, TimeZone, Utc};
use runtime::clock::Clock;
use serde_json::{Value, json};

use super::add_click;
use test_harness::{Answer, Person, Program, Stack, noon, rows, test_mode};

async fn listed(stack: &Stack, program: &Program, person: &Person, query: &str) -> Answer {
    let path = format!("/api/tracking/events/{}?{query}", program.program_id);
    stack.get(&path, &person.token).await
}

#[tokio::test]
async fn each_type_shows_its_own_fields_and_nothing_else() {
    let clock = Clock::manual(noon());
    let stack = Stack::start_with(clock.clone()).await;
    let program = stack.program().await;
    let own = stack.owner_of(&program).await;
    let visit = json!({
        "page_url": "https://shop.example/a", "referrer_url": "https://blog.example/", "session_id": "s-1",
        "user_agent": "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0",
    });
    let click_id = stack.click_with(&program.ada.code, visit).await.body["click_id"].clone();
    let click_id = click_id.as_str().unwrap();
    clock.advance(TimeDelta::seconds(1));
    stack.lead(&program, click_id, "user-1").await.ok();
    let unpaid = listed(&stack, &program, &own, "").await;
    assert_eq!(unpaid.column("converted"), json!([false, false]));
    clock.advance(TimeDelta::seconds(1));
    let sale =
        json!({ "transaction_id": "t1", "amount_cents": 7_999, "customer_key": "user-1", "currency": "EUR" });
    stack.sold(&program, sale).await;
    // Neither test events nor another program's events are in the list.
    stack.click_with(&program.ada.code, test_mode()).await.ok();
    let other = stack.program().await;
    stack.click(&other.bruno.code).await;
    rows::counted(&stack, other.bruno.link, 1).await;

    let answer = listed(&stack, &program, &own, "").await;
    assert_eq!(
        answer.body["meta"]["pagination"],
        json!({ "page": 1, "pageSize": 10, "pageCount": 1, "total": 3 })
    );
    let row = async |table: &str| -> Value {
        let row = "jsonb_build_array(id, to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"'))";
        let of = format!("program_id = {} AND NOT is_test", program.program_id);
        stack
            .value(&format!("SELECT {row} FROM {table} WHERE {of}"))
            .await
    };
    let (sale, lead, clicked) = (
        row("sale_events").await,
        row("lead_events").await,
        row("click_events").await,
    );
    // The answer is cut to milliseconds; the rows have microseconds.
    assert_eq!(
        answer.body["data"],
        json!([
            {
                "id": sale[0], "event_type": "conversion", "timestamp": "2026-03-01T12:00:02.000Z", "click_id": click_id,
                "createdAt": sale[1], "amount_cents": 7_999, "currency": "EUR",
                "sale_type": "payment", "payment_status": "paid", "processor_event_id": "t1", "is_recurring": false,
            },
            {
                "id": lead[0], "event_type": "lead", "timestamp": "2026-03-01T12:00:01.000Z", "click_id": click_id,
                "createdAt": lead[1], "customer_key": "user-1", "session_id": null,
                "page_url": null, "converted": true,
            },
            {
                "id": clicked[0], "event_type": "click", "timestamp": "2026-03-01T12:00:00.000Z", "click_id": click_id,
                "createdAt": clicked[1], "session_id": "s-1",
                "page_url": "https://shop.example/a", "referrer_url": "https://blog.example/", "geo_country": null,
                "geo_region": null, "geo_city": null, "device_type": "desktop", "device_os": "Linux",
                "browser_name": "Firefox", "converted": true,
            },
        ])
    );
    for (kind, count) in [("click", 1), ("lead", 1), ("conversion", 1), ("all", 3)] {
        let answer = listed(&stack, &program, &own, &format!("eventType={kind}")).await;
        assert_eq!(*answer.total(), count, "{kind}");
        if kind != "all" {
            assert_eq!(answer.body["data"][0]["event_type"], kind);
        }
    }
}

#[tokio::test]
async fn each_type_is_capped_at_three_pages_and_dates_reach_older_events() {
    let (stack, program) = Stack::with_program().await;
    let own = stack.owner_of(&program).await;
    let at = |minute: i64| Utc.with_ymd_and_hms(2026, 1, 1, 0, 0, 0).unwrap() + TimeDelta::minutes(minute);
    // Ten events in each minute, so that all have ties.
    for number in 0..60_i64 {
        add_click(&stack, &program, at(number / 10), number, &format!("c{number}")).await;
    }
    let statement = format!(
        "INSERT INTO sale_events (event_id, program_id, customer_id, processor_event_id, amount_cents, currency, sale_type,
             is_recurring, sale_date)
         SELECT gen_random_uuid(), {}, i, 't' || i, 100, 'USD', 'payment', false,
                '2026-01-01T00:00:00Z'::timestamptz + make_interval(mins => i / 10)
         FROM generate_series(0, 59) i",
        program.program_id
    );
    stack.execute(&statement).await;
    let of = async |query: String| listed(&stack, &program, &own, &query).await;

    let first = of("pageSize=10".to_owned()).await;
    assert_eq!(
        first.body["meta"]["pagination"],
        json!({ "page": 1, "pageSize": 10, "pageCount": 6, "total": 60 })
    );
    let one_type = of("pageSize=10&eventType=click".to_owned()).await;
    assert_eq!(*one_type.total(), 30);
    // The pages together are the list: each event once, in a stable order.
    let mut paged = Vec::new();
    for page in 1..=6 {
        let answer = of(format!("pageSize=10&page={page}")).await;
        let events = answer.body["data"].as_array().unwrap().clone();
        assert_eq!(events.len(), 10);
        paged.extend(events);
    }
    let mut sorted = paged.clone();
    sorted.sort_by_key(|event| {
        std::cmp::Reverse((
            event["timestamp"].as_str().unwrap().to_owned(),
            event["event_type"].as_str().unwrap() == "conversion",
            event["id"].as_i64().unwrap(),
        ))
    });
    assert_eq!(paged, sorted);
    let mut distinct: Vec<_> = paged
        .iter()
        .map(|event| format!("{} {}", event["event_type"], event["id"]))
        .collect();
    distinct.sort();
    distinct.dedup();
    assert_eq!(distinct.len(), 60);
    let beyond = of("pageSize=10&page=7".to_owned()).await;
    assert_eq!(*beyond.data(), json!([]));
    let large = of("pageSize=100000&eventType=click".to_owned()).await;
    assert_eq!(large.body["meta"]["pagination"]["pageSize"], 100);
    assert_eq!(large.data().as_array().unwrap().len(), 60);

    // Bounds are inclusive, to the millisecond; each may be given alone.
    for (query, total) in [
        ("dateFrom=2026-01-01T00:01:00Z&dateTo=2026-01-01T00:02:00Z", 20),
        ("dateTo=2026-01-01T00:00:00Z", 10),
        ("dateTo=2026-01-01T00:00:59.999Z", 10),
        ("dateFrom=2026-01-01T00:05:00.000Z", 10),
        ("dateFrom=2026-01-01T00:05:00.001Z", 0),
        ("dateFrom=2026-01-01T01:05:00%2B01:00", 10),
        ("dateFrom=2026-01-01&dateTo=2026-01-01", 60),
        ("dateTo=2025-12-31", 0),
        ("dateFrom=2026-01-02", 0),
        ("dateFrom=1970-01-01&dateTo=9999-12-31", 60),
    ] {
        let answer = of(format!("pageSize=50&eventType=click&{query}")).await;
        assert_eq!(
            answer.body["meta"]["pagination"]["total"], total,
            "{query}: {:?}",
            answer.body
        );
    }
}

#[tokio::test]
async fn parameters_that_cannot_be_read_are_refused_by_name() {
    let (stack, program) = Stack::with_program().await;
    let own = stack.owner_of(&program).await;
    let path = format!("/api/tracking/events/{}", program.program_id);
    let refusals = json!({
        "page=0": "page must be a positive integer",
        "pageSize=x": "pageSize must be a positive integer",
        "eventType=sale": "eventType must be one of click, lead, conversion",
        "dateFrom=yesterday": "dateFrom must be an ISO 8601 date of the years 1970 to 9999",
        "dateTo=2026-02-30": "dateTo must be an ISO 8601 date of the years 1970 to 9999",
        "dateTo=%2B262000-01-01": "dateTo must be an ISO 8601 date of the years 1970 to 9999",
        "dateFrom=-262000-01-01T00:00:00Z": "dateFrom must be an ISO 8601 date of the years 1970 to 9999",
        "dateFrom=2026-01-02&dateTo=2026-01-01": "dateFrom must not be after dateTo",
    });
    stack.refuses(&own.token, &path, refusals).await;
    let last = listed(&stack, &program, &own, &format!("page={}", i64::MAX)).await;
    assert_eq!(*last.data(), json!([]));
}
