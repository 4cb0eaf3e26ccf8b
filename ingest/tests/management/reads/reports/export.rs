use chrono::{TimeDelta, TimeZone, Utc};
use reqwest::StatusCode;
use serde_json::{Value, json};

use super::add_click;
use test_harness::Stack;

const HEADING: &str = "event_type,id,timestamp,click_id,customer_key,session_id,page_url,referrer_url,geo_country,geo_region,\
                       geo_city,device_type,device_os,browser_name,converted,amount_cents,currency,sale_type,payment_status,\
                       processor_event_id,is_recurring,createdAt";

/// The first line, with every cell in quotes.
fn heading() -> String {
    format!("\"{}\"\r\n", HEADING.replace(',', "\",\""))
}

#[tokio::test]
async fn an_export_holds_every_event_of_its_dates_once_in_the_lists_order() {
    let (stack, program) = Stack::with_program().await;
    let own = stack.owner_of(&program).await;
    let id = program.program_id;
    // More than one piece of each type, interleaved, with many events at one instant.
    let statement = format!(
        "INSERT INTO click_events (event_id, program_id, referral_link_id, customer_id, click_timestamp, click_id)
         SELECT gen_random_uuid(), {id}, 1, i, '2026-01-01T00:00:00Z'::timestamptz + make_interval(secs => i / 7), 'c' || i
         FROM generate_series(1, 2500) i;
         INSERT INTO sale_events (event_id, program_id, customer_id, processor_event_id, amount_cents, currency, sale_type,
             is_recurring, sale_date)
         SELECT gen_random_uuid(), {id}, i, 't' || i, i, 'USD', 'payment', false,
                '2026-01-01T00:00:00Z'::timestamptz + make_interval(secs => i / 3)
         FROM generate_series(1, 1001) i;
         INSERT INTO lead_events (event_id, program_id, customer_id, lead_timestamp, click_id)
         SELECT gen_random_uuid(), {id}, i, '2026-01-01T00:00:00Z'::timestamptz + make_interval(secs => i), 'c' || i
         FROM generate_series(1, 1000) i"
    );
    stack.execute(&statement).await;
    let path = format!("/api/tracking/events/{id}/export");
    let lines = stack.get(&format!("{path}?format=ndjson"), &own.token).await;
    assert_eq!(lines.header("content-type"), "application/x-ndjson");
    assert_eq!(
        lines.header("content-disposition"),
        format!("attachment; filename=\"events-{id}.ndjson\"")
    );
    let events = lines.ndjson();
    assert_eq!(events.len(), 4_501);
    let rank = |event: &Value| match event["event_type"].as_str().unwrap() {
        "click" => 0,
        "lead" => 1,
        _ => 2,
    };
    let place = |event: &Value| {
        (
            event["timestamp"].as_str().unwrap().to_owned(),
            rank(event),
            event["id"].as_i64().unwrap(),
        )
    };
    assert!(events.windows(2).all(|pair| place(&pair[0]) > place(&pair[1])));
    // With filters the file has the events that the list shows.
    let query = "eventType=conversion&dateFrom=2026-01-01T00:00:10Z&dateTo=2026-01-01T00:00:19Z";
    let narrow = stack
        .get(&format!("{path}?format=ndjson&{query}"), &own.token)
        .await;
    let listed = stack
        .get(
            &format!("/api/tracking/events/{id}?pageSize=100&{query}"),
            &own.token,
        )
        .await;
    let narrow = narrow.ndjson();
    assert_eq!(narrow.len(), 30);
    assert_eq!(Value::Array(narrow), listed.body["data"]);

    let file = stack.get(&path, &own.token).await;
    assert_eq!(file.header("content-type"), "text/csv; charset=utf-8");
    assert!(file.text().starts_with(&heading()));
    assert_eq!(file.text().lines().count(), 4_502);
    let nothing = stack.get(&format!("{path}?dateTo=2025-01-01"), &own.token).await;
    assert_eq!(nothing.text(), heading());
    let nothing = stack
        .get(&format!("{path}?format=ndjson&dateTo=2025-01-01"), &own.token)
        .await;
    assert_eq!((nothing.status, nothing.text()), (StatusCode::OK, ""));
    let refusals = json!({
        "format=xlsx": "format must be one of csv, ndjson",
        "eventType=refund": "eventType must be one of click, lead, conversion",
        "dateFrom=2026-01-02&dateTo=2026-01-01": "dateFrom must not be after dateTo",
    });
    stack.refuses(&own.token, &path, refusals).await;
}

#[tokio::test]
async fn no_cell_of_an_export_is_a_formula() {
    let (stack, program) = Stack::with_program().await;
    let own = stack.owner_of(&program).await;
    let at = Utc.with_ymd_and_hms(2026, 1, 1, 0, 0, 0).unwrap();
    for (number, click_id) in ["=1+1", "+1", "-1", "@SUM(A1)", "\tx", "a,\"b\""]
        .into_iter()
        .enumerate()
    {
        let number = i64::try_from(number).unwrap();
        add_click(
            &stack,
            &program,
            at - TimeDelta::minutes(number),
            number,
            click_id,
        )
        .await;
    }
    let path = format!("/api/tracking/events/{}/export?format=csv", program.program_id);
    let file = stack.get(&path, &own.token).await;
    let cells: Vec<_> = file
        .text()
        .lines()
        .skip(1)
        .map(|line| line.splitn(4, ',').nth(3).unwrap())
        .collect();
    for (cells, begin) in cells.iter().zip([
        "\"'=1+1\",",
        "\"'+1\",",
        "\"'-1\",",
        "\"'@SUM(A1)\",",
        "\"'\tx\",",
        "\"a,\"\"b\"\"\",",
    ]) {
        assert!(cells.starts_with(begin), "{cells}");
    }
}
