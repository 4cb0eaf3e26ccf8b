//! Signups: from the backend, from the browser, and provisional where the program wants confirmation.

use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::rows;
use crate::stack::{Answer, Program, Stack};

pub const NOT_FOUND: &str = "Customer not found. Provide a valid click_id or customer_key.";

pub async fn browser(stack: &Stack, body: Value) -> Answer {
    stack.post("lead", None, body).await
}

pub async fn server(stack: &Stack, program: &Program, body: Value) -> Answer {
    stack.post("lead", Some(&program.token), body).await
}

pub fn refused(answer: &Answer, message: &str) {
    assert_eq!(
        (answer.status, answer.message()),
        (StatusCode::BAD_REQUEST, message)
    );
}

#[tokio::test]
async fn a_browsers_key_alone_resolves_only_if_one_customer_has_it() {
    let stack = Stack::start().await;
    let (program, other) = (stack.program().await, stack.program().await);
    refused(
        &browser(&stack, json!({ "customer_key": "user-1" })).await,
        NOT_FOUND,
    );
    stack.customer(&program, &program.ada.code, "user-1").await;
    let one = browser(&stack, json!({ "customer_key": "user-1" })).await;
    refused(
        &one,
        "Customer status cannot be updated to lead. Current status: lead",
    );
    stack.customer(&other, &other.ada.code, "user-1").await;
    refused(
        &browser(&stack, json!({ "customer_key": "user-1" })).await,
        NOT_FOUND,
    );
    // With its click_id the program is clear again.
    let click_id = stack.click(&other.bruno.code).await;
    let known = browser(&stack, json!({ "click_id": click_id, "customer_key": "user-1" })).await;
    refused(
        &known,
        "Customer status cannot be updated to lead. Current status: lead",
    );
    stack.verify().await;
    stack.stop().await;
}

#[tokio::test]
async fn an_email_is_stored_as_a_keyed_hash_only() {
    let stack = Stack::start().await;
    let program = stack.program().await;
    let mut hashes = Vec::new();
    for email in ["Jane@Example.com", " jane@example.com", "john@example.com"] {
        let click_id = stack.click(&program.ada.code).await;
        let lead = server(&stack, &program, json!({ "click_id": click_id, "email": email })).await;
        assert_eq!(lead.status, StatusCode::OK, "{lead:?}");
        hashes.push(
            rows::customer(&stack, &click_id).await["email_hash"]
                .as_str()
                .unwrap()
                .to_owned(),
        );
    }
    assert_eq!(hashes[0], hashes[1]);
    assert_ne!(hashes[0], hashes[2]);
    let digits = hashes[0].strip_prefix("v1:").unwrap();
    assert!(
        digits.len() == 64 && digits.bytes().all(|digit| digit.is_ascii_hexdigit()),
        "{digits}"
    );
    stack.verify().await;
    stack.stop().await;
}
