//! Who may list a program's events, and which requests are refused.

use serde_json::json;
use test_harness::{Json, Shop};

use super::data;

#[tokio::test]
async fn what_was_earned_is_for_who_may_read_the_program() {
    let shop = Shop::open().await;
    shop.sell("t1", json!({})).await;
    let member = shop.stack.member_of(&shop.program, "m@x.example").await;
    let given = async |permissions: &str| {
        shop.stack.permit(&shop.program, &member, permissions).await;
        let path = shop.path("events?type=sale");
        shop.stack.get(&path, &member.token).await
    };
    given("program:read")
        .await
        .refused(403, "You do not have access to this resource");
    let listed = given("tracking:list").await.ok();
    let sale = &data(&listed)[0];
    sale.has(json!({ "amount_cents": 10_000, "commissions": null }));
    let sale = data(&given("tracking:list,program:read").await)[0].clone();
    assert_eq!(sale["commissions"][0]["amount_cents"], 2_000);
}

#[tokio::test]
async fn parameters_that_cannot_be_read_are_refused_by_name() {
    let shop = Shop::open().await;
    let refusals = json!({
        "type=conversion": "type must be one of click, lead, sale, refund",
        "from=yesterday": "from must be an ISO 8601 date of the years 1970 to 9999",
        "to=2026-02-30": "to must be an ISO 8601 date of the years 1970 to 9999",
        "from=2026-01-02&to=2026-01-01": "from must not be after to",
        "partner=ada": "partner must be an integer",
        "country=Germany": "country must be two letters of ISO 3166-1",
        "device=phone": "device must be one of desktop, mobile, tablet, tv, bot",
        "source=https://blog.example/": "source must be the host of a page",
        "is_test=1": "is_test must be true or false",
        "is_test=true&search=t1": "search finds no test events",
        "search=a%00b": "search must be 1 to 255 visible characters",
        "search=%20": "search must be 1 to 255 visible characters",
        (format!("search={}", "x".repeat(256))): "search must be 1 to 255 visible characters",
        "limit=0": "limit must be an integer from 1 to 100",
        "limit=101": "limit must be an integer from 1 to 100",
        "after=newest": "after must be the next of an answer: it is not whole",
    });
    shop.refuses("events", refusals).await;
    let refusals = json!({ "format=xlsx": "format must be one of csv, ndjson" });
    shop.refuses("events/export", refusals).await;
}

#[tokio::test]
async fn a_cursor_is_of_its_own_program_only() {
    let shop = Shop::open().await;
    let next = shop.get("events?limit=1").await.body["meta"]["next"].clone();
    let other = shop.stack.program().await;
    let owner = shop.stack.owner_of(&other).await;
    let path = other.path(&format!("events?after={}", next.as_str().unwrap()));
    shop.stack.get(&path, &owner.token).await.refused(
        400,
        "after must be the next of an answer: it is of another program",
    );
}
