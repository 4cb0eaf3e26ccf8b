//! Calls that are refused in every state, with the contract's messages.

use serde_json::{Value, json};

/// Sent with a program's key.
pub struct Refusal {
    pub path: &'static str,
    pub body: Value,
    pub message: &'static str,
}

const AMOUNT: &str = "amount_cents is required and must be a positive integer";
const COMMISSIONABLE: &str = "commissionable_cents must be an integer from 0 to amount_cents";
const TRANSACTION: &str = "transaction_id is required and must be a string";
const REFUND_AMOUNT: &str = "refund_amount_cents must be a positive integer";

pub fn all() -> Vec<Refusal> {
    let sale_with = |name: &str, value: Value| {
        let mut body = json!({ "transaction_id": "never", "amount_cents": 100, "customer_key": "nobody" });
        body[name] = value;
        body
    };
    let refund_of = |amount: Value| json!({ "transaction_id": "never", "refund_amount_cents": amount });
    [
        ("click", json!({}), "affiliate_url is required"),
        (
            "click",
            json!({ "affiliate_url": null }),
            "affiliate_url is required",
        ),
        (
            "click",
            json!({ "affiliate_url": "/?aff=ada" }),
            "Invalid affiliate_url",
        ),
        (
            "click",
            json!({ "affiliate_url": "https://shop.example/?ref=ada" }),
            "No aff parameter found in affiliate_url",
        ),
        ("lead", json!({}), "click_id or customer_key is required"),
        ("lead", json!({ "click_id": 7 }), "click_id must be a string"),
        (
            "lead",
            json!({ "customer_key": "never" }),
            "Customer not found. Provide a valid click_id or customer_key.",
        ),
        ("sale", sale_with("transaction_id", Value::Null), TRANSACTION),
        ("sale", sale_with("transaction_id", json!(7)), TRANSACTION),
        ("sale", sale_with("amount_cents", Value::Null), AMOUNT),
        ("sale", sale_with("amount_cents", json!(0)), AMOUNT),
        ("sale", sale_with("amount_cents", json!(-100)), AMOUNT),
        ("sale", sale_with("amount_cents", json!("100")), AMOUNT),
        ("sale", sale_with("amount_cents", json!(1.5)), AMOUNT),
        (
            "sale",
            sale_with("commissionable_cents", json!(-1)),
            COMMISSIONABLE,
        ),
        (
            "sale",
            sale_with("commissionable_cents", json!(101)),
            COMMISSIONABLE,
        ),
        (
            "sale",
            sale_with("commissionable_cents", json!("50")),
            COMMISSIONABLE,
        ),
        (
            "sale",
            sale_with("customer_key", json!(7.5)),
            "customer_key must be a string",
        ),
        (
            "sale",
            sale_with("sale_type", json!("gift")),
            "sale_type must be payment or subscription",
        ),
        (
            "sale",
            sale_with("customer_key", json!("never")),
            "Customer not found. Provide customer_key or click_id.",
        ),
        ("refund", json!({}), "transaction_id is required"),
        (
            "refund",
            json!({ "transaction_id": 7 }),
            "transaction_id is required",
        ),
        ("refund", refund_of(json!(-1)), REFUND_AMOUNT),
        ("refund", refund_of(json!("1")), REFUND_AMOUNT),
        ("refund", refund_of(json!(0.5)), REFUND_AMOUNT),
    ]
    .map(|(path, body, message)| Refusal { path, body, message })
    .into()
}
