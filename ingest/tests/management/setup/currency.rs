//! The currency of a program's reports.

use serde_json::json;
use test_harness::managed::PROGRAMS;
use test_harness::{Shop, Stack};

#[tokio::test]
async fn a_program_is_in_a_currency_that_people_pay_in() {
    let (stack, acme) = Stack::with_workspace().await;
    let create = async |code: &str| {
        let body = json!({ "name": "Kyoto", "currency": code });
        acme.owner.submit(PROGRAMS, body).await
    };
    for code in ["ZZZ", "XAU", "DEM"] {
        let refused = create(code).await;
        refused.refused(400, "currency must be one that people pay in, such as USD");
    }
    assert_eq!(stack.count("programs").await, 0);
    for code in ["JPY", "kwd", "EUR"] {
        let made = create(code).await.created();
        assert_eq!(made.data()["currency"], code.to_uppercase());
    }
}

#[tokio::test]
async fn a_program_with_sales_keeps_its_currency() {
    let shop = Shop::open().await;
    let path = format!("{PROGRAMS}/{}", shop.program.program_id);
    let set = async |code: &str| shop.owner.put(&path, json!({ "currency": code })).await;
    assert_eq!(set("EUR").await.body["data"]["currency"], "EUR");
    shop.sell("t1", json!({ "currency": "EUR" })).await;
    let message = "currency cannot be changed any more: the program has sales";
    set("USD").await.refused(409, message);
    // The dashboard's form sends the unchanged value.
    set("EUR").await.ok();
}
