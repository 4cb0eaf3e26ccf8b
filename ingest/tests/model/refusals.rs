//! Calls that are refused in every state, with the contract's messages.

use serde_json::{Value, json};
use test_harness::Json;
use test_harness::leads::NOT_FOUND;

/// Sent with a program's key.
pub struct Refusal {
    pub path: &'static str,
    pub body: Value,
    pub message: &'static str,
}

const AMOUNT: &str = "amount_cents is required and must be a positive integer";
const COMMISSIONABLE: &str = "commissionable_cents must be an integer from 0 to amount_cents";
const TRANSACTION: &str = "transaction_id is required and must be a string";
const NO_CUSTOMER: &str = "Customer not found. Provide customer_key or click_id.";
const REFUND_AMOUNT: &str = "refund_amount_cents must be a positive integer";

pub fn all() -> Vec<Refusal> {
    let sale = |more: Value| {
        let sale = json!({ "transaction_id": "never", "amount_cents": 100, "customer_key": "nobody" });
        sale.with(more)
    };
    let refund = |amount: Value| json!({ "transaction_id": "never", "refund_amount_cents": amount });
    let url = |url: &str| json!({ "affiliate_url": url });
    [
        ("click", json!({}), "affiliate_url is required"),
        (
            "click",
            json!({ "affiliate_url": null }),
            "affiliate_url is required",
        ),
        ("click", url("/?aff=ada"), "Invalid affiliate_url"),
        (
            "click",
            url("https://shop.example/?ref=ada"),
            "No aff parameter found in affiliate_url",
        ),
        ("lead", json!({}), "click_id or customer_key is required"),
        ("lead", json!({ "click_id": 7 }), "click_id must be a string"),
        ("lead", json!({ "customer_key": "never" }), NOT_FOUND),
        ("sale", sale(json!({ "transaction_id": null })), TRANSACTION),
        ("sale", sale(json!({ "transaction_id": 7 })), TRANSACTION),
        ("sale", sale(json!({ "amount_cents": null })), AMOUNT),
        ("sale", sale(json!({ "amount_cents": 0 })), AMOUNT),
        ("sale", sale(json!({ "amount_cents": -100 })), AMOUNT),
        ("sale", sale(json!({ "amount_cents": "100" })), AMOUNT),
        ("sale", sale(json!({ "amount_cents": 1.5 })), AMOUNT),
        (
            "sale",
            sale(json!({ "commissionable_cents": -1 })),
            COMMISSIONABLE,
        ),
        (
            "sale",
            sale(json!({ "commissionable_cents": 101 })),
            COMMISSIONABLE,
        ),
        (
            "sale",
            sale(json!({ "commissionable_cents": "50" })),
            COMMISSIONABLE,
        ),
        (
            "sale",
            sale(json!({ "customer_key": 7.5 })),
            "customer_key must be a string",
        ),
        (
            "sale",
            sale(json!({ "sale_type": "gift" })),
            "sale_type must be payment or subscription",
        ),
        ("sale", sale(json!({ "customer_key": "never" })), NO_CUSTOMER),
        ("refund", json!({}), "transaction_id is required"),
        (
            "refund",
            json!({ "transaction_id": 7 }),
            "transaction_id is required",
        ),
        ("refund", refund(json!(-1)), REFUND_AMOUNT),
        ("refund", refund(json!("1")), REFUND_AMOUNT),
        ("refund", refund(json!(0.5)), REFUND_AMOUNT),
    ]
    .map(|(path, body, message)| Refusal { path, body, message })
    .into()
}
