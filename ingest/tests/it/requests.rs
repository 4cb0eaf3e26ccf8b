//! Every documented refusal of the tracking routes: status, message and envelope, and nothing stored.

use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::rows;
use crate::stack::{Answer, Program, Stack};

/// The platform envelope, exactly.
pub fn refused(answer: &Answer, status: u16, message: &str, what: &str) {
    let name = match status {
        400 => "BadRequestError",
        401 => "UnauthorizedError",
        404 => "NotFoundError",
        409 => "ConflictError",
        413 => "PayloadTooLargeError",
        other => panic!("{other} is not expected of {what}"),
    };
    let body = json!({ "data": null, "error": { "status": status, "name": name, "message": message, "details": {} } });
    assert_eq!(answer.body, body, "{what}");
    assert_eq!(answer.status.as_u16(), status, "{what}");
}

/// A program with a customer `user-1` and their sale `t1`, everything written.
pub async fn with_a_sale(stack: &Stack) -> Program {
    let program = stack.program().await;
    stack.customer(&program, &program.ada.code, "user-1").await;
    let body = json!({ "transaction_id": "t1", "amount_cents": 5000, "customer_key": "user-1" });
    assert_eq!(stack.sale(&program, body).await.status, StatusCode::OK);
    rows::counted(stack, program.ada.link, 1).await;
    program
}

/// Clicks are written behind their answers, in order: once one more is counted, none before it is still to come.
pub async fn nothing_stored(
    stack: &Stack,
    program: &Program,
    before: &std::collections::BTreeMap<String, i64>,
) {
    let mut expected = before.clone();
    for table in ["customers", "click_events"] {
        *expected.get_mut(table).unwrap() += 1;
    }
    stack.click(&program.bruno.code).await;
    rows::counted(stack, program.bruno.link, 1).await;
    assert_eq!(rows::counts(stack).await, expected);
}

#[tokio::test]
async fn refused_clicks_say_why() {
    let stack = Stack::start().await;
    let program = with_a_sale(&stack).await;
    let before = rows::counts(&stack).await;
    for (affiliate_url, message) in [
        (Value::Null, "affiliate_url is required"),
        (json!(""), "affiliate_url is required"),
        (json!("shop.example/?aff=ada"), "Invalid affiliate_url"),
        (json!("/landing?aff=ada"), "Invalid affiliate_url"),
        (json!("javascript:alert(1)?aff=ada"), "Invalid affiliate_url"),
        (json!(5), "Invalid affiliate_url"),
        (json!(["https://shop.example/?aff=ada"]), "Invalid affiliate_url"),
        (
            json!("https://shop.example/"),
            "No aff parameter found in affiliate_url",
        ),
        (
            json!("https://shop.example/?aff="),
            "No aff parameter found in affiliate_url",
        ),
        (
            json!("https://shop.example/#?aff=ada"),
            "No aff parameter found in affiliate_url",
        ),
        (
            json!("https://shop.example/?aff=a%00"),
            "No aff parameter found in affiliate_url",
        ),
        (
            json!("https://shop.example/?aff=nobody"),
            "Referral link not found",
        ),
        (
            json!("https://shop.example/?aff=' OR 1=1 --"),
            "Referral link not found",
        ),
    ] {
        let answer = stack
            .post("click", None, json!({ "affiliate_url": affiliate_url }))
            .await;
        refused(&answer, 400, message, &affiliate_url.to_string());
    }
    refused(
        &stack.post("click", None, json!({})).await,
        400,
        "affiliate_url is required",
        "no field at all",
    );
    nothing_stored(&stack, &program, &before).await;
    stack.verify().await;
    stack.stop().await;
}

#[tokio::test]
async fn refused_leads_say_why() {
    let stack = Stack::start().await;
    let program = with_a_sale(&stack).await;
    let other = stack.program().await;
    let foreign = stack.click(&other.ada.code).await;
    rows::counted(&stack, other.ada.link, 1).await;
    let before = rows::counts(&stack).await;
    let (token, nobody) = (Some(program.token.as_str()), Some("nonsense"));
    let not_found = "Customer not found. Provide a valid click_id or customer_key.";
    let converted = "Customer status cannot be updated to lead. Current status: conversion";
    for (token, body, status, message) in [
        (token, json!({}), 400, "click_id or customer_key is required"),
        (
            None,
            json!({ "click_id": "", "customer_key": "" }),
            400,
            "click_id or customer_key is required",
        ),
        (token, json!({ "customer_key": "user-2" }), 400, not_found),
        (
            None,
            json!({ "click_id": "cust_1_1700000000000" }),
            400,
            not_found,
        ),
        (
            token,
            json!({ "click_id": foreign }),
            400,
            "Customer does not belong to this program",
        ),
        (token, json!({ "customer_key": "user-1" }), 400, converted),
        (
            nobody,
            json!({ "customer_key": "user-1" }),
            401,
            "Invalid API token",
        ),
    ] {
        refused(
            &stack.post("lead", token, body.clone()).await,
            status,
            message,
            &body.to_string(),
        );
    }
    nothing_stored(&stack, &program, &before).await;
    stack.verify().await;
    stack.stop().await;
}

#[tokio::test]
async fn refused_sales_say_why() {
    let stack = Stack::start().await;
    let program = with_a_sale(&stack).await;
    let other = stack.program().await;
    let foreign = stack.click(&other.ada.code).await;
    rows::counted(&stack, other.ada.link, 1).await;
    let before = rows::counts(&stack).await;
    let id = "transaction_id is required and must be a string";
    let amount = "amount_cents is required and must be a positive integer";
    let not_found = "Customer not found. Provide customer_key or click_id.";
    let duplicate = "Duplicate transaction_id. This sale has already been recorded.";
    let no_attribution = "No affiliate attribution found for this customer in this program";
    for (change, status, message) in [
        (json!({ "transaction_id": null }), 400, id),
        (json!({ "transaction_id": "" }), 400, id),
        (json!({ "transaction_id": 5 }), 400, id),
        (json!({ "amount_cents": null }), 400, amount),
        (json!({ "amount_cents": 0 }), 400, amount),
        (json!({ "amount_cents": -5 }), 400, amount),
        (json!({ "amount_cents": "100" }), 400, amount),
        (json!({ "amount_cents": true }), 400, amount),
        (json!({ "customer_key": null }), 400, not_found),
        (json!({ "customer_key": "user-2" }), 400, not_found),
        (
            json!({ "customer_key": null, "click_id": "garbage" }),
            400,
            not_found,
        ),
        (
            json!({ "customer_key": null, "click_id": foreign }),
            400,
            no_attribution,
        ),
        (json!({ "transaction_id": "t1" }), 409, duplicate),
        // A taken transaction_id is named before anything a look-up would find.
        (
            json!({ "transaction_id": "t1", "customer_key": "user-2" }),
            409,
            duplicate,
        ),
        (json!({ "customer_key": 5 }), 400, "customer_key must be a string"),
        (json!({ "click_id": 5 }), 400, "click_id must be a string"),
        (
            json!({ "currency": "EURO" }),
            400,
            "currency must be a three-letter ISO 4217 code",
        ),
        (
            json!({ "currency": "€" }),
            400,
            "currency must be a three-letter ISO 4217 code",
        ),
        (
            json!({ "sale_type": "gift" }),
            400,
            "sale_type must be payment or subscription",
        ),
        (
            json!({ "subscription_interval": "daily" }),
            400,
            "subscription_interval must be monthly, quarterly or annual",
        ),
        (
            json!({ "is_recurring": "yes" }),
            400,
            "is_recurring must be a boolean",
        ),
        (
            json!({ "line_items": "two shirts" }),
            400,
            "line_items must be an object or an array",
        ),
    ] {
        let mut body = json!({ "transaction_id": "t2", "amount_cents": 5000, "customer_key": "user-1" });
        body.as_object_mut()
            .unwrap()
            .extend(change.as_object().unwrap().clone());
        refused(
            &stack.sale(&program, body).await,
            status,
            message,
            &change.to_string(),
        );
    }
    // Unique over all programs.
    let body = json!({ "transaction_id": "t1", "amount_cents": 5000, "click_id": foreign });
    refused(
        &stack.sale(&other, body).await,
        409,
        duplicate,
        "another program's transaction_id",
    );
    nothing_stored(&stack, &program, &before).await;
    stack.verify().await;
    stack.stop().await;
}

#[tokio::test]
async fn refused_refunds_say_why() {
    let stack = Stack::start().await;
    let program = with_a_sale(&stack).await;
    let before = rows::counts(&stack).await;
    let (id, amount) = (
        "transaction_id is required",
        "refund_amount_cents must be a positive integer",
    );
    for (body, status, message) in [
        (json!({}), 400, id),
        (json!({ "transaction_id": null }), 400, id),
        (json!({ "transaction_id": "" }), 400, id),
        (json!({ "transaction_id": 5 }), 400, id),
        (
            json!({ "transaction_id": "t1", "refund_amount_cents": -1 }),
            400,
            amount,
        ),
        (
            json!({ "transaction_id": "t1", "refund_amount_cents": "100" }),
            400,
            amount,
        ),
        (
            json!({ "transaction_id": "t1", "refund_id": 5 }),
            400,
            "refund_id must be a string",
        ),
        (
            json!({ "transaction_id": "t1", "refund_reason": {} }),
            400,
            "refund_reason must be a string",
        ),
        (
            json!({ "transaction_id": "t2" }),
            404,
            "Sale not found for transaction_id",
        ),
    ] {
        refused(
            &stack.refund(&program, body.clone()).await,
            status,
            message,
            &body.to_string(),
        );
    }
    nothing_stored(&stack, &program, &before).await;
    stack.verify().await;
    stack.stop().await;
}
