//! Who may list a program's events, and which requests are refused.

use domain::people::permission::Role;
use reqwest::StatusCode;
use serde_json::{Value, json};
use test_harness::Shop;

use super::super::reports::workspace;
use super::data;

#[tokio::test]
async fn what_was_earned_is_for_who_may_read_the_program() {
    let shop = Shop::open().await;
    shop.sell("t1", json!({})).await;
    let member = shop
        .stack
        .member(
            workspace(&shop.stack, &shop.program).await,
            "m@x.example",
            Role::Member,
        )
        .await;
    let given = async |permissions: &str| {
        shop.stack.execute("DELETE FROM member_permissions").await;
        shop.stack
            .execute(&format!(
                "INSERT INTO member_permissions SELECT id, {}, '{{{permissions}}}' FROM workspace_members
                 WHERE user_id = {}",
                shop.program.program_id, member.user_id
            ))
            .await;
        shop.stack
            .get(&shop.path("events?type=sale"), &member.token)
            .await
    };
    given("program:read")
        .await
        .refused(403, "You do not have access to this resource");
    let listed = given("tracking:list").await;
    assert_eq!(listed.status, StatusCode::OK, "{listed:?}");
    let sale = &data(&listed)[0];
    assert_eq!(
        (&sale["amount_cents"], &sale["commissions"]),
        (&json!(10_000), &Value::Null)
    );
    let sale = data(&given("tracking:list,program:read").await)[0].clone();
    assert_eq!(sale["commissions"][0]["amount_cents"], 2_000);
}

#[tokio::test]
async fn parameters_that_cannot_be_read_are_refused_by_name() {
    let shop = Shop::open().await;
    let date = "must be an ISO 8601 date of the years 1970 to 9999";
    let long = format!("search={}", "x".repeat(256));
    for (query, message) in [
        (
            "type=conversion",
            "type must be one of click, lead, sale, refund".to_owned(),
        ),
        ("from=yesterday", format!("from {date}")),
        ("to=2026-02-30", format!("to {date}")),
        (
            "from=2026-01-02&to=2026-01-01",
            "from must not be after to".to_owned(),
        ),
        ("partner=ada", "partner must be an integer".to_owned()),
        (
            "country=Germany",
            "country must be two letters of ISO 3166-1".to_owned(),
        ),
        (
            "device=phone",
            "device must be one of desktop, mobile, tablet, tv, bot".to_owned(),
        ),
        (
            "source=https://blog.example/",
            "source must be the host of a page".to_owned(),
        ),
        ("is_test=1", "is_test must be true or false".to_owned()),
        ("is_test=true&search=t1", "search finds no test events".to_owned()),
        (
            "search=a%00b",
            "search must be 1 to 255 visible characters".to_owned(),
        ),
        (
            "search=%20",
            "search must be 1 to 255 visible characters".to_owned(),
        ),
        (
            long.as_str(),
            "search must be 1 to 255 visible characters".to_owned(),
        ),
        ("limit=0", "limit must be an integer from 1 to 100".to_owned()),
        ("limit=101", "limit must be an integer from 1 to 100".to_owned()),
        (
            "after=newest",
            "after must be the next of an answer: it is not whole".to_owned(),
        ),
    ] {
        shop.get(&format!("events?{query}")).await.refused(400, &message);
    }
    shop.get("events/export?format=xlsx")
        .await
        .refused(400, "format must be one of csv, ndjson");
}

#[tokio::test]
async fn a_cursor_is_of_its_own_program_only() {
    let shop = Shop::open().await;
    let next = shop.get("events?limit=1").await.body["meta"]["next"].clone();
    let other = shop.stack.program().await;
    let owner = shop.stack.owner_of(&other).await;
    let path = format!(
        "/api/advertiser/affiliate-programs/{}/events?after={}",
        other.program_id,
        next.as_str().unwrap()
    );
    shop.stack.get(&path, &owner.token).await.refused(
        400,
        "after must be the next of an answer: it is of another program",
    );
}
