//! Signups: from the backend, from the browser, and provisional where the program wants confirmation.

use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::rows;
use crate::stack::{Answer, Program, Stack};

pub const NOT_FOUND: &str = "Customer not found. Provide a valid click_id or customer_key.";

pub fn tracked() -> Value {
    json!({ "success": true, "message": "Lead tracked successfully" })
}

pub fn provisional() -> Value {
    json!({ "success": true, "provisional": true, "message": "Lead tracked successfully" })
}

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
async fn both_modes_move_the_customer_to_lead_and_bind_the_key() {
    let stack = Stack::start().await;
    let program = stack.program().await;
    for (key, token) in [("user-1", None), ("user-2", Some(program.token.as_str()))] {
        let click_id = stack.click(&program.ada.code).await;
        let lead = stack
            .post(
                "lead",
                token,
                json!({ "click_id": click_id, "customer_key": key }),
            )
            .await;
        assert_eq!((lead.status, lead.body), (StatusCode::OK, tracked()));
        let customer = rows::customer(&stack, &click_id).await;
        assert_eq!(customer["status"], "lead");
        assert_eq!(customer["customer_key"], key);
        assert!(customer["signup_date"].is_string());
    }
    assert_eq!(
        stack
            .value::<i64>("SELECT count(*) FROM lead_events WHERE NOT provisional")
            .await,
        2
    );
    stack.verify().await;
    stack.stop().await;
}

#[tokio::test]
async fn a_status_that_is_lead_or_beyond_is_refused_by_its_name() {
    let stack = Stack::start().await;
    let program = stack.program().await;
    let click_id = stack.customer(&program, &program.ada.code, "user-1").await;
    let body = json!({ "click_id": click_id, "customer_key": "user-1" });
    let message = |status| format!("Customer status cannot be updated to lead. Current status: {status}");
    refused(&server(&stack, &program, body.clone()).await, &message("lead"));
    refused(&browser(&stack, body.clone()).await, &message("lead"));
    stack
        .sale(
            &program,
            json!({ "transaction_id": "t1", "amount_cents": 100, "customer_key": "user-1" }),
        )
        .await;
    refused(&server(&stack, &program, body).await, &message("conversion"));
    assert_eq!(rows::customer(&stack, &click_id).await["status"], "conversion");
    assert_eq!(stack.value::<i64>("SELECT count(*) FROM lead_events").await, 1);
    stack.verify().await;
    stack.stop().await;
}

#[tokio::test]
async fn nulls_and_unknown_fields_are_as_good_as_absent() {
    let stack = Stack::start().await;
    let program = stack.program().await;
    let click_id = stack.click(&program.ada.code).await;
    let body = json!({
        "click_id": click_id,
        "customer_key": null,
        "email": null,
        "additional_data": null,
        "status": "conversion",
        "partner_code": program.bruno.code,
        "is_test": true,
        "nested": { "click_id": ["x"] },
    });
    let lead = server(&stack, &program, body).await;
    assert_eq!(lead.body, tracked());
    let customer = rows::customer(&stack, &click_id).await;
    assert_eq!(
        (&customer["status"], &customer["customer_key"]),
        (&json!("lead"), &Value::Null)
    );
    assert_eq!(
        stack
            .value::<i64>("SELECT count(*) FROM lead_events WHERE is_test")
            .await,
        0
    );
    stack.verify().await;
    stack.stop().await;
}

#[tokio::test]
async fn a_customer_of_another_program_is_named_so_to_a_backend() {
    let stack = Stack::start().await;
    let (program, other) = (stack.program().await, stack.program().await);
    let click_id = stack.click(&other.ada.code).await;
    rows::counted(&stack, other.ada.link, 1).await;
    let answer = server(
        &stack,
        &program,
        json!({ "click_id": click_id, "customer_key": "user-1" }),
    )
    .await;
    refused(&answer, "Customer does not belong to this program");
    assert_eq!(rows::customer(&stack, &click_id).await["status"], "click");
    // A browser knows no program: the click_id is its proof.
    assert_eq!(
        browser(&stack, json!({ "click_id": click_id })).await.body,
        tracked()
    );
    stack.verify().await;
    stack.stop().await;
}

#[tokio::test]
async fn without_an_identifier_that_names_somebody_a_lead_is_refused() {
    let stack = Stack::start().await;
    let program = stack.program().await;
    for body in [
        json!({}),
        json!({ "click_id": "", "customer_key": null }),
        json!({ "email": "jane@example.com" }),
    ] {
        refused(
            &browser(&stack, body.clone()).await,
            "click_id or customer_key is required",
        );
        refused(
            &server(&stack, &program, body).await,
            "click_id or customer_key is required",
        );
    }
    for click_id in [
        "cust_4711_1700000000000",
        "cust_0_0",
        "garbage",
        "cust_99999999999999999999_1",
    ] {
        refused(&browser(&stack, json!({ "click_id": click_id })).await, NOT_FOUND);
        refused(
            &server(&stack, &program, json!({ "click_id": click_id })).await,
            NOT_FOUND,
        );
    }
    refused(
        &server(&stack, &program, json!({ "customer_key": "never-seen" })).await,
        NOT_FOUND,
    );
    stack.verify().await;
    stack.stop().await;
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
async fn a_token_that_matches_no_program_is_refused_and_an_empty_one_is_a_browsers() {
    let stack = Stack::start().await;
    let program = stack.program().await;
    let click_id = stack.click(&program.ada.code).await;
    let body = json!({ "click_id": click_id, "customer_key": "user-1" });
    let management = program.token.replacen("aff_", "affk_", 1);
    let unknown = common::domain::token::ProgramToken::generate([7; 32]);
    for token in ["nonsense", management.as_str(), unknown.expose()] {
        let answer = stack.post("lead", Some(token), body.clone()).await;
        assert_eq!(
            (answer.status, answer.message()),
            (StatusCode::UNAUTHORIZED, "Invalid API token"),
            "{token}"
        );
        assert_eq!(answer.body["error"]["name"], "UnauthorizedError");
    }
    rows::set(&stack, &program, "lead_auth = 'server_required'").await;
    assert_eq!(stack.post("lead", Some(""), body).await.body, provisional());
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

#[tokio::test]
async fn an_event_name_is_kept_with_the_lead() {
    let stack = Stack::start().await;
    let program = stack.program().await;
    let click_id = stack.click(&program.ada.code).await;
    let body =
        json!({ "click_id": click_id, "additional_data": { "event_name": "trial", "test_mode": false } });
    assert_eq!(server(&stack, &program, body).await.body, tracked());
    assert_eq!(
        stack.value::<String>("SELECT event_name FROM lead_events").await,
        "trial"
    );
    stack.verify().await;
    stack.stop().await;
}
