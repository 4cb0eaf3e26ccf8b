//! The currency of a program's reports.

use reqwest::StatusCode;
use serde_json::json;
use test_harness::managed::PROGRAMS;
use test_harness::{Shop, Stack};

#[tokio::test]
async fn a_program_is_in_a_currency_that_people_pay_in() {
    let stack = Stack::start().await;
    let acme = stack.workspace("acme").await;
    let token = &acme.owner.token;
    let in_currency = |code: &str| json!({ "name": "Kyoto", "currency": code });
    for code in ["ZZZ", "XAU", "DEM"] {
        stack
            .submit(PROGRAMS, Some(token), in_currency(code))
            .await
            .refused(400, "currency must be one that people pay in, such as USD");
    }
    assert_eq!(stack.count("programs").await, 0);
    for code in ["JPY", "kwd", "EUR"] {
        let made = stack.submit(PROGRAMS, Some(token), in_currency(code)).await;
        assert_eq!(made.status, StatusCode::CREATED, "{made:?}");
        assert_eq!(made.body["data"]["currency"], code.to_uppercase());
    }
}

#[tokio::test]
async fn a_program_with_sales_keeps_its_currency() {
    let shop = Shop::open().await;
    let path = format!("{PROGRAMS}/{}", shop.program.program_id);
    let set = async |code: &str| {
        shop.stack
            .put(&path, &shop.owner.token, json!({ "currency": code }))
            .await
    };
    assert_eq!(set("EUR").await.body["data"]["currency"], "EUR");
    shop.sell("t1", json!({ "currency": "EUR" })).await;
    set("USD")
        .await
        .refused(409, "currency cannot be changed any more: the program has sales");
    // The dashboard's form sends the unchanged value.
    assert_eq!(set("EUR").await.status, StatusCode::OK);
}
