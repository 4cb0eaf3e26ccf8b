//! Signups: from the backend, from the browser, and provisional if the program requires confirmation.

use serde_json::json;
use test_harness::{
    Json, Stack,
    leads::{NOT_FOUND, browser, server},
    rows, sale_of, test_mode,
};

#[tokio::test]
async fn a_browsers_key_alone_resolves_only_if_one_customer_has_it() {
    let stack = Stack::start().await;
    let (program, other) = (stack.program().await, stack.program().await);
    let by_key = async || browser(&stack, json!({ "customer_key": "user-1" })).await;
    by_key().await.refused(400, NOT_FOUND);
    stack.customer(&program, &program.ada.code, "user-1").await;
    // The only customer is a lead already. The answer must not reveal that, because a key can be guessed.
    by_key().await.refused(400, NOT_FOUND);
    stack.customer(&other, &other.ada.code, "user-1").await;
    by_key().await.refused(400, NOT_FOUND);
    // The click_id identifies the program.
    let click_id = stack.click(&other.bruno.code).await;
    let known = browser(&stack, json!({ "click_id": click_id, "customer_key": "user-1" })).await;
    known.refused(400, NOT_FOUND);
    stack.verify().await;
}

#[tokio::test]
async fn a_browser_that_names_a_key_learns_nothing_of_the_customer_who_has_it() {
    let (stack, program) = Stack::with_program().await;
    let own = stack.customer(&program, &program.ada.code, "lead-1").await;
    let paid = stack.customer(&program, &program.ada.code, "paid-1").await;
    let sale = json!({ "transaction_id": "t1", "amount_cents": 100, "customer_key": "paid-1" });
    stack.sold(&program, sale).await;
    let strange = stack.click(&program.bruno.code).await;
    for key in ["lead-1", "paid-1"] {
        for body in [
            json!({ "customer_key": key }),
            json!({ "customer_key": key, "click_id": strange }),
            json!({ "customer_key": key, "click_id": "cust_4711_1700000000000" }),
        ] {
            browser(&stack, body).await.refused(400, NOT_FOUND);
        }
    }
    let unknown = browser(&stack, json!({ "customer_key": "nobody-1" })).await;
    unknown.refused(400, NOT_FOUND);
    for (click_id, key, status) in [(&own, "lead-1", "lead"), (&paid, "paid-1", "conversion")] {
        let message = format!("Customer status cannot be updated to lead. Current status: {status}");
        for body in [
            json!({ "click_id": click_id }),
            json!({ "click_id": click_id, "customer_key": key }),
        ] {
            browser(&stack, body).await.refused(400, &message);
        }
        // The backend may learn it.
        let known = server(&stack, &program, json!({ "customer_key": key })).await;
        known.refused(400, &message);
    }
    stack.verify().await;
}

#[tokio::test]
async fn an_email_is_stored_as_a_keyed_hash_only() {
    let (stack, program) = Stack::with_program().await;
    let mut hashes = Vec::new();
    for email in ["Jane@Example.com", " jane@example.com", "john@example.com"] {
        let click_id = stack.click(&program.ada.code).await;
        server(&stack, &program, json!({ "click_id": click_id, "email": email }))
            .await
            .ok();
        let hash = rows::customer(&stack, &click_id).await["email_hash"].clone();
        hashes.push(hash.as_str().unwrap().to_owned());
    }
    assert_eq!(hashes[0], hashes[1]);
    assert_ne!(hashes[0], hashes[2]);
    let digits = hashes[0].strip_prefix("v1:").unwrap();
    let are_hex = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    assert!(digits.len() == 64 && are_hex, "{digits}");
    stack.verify().await;
}

/// The examples pass a user's id, which is often a number; the browser script sends its text.
#[tokio::test]
async fn a_key_is_the_same_as_a_number_and_as_its_text() {
    let (stack, program) = Stack::with_program().await;
    let click_id = stack.click(&program.ada.code).await;
    browser(&stack, json!({ "click_id": click_id, "customer_key": "4711" }))
        .await
        .ok();
    for (transaction_id, key) in [("t1", json!(4711)), ("t2", json!("4711"))] {
        let body = sale_of(transaction_id, "").with(json!({ "customer_key": key }));
        stack.sold(&program, body).await;
    }
    assert_eq!(stack.balance(program.ada.membership).await, 2_000);
    let test = json!({ "customer_key": 4711, "amount_cents": 5000 }).with(test_mode());
    for path in ["lead", "sale"] {
        stack.post(path, Some(&program.token), test.clone()).await.ok();
    }
    for other in [json!(47.11), json!(true), json!([4711])] {
        let lead = server(&stack, &program, json!({ "customer_key": other })).await;
        lead.refused(400, "customer_key must be a string");
    }
    stack.verify().await;
}
