//! The list of a program's customers, and the timeline of a single sale.

use serde_json::json;
use test_harness::{Json, Shop, rows};

#[tokio::test]
async fn who_signed_up_or_paid_is_listed_with_what_was_bought() {
    let shop = Shop::open().await;
    let (ada, bruno) = (&shop.program.ada, &shop.program.bruno);
    shop.stack.click(&bruno.code).await;
    shop.stack.customer(&shop.program, &bruno.code, "user-2").await;
    shop.sell("t1", json!({})).await;
    shop.sell("t2", json!({ "currency": "JPY", "amount_cents": 700 }))
        .await;
    shop.refund("t1", 2_500).await;

    let expected = json!({
        "": ["user-2", "user-1"],
        "upTo=9223372036854775807": ["user-2", "user-1"],
        "status=lead": ["user-2"],
        "status=conversion": ["user-1"],
        "search=user-1": ["user-1"],
        "search=t2": ["user-1"],
        "search=nobody": [],
        (format!("partner_program_id={}", ada.membership)): ["user-1"],
        (format!("partner_program_id={}", bruno.membership)): ["user-2"],
        "partner_program_id=0": [],
        "sort=signup_date&order=asc": ["user-1", "user-2"],
        "sort=first_purchase_date&order=asc": ["user-1", "user-2"],
    });
    shop.lists("customers", "customer_key", expected).await;
    let customer = &shop.read("customers?search=user-1").await[0];
    assert_eq!(customer["partner"]["id"], json!(ada.partner_id));
    customer.has(json!({
        "referral_link_code": ada.code,
        "purchases": [
            { "currency": "JPY", "sales": 1, "revenue_cents": 700, "refunded_cents": 0 },
            { "currency": "USD", "sales": 1, "revenue_cents": 10_000, "refunded_cents": 2_500 },
        ],
    }));
    // A customer who arrives later shifts no page, even if the first click was earlier.
    let first = shop.get("customers?pageSize=1").await.body["meta"]["pagination"]["upTo"].clone();
    let click_id = shop.stack.click(&bruno.code).await;
    shop.stack.lead(&shop.program, &click_id, "user-3").await;
    let second = shop
        .get(&format!("customers?pageSize=1&page=2&upTo={first}"))
        .await;
    assert_eq!(
        (second.column("customer_key"), second.total()),
        (json!(["user-1"]), &json!(2))
    );
    let expected = json!({ "": ["user-3", "user-2", "user-1"] });
    shop.lists("customers", "customer_key", expected).await;
    let refusals = json!({
        "status=click": "status must be lead or conversion",
        "sort=id": "sort must be one of signup_date, first_purchase_date, sales, net_revenue",
    });
    shop.refuses("customers", refusals).await;
}

/// Sorted by net revenue; customers without a sale in the program's currency come last in both orders.
#[tokio::test]
async fn customers_are_sorted_by_what_they_bought() {
    let shop = Shop::open().await;
    for customer in ["user-2", "user-3", "user-4", "user-5"] {
        shop.stack
            .customer(&shop.program, &shop.program.ada.code, customer)
            .await;
    }
    for (transaction_id, customer, amount_cents, currency) in [
        ("t1", "user-1", 1_000, "USD"),
        ("t2", "user-2", 5_000, "USD"),
        ("t3", "user-3", 9_999, "JPY"),
        ("t4", "user-4", 800, "USD"),
        ("t5", "user-4", 800, "USD"),
        ("t6", "user-4", 70_000, "JPY"),
    ] {
        let body = json!({ "customer_key": customer, "amount_cents": amount_cents, "currency": currency });
        shop.sell(transaction_id, body).await;
    }
    shop.refund("t2", 4_500).await;
    let expected = json!({
        "sort=net_revenue": ["user-4", "user-1", "user-2", "user-5", "user-3"],
        "sort=net_revenue&order=asc": ["user-2", "user-1", "user-4", "user-5", "user-3"],
        "sort=net_revenue&pageSize=2&page=2": ["user-2", "user-5"],
        "sort=sales": ["user-4", "user-3", "user-2", "user-1", "user-5"],
        "sort=sales&order=asc": ["user-5", "user-3", "user-2", "user-1", "user-4"],
    });
    shop.lists("customers", "customer_key", expected).await;
}

/// A customer who clicked another partner's link after the sale is listed for both partners.
#[tokio::test]
async fn a_customer_is_also_of_the_partner_who_earned_by_them() {
    let shop = Shop::open().await;
    let (ada, bruno) = (&shop.program.ada, &shop.program.bruno);
    shop.sell("t1", json!({})).await;
    let click_id: String = shop.stack.value("SELECT click_id FROM customers").await;
    shop.stack.returns(bruno, &click_id, 1).await;
    let expected = json!({
        (format!("partner_program_id={}", ada.membership)): ["user-1"],
        (format!("partner_program_id={}", bruno.membership)): ["user-1"],
    });
    shop.lists("customers", "customer_key", expected).await;
}

#[tokio::test]
async fn a_sale_is_read_with_what_led_to_it_and_what_came_of_it() {
    let shop = Shop::open().await;
    let commission = shop.sell("t1", json!({})).await;
    shop.sell("t2", json!({})).await;
    shop.refund("t1", 2_500).await;
    shop.refund("t2", 100).await;
    let sale = rows::sale(&shop.stack, "t1").await["id"].clone();
    let read = shop.read(&format!("sales/{sale}")).await;
    assert_eq!(
        read["timeline"].columns(["kind", "amount_cents"]),
        json!([
            ["click", null],
            ["lead", null],
            ["sale", 10_000],
            ["commission", 2_000],
            ["ledger", 2_000],
            ["refund", 2_500],
            ["ledger", -500]
        ])
    );
    assert_eq!(read["timeline"][3]["commission_id"], commission);
    read.has(json!({ "customer_key": "user-1", "has_older_events": false }));
    for event in [0, 2, 5] {
        assert_eq!(
            read["timeline"][event]["event"]["customer_key"], "user-1",
            "{read}"
        );
    }
    shop.get("sales/0").await.refused(404, "Sale not found");
}
