//! Pages of lists that grow while they are read.

use serde_json::{Value, json};
use test_harness::{Shop, managed::PROGRAMS};

const LISTS: [&str; 4] = ["commissions", "payouts", "partners", "referral-links"];

/// Adds one entry to each of the lists.
async fn add(shop: &Shop, number: u32) {
    let commission = shop.earn(&format!("t{number}"), json!({})).await;
    shop.pay(json!({ "commission_ids": [commission] })).await;
    let partner = json!({
        "name": "Cleo",
        "email": format!("cleo{number}@letters.example"),
        "status": "approved",
        "referral_link": {},
    });
    shop.post("partners", partner).await.created();
}

async fn list(shop: &Shop, path: &str, query: &str) -> Value {
    let answer = shop.get(&format!("{path}?pageSize=1&{query}")).await.ok();
    answer.body
}

#[tokio::test]
async fn what_is_added_meanwhile_shifts_no_page() {
    let shop = Shop::open().await;
    add(&shop, 1).await;
    add(&shop, 2).await;
    let mut first_pages = Vec::new();
    for path in LISTS {
        first_pages.push(list(&shop, path, "page=1").await);
    }
    add(&shop, 3).await;
    for (path, first) in LISTS.iter().zip(first_pages) {
        let (newest, pagination) = (&first["data"][0]["id"], &first["meta"]["pagination"]);
        assert_eq!(&pagination["upTo"], newest, "{path}");
        let shifted = list(&shop, path, "page=2").await;
        assert_eq!(&shifted["data"][0]["id"], newest, "{path}");
        let second = list(&shop, path, &format!("page=2&upTo={newest}")).await;
        assert!(second["data"][0]["id"].as_i64() < newest.as_i64(), "{path}");
        for same in ["upTo", "total", "pageCount"] {
            assert_eq!(second["meta"]["pagination"][same], pagination[same], "{path}");
        }
    }
    let refusals = json!({ "upTo=newest": "upTo must be a positive integer" });
    shop.refuses("commissions", refusals).await;
}

#[tokio::test]
async fn a_program_that_is_made_meanwhile_shifts_no_page() {
    let shop = Shop::open().await;
    let make = async |name: &str| {
        let body = json!({ "name": name });
        let made = shop
            .stack
            .submit(PROGRAMS, Some(&shop.owner.token), body)
            .await
            .created();
        made.body["data"]["id"].clone()
    };
    let listed = async |query: &str| {
        let path = format!("{PROGRAMS}?pageSize=1{query}");
        shop.stack.get(&path, &shop.owner.token).await.body
    };
    let second = make("Second").await;
    let first_page = listed("").await;
    assert_eq!(first_page["data"][0]["id"], second);
    assert_eq!(first_page["meta"]["pagination"]["upTo"], second);
    make("Third").await;
    let next = listed(&format!("&page=2&upTo={second}")).await;
    assert_eq!(next["data"][0]["id"], shop.program.program_id.get());
    assert_eq!(next["meta"]["pagination"]["total"], 2);
}
