//! Calls that are refused in every state, with the contract's messages.

use serde_json::{Value, json};
use test_harness::Json;
use test_harness::leads::NOT_FOUND;

/// Sent with a program's key.
pub struct Refusal {
    pub path: &'static str,
    pub body: Value,
    pub message: String,
}

pub fn all() -> Vec<Refusal> {
    let sale = json!({ "transaction_id": "never", "amount_cents": 100, "customer_key": "nobody" });
    let refund = json!({ "transaction_id": "never" });
    let url = |url: &str| json!({ "affiliate_url": url });
    // By path: the fields that all its bodies have, and by message those that differ.
    let refused = [
        (
            "click",
            json!({}),
            json!({
                "affiliate_url is required": [{}, { "affiliate_url": null }],
                "Invalid affiliate_url": [url("/?aff=ada")],
                "No aff parameter found in affiliate_url": [url("https://shop.example/?ref=ada")],
            }),
        ),
        (
            "lead",
            json!({}),
            json!({
                "click_id or customer_key is required": [{}],
                "click_id must be a string": [{ "click_id": 7 }],
                NOT_FOUND: [{ "customer_key": "never" }],
            }),
        ),
        (
            "sale",
            sale,
            json!({
                "transaction_id is required and must be a string": [{ "transaction_id": null }, { "transaction_id": 7 }],
                "amount_cents is required and must be a positive integer": [
                    { "amount_cents": null }, { "amount_cents": 0 }, { "amount_cents": -100 },
                    { "amount_cents": "100" }, { "amount_cents": 1.5 },
                ],
                "commissionable_cents must be an integer from 0 to amount_cents": [
                    { "commissionable_cents": -1 }, { "commissionable_cents": 101 }, { "commissionable_cents": "50" },
                ],
                "customer_key must be a string": [{ "customer_key": 7.5 }],
                "sale_type must be payment or subscription": [{ "sale_type": "gift" }],
                "Customer not found. Provide customer_key or click_id.": [{ "customer_key": "never" }],
            }),
        ),
        (
            "refund",
            json!({}),
            json!({
                "transaction_id is required": [{}, { "transaction_id": 7 }],
            }),
        ),
        (
            "refund",
            refund,
            json!({
                "refund_amount_cents must be a positive integer": [
                    { "refund_amount_cents": -1 }, { "refund_amount_cents": "1" }, { "refund_amount_cents": 0.5 },
                ],
            }),
        ),
    ];
    let mut all = Vec::new();
    for (path, common, by_message) in refused {
        for (message, bodies) in by_message.as_object().unwrap() {
            let bodies = bodies.as_array().unwrap().iter();
            all.extend(bodies.map(|body| Refusal {
                path,
                body: common.clone().with(body.clone()),
                message: message.clone(),
            }));
        }
    }
    all
}
