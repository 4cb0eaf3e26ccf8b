//! Each filter of the list, the search, and the list as a file.

use serde_json::{Value, json};
use test_harness::{BOT, Json, Shop, rows, test_mode};

use super::{add_clicks, data, names, types, whole};

/// A shop with a customer of each partner, and three clicks of known origin on the first of January.
async fn shop() -> Shop {
    let shop = Shop::open().await;
    let click_id = shop.stack.click(&shop.program.bruno.code).await;
    let lead = json!({ "click_id": click_id, "customer_key": "user-2", "email": "Cleo@Letters.example" });
    let lead = shop.stack.post("lead", Some(&shop.program.token), lead).await;
    lead.ok();
    shop.sell("t2", json!({ "amount_cents": 700, "customer_key": "user-2" }))
        .await;
    shop.sell("t1", json!({})).await;
    shop.refund("t1", 100).await;
    let columns = ", geo_country, device_type, referrer_url";
    for (second, country, device, referrer) in [
        (1, "DE", "mobile", "https://www.Blog.example:8080/review?x=1"),
        (2, "FR", "desktop", "http://user@blog.example"),
        (3, "DE", "desktop", "https://notblog.example/blog.example"),
    ] {
        let day = format!("2026-01-0{second}");
        let values = format!(", '{country}', '{device}', '{referrer}'");
        add_clicks(&shop, &day, 1, columns, &values).await;
    }
    shop
}

#[tokio::test]
async fn each_filter_passes_its_own() {
    let shop = shop().await;
    for (filter, expected) in [
        ("type=click&from=2026-02-01", vec!["click", "click"]),
        ("type=lead", vec!["lead", "lead"]),
        ("type=sale", vec!["sale", "sale"]),
        ("type=refund", vec!["refund"]),
        ("country=de", vec!["click", "click"]),
        ("device=desktop", vec!["click", "click"]),
        ("country=DE&device=desktop", vec!["click"]),
        ("source=blog.example", vec!["click", "click"]),
        ("source=WWW.notblog.example", vec!["click"]),
        ("source=example", vec![]),
        ("country=DE&type=sale", vec![]),
        ("from=2026-01-02&to=2026-01-02", vec!["click"]),
        (
            "from=2026-01-02T00:00:01Z&to=2026-01-03T00:00:01.000Z",
            vec!["click", "click"],
        ),
        ("to=2025-12-31", vec![]),
    ] {
        let events = whole(&shop, filter, 50).await;
        assert_eq!(types(&events), expected, "{filter}");
        // Pages of one event give the same list.
        assert_eq!(names(&whole(&shop, filter, 1).await), names(&events), "{filter}");
    }
}

#[tokio::test]
async fn a_partner_has_the_clicks_of_their_links_and_what_followed() {
    let shop = shop().await;
    let (ada, bruno) = (shop.program.ada.membership, shop.program.bruno.membership);
    for (membership, others, expected) in [
        (bruno, "", "sale lead click"),
        (ada, "&from=2026-02-01", "refund sale lead click"),
    ] {
        let events = whole(&shop, &format!("partner={membership}{others}"), 50).await;
        assert_eq!(types(&events).join(" "), expected);
        let theirs = |event: &Value| event["partner_program_id"] == json!(membership);
        assert!(events.iter().all(theirs));
    }
    let country = whole(&shop, &format!("partner={ada}&country=FR"), 1).await;
    assert_eq!(types(&country), ["click"]);
    // Filters that name another program's ids, or ids that do not exist.
    let other = shop.stack.program().await;
    shop.stack.click(&other.ada.code).await;
    let of_other = whole(&shop, &format!("partner={}", other.ada.membership), 50).await;
    assert_eq!(of_other, [] as [Value; 0]);
}

#[tokio::test]
async fn test_events_are_listed_alone_or_not_at_all() {
    let shop = shop().await;
    let before = names(&whole(&shop, "", 50).await);
    let test = test_mode();
    shop.stack
        .click_with(&shop.program.ada.code, test.clone())
        .await
        .ok();
    let sale = test_mode().with(json!({ "transaction_id": "tt", "amount_cents": 5 }));
    shop.stack.sold(&shop.program, sale).await;
    shop.stack.reaches("click_events WHERE is_test", 1).await;
    shop.stack.reaches("sale_events WHERE is_test", 1).await;
    assert_eq!(names(&whole(&shop, "", 50).await), before);
    let tests = whole(&shop, "is_test=true", 50).await;
    assert_eq!(tests.len(), 2);
    for event in &tests {
        event.has(json!({ "is_test": true, "customer_id": null }));
    }
    assert_eq!(types(&whole(&shop, "is_test=true&type=sale", 50).await), ["sale"]);
}

#[tokio::test]
async fn a_search_finds_a_sale_or_all_that_is_a_customers() {
    let shop = shop().await;
    // Another program has the same names.
    let other = shop.stack.program().await;
    shop.stack.customer(&other, &other.ada.code, "user-1").await;
    let events = whole(&shop, "", 50).await;
    let click_id = events
        .iter()
        .find(|event| event["customer_key"] == "user-2")
        .map(|event| event["click_id"].as_str().unwrap().to_owned())
        .unwrap();
    let theirs = vec!["sale", "lead", "click"];
    for (search, expected) in [
        ("t1", vec!["refund", "sale"]),
        ("t2", vec!["sale"]),
        ("user-2", theirs.clone()),
        (click_id.as_str(), theirs.clone()),
        ("cleo%40letters.EXAMPLE", theirs),
        ("user-1", vec!["refund", "sale", "lead", "click"]),
        ("user", vec![]),
        ("%25", vec![]),
    ] {
        let query = format!("search={search}");
        let found = whole(&shop, &query, 50).await;
        assert_eq!(types(&found), expected, "{search}");
        assert_eq!(names(&whole(&shop, &query, 1).await), names(&found), "{search}");
    }
    let narrowed = whole(&shop, "search=user-2&type=lead", 50).await;
    assert_eq!(types(&narrowed), ["lead"]);
    let of_ada = format!("search=user-2&partner={}", shop.program.ada.membership);
    assert_eq!(whole(&shop, &of_ada, 50).await, [] as [Value; 0]);
}

#[tokio::test]
async fn a_search_finds_every_click_of_a_customer() {
    let shop = Shop::open().await;
    let first = shop.stack.click(&shop.program.ada.code).await;
    shop.stack.reaches("click_events", 2).await;
    for clicks in 3..=5 {
        shop.stack.returns(&shop.program.ada, &first, clicks).await;
    }
    let found = whole(&shop, &format!("search={first}"), 2).await;
    assert_eq!(types(&found), ["click"; 4]);
}

/// A bot's click is the customer's, but does not count for the partner.
#[tokio::test]
async fn a_search_among_a_partners_events_finds_clicks_that_count() {
    let shop = Shop::open().await;
    let (stack, ada) = (&shop.stack, &shop.program.ada);
    let click_id = stack.click(&ada.code).await;
    rows::set(stack, &shop.program, "exclude_bots = true").await;
    let bot = json!({ "user_agent": BOT, "existing_click_id": click_id });
    stack.click_with(&ada.code, bot).await.ok();
    stack.reaches("click_events", 3).await;
    let found = whole(&shop, &format!("search={click_id}"), 50).await;
    assert_eq!(types(&found), ["click"; 2]);
    for partner in [
        format!("partner={}", ada.membership),
        format!("partner={}&type=click", ada.membership),
    ] {
        let found = whole(&shop, &format!("search={click_id}&{partner}"), 50).await;
        assert_eq!(types(&found), ["click"], "{partner}");
    }
}

#[tokio::test]
async fn a_file_is_the_list_with_the_same_filters() {
    let shop = shop().await;
    for filter in ["", "type=sale", "country=DE", "search=user-2"] {
        let listed = whole(&shop, filter, 3).await;
        let lines = shop.get(&format!("events/export?format=ndjson&{filter}")).await;
        assert_eq!(lines.ndjson(), listed, "{filter}");
    }
    let file = shop.get("events/export?type=sale&search=t1").await;
    assert_eq!(file.header("content-type"), "text/csv; charset=utf-8");
    let text = file.text();
    let cells: Vec<Vec<&str>> = text
        .lines()
        .map(|line| line.trim_matches('"').split("\",\"").collect())
        .collect();
    assert_eq!(cells.len(), 2, "{text}");
    let cell = |column: &str| cells[1][cells[0].iter().position(|name| *name == column).unwrap()];
    let listed = data(&shop.get("events?type=sale&search=t1").await);
    assert_eq!(cell("transaction_id"), "t1");
    assert_eq!(cell("customer_id"), listed[0]["customer_id"].to_string());
    assert_eq!(cell("partner_name"), listed[0]["partner"]["name"]);
    assert_eq!(cell("commission_status"), "refunded");
    assert_eq!(cell("commission_cents"), "1980");
}
