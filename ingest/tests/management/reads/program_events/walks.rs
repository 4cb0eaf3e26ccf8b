//! Filters without an index find few events among many, and read a bounded number of rows at a time.

use test_harness::Shop;

use super::{add_clicks, data, types, whole};

#[tokio::test]
async fn what_is_rare_is_found_over_several_answers() {
    let shop = Shop::open().await;
    add_clicks(&shop, "2026-01-01", 1, ", geo_country", ", 'DE'").await;
    add_clicks(&shop, "2026-01-02", 60_000, ", geo_country", ", 'FR'").await;
    add_clicks(&shop, "2026-01-05", 1, ", geo_country", ", 'DE'").await;
    shop.stack.execute("ANALYZE click_events").await;

    let first = shop.get("events?country=DE&to=2026-01-31").await;
    assert_eq!(types(&data(&first)), ["click"]);
    let meta = &first.body["meta"];
    assert!(meta["next"].is_string(), "{meta}");
    assert!(meta["since"].as_str().unwrap() > "2026-01-02", "{meta}");
    let all = whole(&shop, "country=DE&to=2026-01-31", 50).await;
    let at: Vec<_> = all
        .iter()
        .map(|event| event["timestamp"].as_str().unwrap())
        .collect();
    assert_eq!(at, ["2026-01-05T00:00:01.000Z", "2026-01-01T00:00:01.000Z"]);
    // Two found events are enough for an answer.
    let two = shop.get("events?country=FR&limit=2&to=2026-01-31").await;
    assert_eq!(types(&data(&two)), ["click", "click"]);
}

#[tokio::test]
async fn leads_of_a_partner_are_found_behind_those_of_others() {
    let shop = Shop::open().await;
    shop.stack
        .customer(&shop.program, &shop.program.bruno.code, "user-2")
        .await;
    // Many later leads of others at the same instant, more than are looked at at once.
    let statement = format!(
        "INSERT INTO lead_events (event_id, program_id, customer_id, lead_timestamp, click_id)
         SELECT gen_random_uuid(), {}, -i, now() + make_interval(secs => least(i, 60000)), 'c' || i FROM generate_series(1, 80000) i;
         ANALYZE lead_events",
        shop.program.program_id
    );
    shop.stack.execute(&statement).await;
    let query = format!("partner={}", shop.program.bruno.membership);
    let first = shop.get(&format!("events?{query}")).await;
    assert!(first.body["meta"]["next"].is_string(), "{first:?}");
    assert_eq!(types(&whole(&shop, &query, 50).await), ["lead", "click"]);
}
